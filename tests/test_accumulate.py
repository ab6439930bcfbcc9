"""Accumulators: the host's and a device library's give the same sums, in either precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict
import ml_dtypes
import numpy as np
import pytest

from samespace import accumulate
from samespace.accumulate import Accumulator, DeviceAccumulator, HostAccumulator, by_fold, to_host
from samespace.lifted import HEAD, ONE
from tests.tolerances import atol, rtol


def as_torch(array: np.ndarray, dtype: str | None = None) -> Any:
    torch = pytest.importorskip("torch", reason="needs torch, an optional library")
    return torch.from_numpy(array).to(getattr(torch, dtype or str(array.dtype)))


N, D_X, D_Y, FOLDS = 300, 5, 3, 4
LIBRARIES: dict[str, Callable[[np.ndarray], Any]] = {
    "torch": as_torch,
    "strict": array_api_strict.asarray,
}


@pytest.fixture
def rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        rng.standard_normal((N, D_X)) + 5,
        rng.standard_normal((N, D_Y)) - 2,
        rng.integers(0, FOLDS, N),
    )


def lifted_grams(X: np.ndarray, Y: np.ndarray, fold: np.ndarray, pivot: np.ndarray) -> np.ndarray:
    x, y = X - pivot[: X.shape[1]], Y - pivot[X.shape[1] :]
    lift = np.column_stack([np.ones(len(x)), np.sum(x * x, 1), np.sum(y * y, 1), x, y])
    return np.array([lift[fold == k].T @ lift[fold == k] for k in range(FOLDS)])


def host(pivot: np.ndarray, precision: Any = "float64") -> Accumulator:
    return HostAccumulator(pivot, D_X, folds=FOLDS, precision=precision)


def device(pivot: np.ndarray, like: Any, precision: Any = "float64") -> Accumulator:
    return DeviceAccumulator(pivot, D_X, folds=FOLDS, precision=precision, like=like)


def pivot_of(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.concatenate([X.mean(0), Y.mean(0)])


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_host_sums_the_lifted_rows_of_each_fold(rows, precision):
    X, Y, fold = rows
    sums = host(pivot_of(X, Y), precision)
    for start in range(0, N, 70):
        batch = slice(start, start + 70)
        sums.add(X[batch], Y[batch], fold[batch])
    expected = lifted_grams(X, Y, fold, pivot_of(X, Y))
    scale = np.abs(expected).max()
    assert np.allclose(
        sums.drain(), expected, rtol=rtol("exact", precision), atol=atol("exact", precision) * scale
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_device_gives_the_sums_of_the_host(rows, library, precision):
    X, Y, fold = rows
    put = LIBRARIES[library]
    on_host, elsewhere = host(pivot_of(X, Y)), device(pivot_of(X, Y), put(X), precision)
    for start in range(0, N, 70):
        batch = slice(start, start + 70)
        on_host.add(X[batch], Y[batch], fold[batch])
        elsewhere.add(put(X[batch]), put(Y[batch]), fold[batch])
    assert np.allclose(
        elsewhere.ones_row(), on_host.ones_row(), rtol=rtol("exact", precision), atol=1e-3
    )
    expected = on_host.drain()
    scale = np.abs(expected).max()
    assert np.allclose(
        elsewhere.drain(),
        expected,
        rtol=rtol("exact", precision),
        atol=atol("exact", precision) * scale,
    )


@pytest.mark.parametrize("strip", [1, 4, 100])
@pytest.mark.parametrize("uneven", [1.0, 100.0])
def test_a_device_multiplies_strips_and_stacks_of_any_size(rows, monkeypatch, strip, uneven):
    X, Y, fold = rows
    fold = np.minimum(fold, 2)  # one fold of no rows, one of many
    monkeypatch.setattr(accumulate, "_STRIP", strip)
    monkeypatch.setattr(accumulate, "_UNEVEN", uneven)
    pivot = pivot_of(X, Y)
    sums = device(pivot, as_torch(np.ones(1)))
    for few in (fold, rows[2]):
        sums.add(as_torch(X), as_torch(Y), few)
    expected = lifted_grams(X, Y, fold, pivot) + lifted_grams(X, Y, rows[2], pivot)
    assert np.allclose(
        sums.drain(), expected, rtol=rtol("exact"), atol=rtol("exact") * np.abs(expected).max()
    )


def test_single_precision_products_are_centred_before_they_are_rounded(rows):
    X, Y, fold = rows
    far = np.concatenate([np.full(D_X, 1e6), np.full(D_Y, -1e6)])
    pivot = pivot_of(X, Y) + far
    for sums, put in (
        (host(pivot, "float32"), np.asarray),
        (device(pivot, as_torch(np.ones(1)), "float32"), as_torch),
    ):
        sums.add(put(X + 1e6), put(Y - 1e6), fold)
        spread = sums.drain().sum(0)[HEAD:, HEAD:]
        expected = lifted_grams(X, Y, fold, pivot_of(X, Y)).sum(0)[HEAD:, HEAD:]
        assert np.allclose(spread, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_single_rows_less_a_pivot_they_hold_round_once(rows):
    X, Y, fold = (rows[0] + 1000).astype(np.float32), rows[1].astype(np.float32), rows[2]
    pivot = pivot_of(X, Y).astype(np.float32).astype(np.float64)
    short = np.float32(X.astype(np.float64) - pivot[:D_X])
    again = np.float32(Y.astype(np.float64) - pivot[D_X:])
    sums = host(pivot, "float32")
    sums.add(X, Y, fold)
    expected = host(np.zeros(D_X + D_Y), "float32")
    expected.add(short, again, fold)
    assert np.array_equal(sums.drain(), expected.drain())


def test_rows_beyond_one_block_are_worked_through(rows, monkeypatch):
    X, Y, fold = rows
    monkeypatch.setattr(accumulate, "_PENDING_BYTES", 1)
    X, Y, fold = (np.concatenate([part] * 8) for part in (X, Y, fold))
    sums = host(pivot_of(X, Y))
    assert max(np.bincount(fold)) > 256
    sums.add(X, Y, fold)
    expected = lifted_grams(X, Y, fold, pivot_of(X, Y))
    assert np.allclose(sums.drain(), expected, rtol=rtol("exact"), atol=1e-9)


def test_the_row_of_ones_counts_and_sums_before_the_end(rows):
    X, Y, fold = rows
    sums = host(np.zeros(D_X + D_Y))
    sums.add(X, Y, fold)
    row = sums.ones_row()
    assert row[ONE] == N
    assert np.allclose(row[HEAD:], np.concatenate([X.sum(0), Y.sum(0)]), rtol=rtol("exact"))
    assert not device(np.zeros(D_X + D_Y), as_torch(np.ones(1))).ones_row().any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16, np.int32])
def test_narrow_input_is_widened_and_then_summed_exactly(rows, dtype):
    X, Y, fold = (100 * rows[0]).astype(dtype), (100 * rows[1]).astype(dtype), rows[2]
    sums = host(np.zeros(D_X + D_Y))
    sums.add(X, Y, fold)
    expected = lifted_grams(X.astype(np.float64), Y.astype(np.float64), fold, np.zeros(D_X + D_Y))
    assert np.allclose(sums.drain(), expected, rtol=rtol("exact"))


def test_only_folds_with_rows_are_visited_each_with_its_rows():
    order, places = by_fold(np.array([3, 0, 3, 0, 3]), 5)
    found = {k: order[place].tolist() for k, place in places}
    assert found == {0: [1, 3], 3: [0, 2, 4]}


@pytest.mark.parametrize(
    "put",
    [
        np.asarray,
        lambda a: as_torch(a).requires_grad_(),
        lambda a: as_torch(a, "bfloat16"),
        array_api_strict.asarray,
        lambda a: type("OnDevice", (), {"get": lambda self: a})(),
    ],
    ids=["numpy", "torch", "bfloat16", "strict", "cupy-like"],
)
def test_any_array_comes_home(put):
    at_home = to_host(put(np.ones(3)))
    assert isinstance(at_home, np.ndarray)
    assert (at_home == 1).all()
