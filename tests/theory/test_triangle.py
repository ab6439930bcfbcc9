"""The triangle of rows read in blocks is that of all rows at once, whichever way it was made."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import ShapeError
from samespace.theory import triangle
from samespace.theory.triangle import Span, Triangle, take
from tests.tolerances import rtol


def by_hand(X: np.ndarray) -> np.ndarray:
    """R'R of the lifted rows."""
    lifted = np.column_stack([np.ones(len(X)), X])
    return lifted.T @ lifted


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of four times the width, so that a hundred rows are many blocks."""
    monkeypatch.setattr(triangle, "_BLOCK_VALUES", 1)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("spread", [1.0, 1e-6])
def test_blocks_do_not_show(rng: np.random.Generator, spread: float) -> None:
    X = rng.standard_normal((101, 3)) * [1.0, spread, 10.0] + 5.0
    found = Triangle.of(X).lifted
    scale = np.sqrt(np.diag(by_hand(X)))
    np.testing.assert_allclose(
        found.T @ found / np.outer(scale, scale),
        by_hand(X) / np.outer(scale, scale),
        rtol=rtol("exact"),
    )
    np.testing.assert_allclose(np.tril(found, -1), 0.0, atol=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_a_small_difference_of_two_models_keeps_its_digits(rng: np.random.Generator) -> None:
    # Products of rows know it to 1e-8 only; the triangle to rounding.
    X = rng.standard_normal((200, 3))
    Y = X + 1e-11 * rng.standard_normal(X.shape)
    joint = Triangle.of(Y, X).centred
    gap = np.linalg.norm(joint @ np.array([0, 1, 0, 0, -1, 0]))
    exact = np.linalg.norm((Y - X)[:, 1] - (Y - X)[:, 1].mean())
    np.testing.assert_allclose(gap, exact, rtol=1e-3)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("case", ["dependent", "constant", "first unlike the rest", "few rows"])
def test_dependent_columns_and_unlike_rows_show_no_seam(
    rng: np.random.Generator, case: str
) -> None:
    X = awkward(rng, case)
    found = Triangle.of(X).lifted
    np.testing.assert_allclose(found.T @ found, by_hand(X), atol=1e-9)
    exact = np.linalg.matrix_rank(X - X.mean(axis=0))
    assert Triangle.of(X).span().rank == exact


def awkward(rng: np.random.Generator, case: str) -> np.ndarray:
    X = rng.standard_normal((101, 3))
    if case == "dependent":
        X[:, 2] = X[:, 0] + X[:, 1]
    elif case == "constant":
        X[:, 1] = 0.0
    elif case == "first unlike the rest":
        X[:16, 1] *= 1e-4
    else:
        X = X[:2]
    return X


@pytest.mark.parametrize("case", ["dependent", "constant"])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_dependent_columns_are_told_from_rounding_at_any_width(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, case: str, far: float
) -> None:
    monkeypatch.setattr(triangle, "_BLOCK_VALUES", 1)
    X = rng.standard_normal((1000, 120))
    X[:, 60:] = X[:, :60] @ rng.standard_normal((60, 60)) if case == "dependent" else 0.0
    assert Triangle.of(X + far).span().rank == 60
    gap = (
        Triangle.of(X + far).centred[:, 60]
        - Triangle.of(X + far).centred[:, :60] @ np.linalg.lstsq(X[:, :60], X[:, 60], rcond=None)[0]
    )
    assert np.linalg.norm(gap) < 1e-12 * np.linalg.norm(X + far)


@pytest.mark.parametrize("case", ["zero", "copied", "on a line", "on other scales"])
@pytest.mark.parametrize("width", [4, 41])
def test_first_rows_may_lie_in_a_smaller_space_than_the_rest(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, case: str, width: int
) -> None:
    monkeypatch.setattr(triangle, "_BLOCK_VALUES", 1)
    X, half = rng.standard_normal((20 * width, width)), width // 2
    first = X[: 3 * width]
    if case == "zero":
        first[:, half] = 0.0
    elif case == "copied":
        first[:, half] = first[:, 0]
    elif case == "on a line":
        first[:, half:] = first[:, :1]
    else:
        first *= 10.0 ** rng.uniform(-12.0, 12.0, width)
    found, scale = Triangle.of(X).lifted, np.sqrt(np.diag(by_hand(X)))
    np.testing.assert_allclose(
        found.T @ found / np.outer(scale, scale), by_hand(X) / np.outer(scale, scale), atol=1e-12
    )


@pytest.mark.usefixtures("small_blocks")
def test_a_first_block_unlike_the_rest_does_not_precondition(rng: np.random.Generator) -> None:
    sources = [triangle.Representation.of(awkward(rng, "first unlike the rest"))]
    assert triangle._preconditioned(triangle._lifted(sources, 16)) is None


def test_the_joint_triangle_contains_each_matrix_own(rng: np.random.Generator) -> None:
    X, Y = rng.standard_normal((50, 3)) + 2.0, rng.standard_normal((50, 2))
    joint, single = Triangle.of(X, Y).leading(1), Triangle.of(X)
    np.testing.assert_allclose(joint.mean, X.mean(axis=0))
    for r in (joint.centred, single.centred):
        np.testing.assert_allclose(r.T @ r, np.cov(X.T) * 49)
    np.testing.assert_allclose(single.plain.T @ single.plain, X.T @ X)


def test_triangles_need_the_same_rows(rng: np.random.Generator) -> None:
    with pytest.raises(ShapeError, match="in the same order; got 5 and 4 rows"):
        Triangle.of(rng.standard_normal((5, 2)), rng.standard_normal((4, 2)))


def test_the_span_of_a_far_cloud_is_not_rounding(rng: np.random.Generator) -> None:
    line = rng.standard_normal((40, 1)) @ np.ones((1, 3)) + 1e6
    assert Triangle.of(line).span().rank == 1
    assert Span.of(np.zeros((3, 3)), dtype="float64").condition is None


def test_rows_are_taken_from_files_that_are_read_in_order(
    rng: np.random.Generator, tmp_path: object
) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = rng.standard_normal((50, 3))
    path = f"{tmp_path}/g.parquet"
    rows = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
    parquet.write_table(pa.table({"v": rows}), path)
    np.testing.assert_array_equal(take(path, np.array([40, 3, 3])), X[[40, 3, 3]])
