"""The lattice's numbers: each class's held-out errors are those of loops over rows, fold by fold."""

from __future__ import annotations

import numpy as np
import pytest

import samespace.lattice
from samespace.hashing import fold_of
from samespace.lattice import (
    CLASSES,
    SMALLER,
    applicable,
    fit_lattice,
    parameters,
    share_per_dimension,
    total_error,
    unbiased_total,
)
from samespace.maps import Affine
from samespace.maps.affine import RidgePath, choose_ridge
from samespace.moments import Moments
from tests.maps.pairs import spread_rows
from tests.oracles.held_out import errors_by_fold, predictions, shuffled_shares, totals_by_fold
from tests.tolerances import STANDARD_ERRORS, rtol


@pytest.fixture
def noisy(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = spread_rows(rng, n=400)
    return X, X @ (rng.standard_normal((4, 4)) + 2 * np.eye(4)) + 2 * rng.standard_normal(
        (400, 4)
    ) + 7


@pytest.fixture
def least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """No penalty, so that LAPACK's least squares is the oracle of the affine class."""
    monkeypatch.setattr(samespace.lattice, "RIDGES", (0.0,))


@pytest.fixture
def fold() -> np.ndarray:
    return fold_of(np.arange(400, dtype=np.uint64), 10)


@pytest.mark.usefixtures("least_squares")
@pytest.mark.parametrize("name", CLASSES)
def test_held_out_errors_are_those_of_the_rows(noisy, fold, name):
    fit = fit_lattice(Moments.of(*noisy), seed=0)
    assert np.allclose(fit.classes[name].held_out, errors_by_fold(name, *noisy, fold), rtol=1e-8)


@pytest.mark.usefixtures("least_squares")
@pytest.mark.parametrize("name", CLASSES)
def test_in_sample_shares_and_corrections_are_those_of_the_rows(noisy, fold, name):
    X, Y = noisy
    one = fit_lattice(Moments.of(X, Y), seed=0).classes[name]
    in_sample = np.sum((Y - predictions(name, X, Y, X)) ** 2)
    total = np.sum((Y - Y.mean(0)) ** 2) * 400 / 399
    assert one.in_sample == pytest.approx(in_sample / total, rel=1e-8)
    everywhere = [
        np.sum((Y - predictions(name, X[fold != k], Y[fold != k], X)) ** 2) for k in range(10)
    ]
    assert one.correction == pytest.approx(in_sample - np.mean(everywhere), rel=1e-6, abs=1e-7)
    assert one.correction <= 1e-7  # a map fitted to all rows errs least on them


def test_the_least_error_of_the_affine_class_knows_no_penalty(rng):
    X = rng.standard_normal((60, 20))
    Y = X[:, :3] + 3 * rng.standard_normal((60, 3))
    affine = fit_lattice(Moments.of(X, Y), seed=0).classes["affine"]
    left = np.sum((Y - predictions("affine", X, Y, X)) ** 2)
    assert affine.least == pytest.approx(left / (np.sum((Y - Y.mean(0)) ** 2) * 60 / 59), rel=1e-8)
    assert affine.least < affine.in_sample
    assert affine.parameters == 3 * 21


def test_totals_are_those_of_the_rows_and_add_up(noisy, fold):
    m = Moments.of(*noisy)
    fit = fit_lattice(m, seed=0)
    expected = totals_by_fold(noisy[1], fold) * 400 / 399
    assert np.allclose(fit.totals, expected, rtol=rtol("exact"))
    assert fit.totals.sum() == pytest.approx(unbiased_total(m), rel=rtol("exact"))
    by_fold = sum(total_error(m.fold(k), m) for k in range(10))
    assert by_fold == pytest.approx(np.trace(m.Syy), rel=rtol("exact"))


@pytest.mark.usefixtures("least_squares")
def test_r2_is_held_out_and_by_dimension(noisy, fold):
    X, Y = noisy
    fit = fit_lattice(Moments.of(X, Y), seed=0)
    left = np.zeros(4)
    for k in range(10):
        train = fold != k
        left += np.sum(
            (Y[~train] - predictions("affine", X[train], Y[train], X[~train])) ** 2, axis=0
        )
    assert np.allclose(fit.r2, 1 - left / np.sum((Y - Y.mean(0)) ** 2, axis=0), rtol=1e-8)


def test_a_dimension_that_does_not_vary_has_no_r2():
    r2 = share_per_dimension(np.array([1.0, 1.0]), np.array([4.0, 0.0]))
    assert r2[0] == 0.75
    assert np.isnan(r2[1])


def test_the_ridge_is_that_of_the_affine_map(rng):
    X = rng.standard_normal((60, 20))
    m = Moments.of(X, X[:, :3] + 3 * rng.standard_normal((60, 3)))
    fit = fit_lattice(m, seed=0)
    assert fit.ridge == choose_ridge(m) > 0
    assert np.allclose(fit.classes["affine"].map.matrix, Affine.fit(m).matrix, rtol=rtol("exact"))


@pytest.mark.usefixtures("least_squares")
@pytest.mark.parametrize("name", CLASSES)
def test_the_null_reads_what_shuffled_rows_read(noisy, fold, name, rng):
    X, Y = noisy
    m = Moments.of(X, Y)
    drawn = [fit_lattice(m, seed=seed).classes[name].null.mean for seed in range(20)]
    # Each run draws once on each of the five largest folds.
    largest = np.argsort(-np.bincount(fold), kind="stable")[:5]
    shuffled = np.mean([shuffled_shares(name, X, Y, fold == k, rng, 8) for k in largest], axis=0)
    error = np.hypot(np.std(drawn, ddof=1) / np.sqrt(20), np.std(shuffled, ddof=1) / np.sqrt(8))
    assert abs(np.mean(drawn) - shuffled.mean()) < STANDARD_ERRORS * error


def test_equal_seeds_draw_equal_nulls_and_different_seeds_do_not(noisy):
    m = Moments.of(*noisy)
    nulls = [[c.null for c in fit_lattice(m, seed=s).classes.values()] for s in (1, 1, 2)]
    assert nulls[0] == nulls[1]
    assert all(a != b for a, b in zip(nulls[0], nulls[2], strict=True))


def test_nothing_but_the_null_is_random(noisy):
    m = Moments.of(*noisy)
    one, other = fit_lattice(m, seed=1), fit_lattice(m, seed=2)
    for name in CLASSES:
        assert np.array_equal(one.classes[name].held_out, other.classes[name].held_out)
        assert np.array_equal(one.classes[name].map.matrix, other.classes[name].map.matrix)


def test_different_widths_leave_the_classes_that_do_not_match_coordinates(noisy):
    X, Y = noisy
    fit = fit_lattice(Moments.of(X, Y[:, :3]), seed=0)
    assert tuple(fit.classes) == ("orthogonal", "affine") == applicable(Moments.of(X, Y[:, :3]))
    assert applicable(Moments.of(X, Y)) == CLASSES


def test_the_lattice_knows_what_lies_in_what():
    assert SMALLER["identity"] == ()
    assert all(set(SMALLER[s]) <= set(SMALLER[name]) for name in CLASSES for s in SMALLER[name])
    assert "orthogonal" not in SMALLER["permutation"]
    assert "permutation" not in SMALLER["orthogonal"]


def test_larger_classes_leave_less_in_sample(noisy):
    fit = fit_lattice(Moments.of(*noisy), seed=0)
    for name, smaller in SMALLER.items():
        assert all(fit.classes[s].in_sample >= fit.classes[name].in_sample for s in smaller)


def test_free_numbers_of_each_class(rng):
    m = Moments.of(spread_rows(rng, d=5), spread_rows(rng, d=5))
    path = RidgePath.of(m)
    assert parameters("identity", path, 5) == 0
    assert parameters("permutation", path, 5) == 10  # a scale and a shift each
    assert parameters("orthogonal", path, 5) == 10 + 1 + 5  # so(5), scale, shift
    assert parameters("affine", path, 5) == 30
    narrow = RidgePath.of(Moments.of(spread_rows(rng, d=2), spread_rows(rng, d=5)))
    assert parameters("orthogonal", narrow, 5) == 5 + 2 + 1 + 5  # the Stiefel manifold: 5*2 - 3


@pytest.mark.parametrize("d", [4, 70])
def test_progress_counts_every_step_in_order(rng, d):
    # 70 dimensions go to threads.
    X = rng.standard_normal((400, d))
    calls: list[tuple[str, int, int]] = []
    fit_lattice(Moments.of(X, X), seed=0, progress=lambda *c: calls.append(c))
    assert [c[1] for c in calls] == list(range(1, 26))
    assert {(c[0], c[2]) for c in calls} == {("fitting folds", 25)}


def test_folds_without_rows_are_left_out(rng):
    X = spread_rows(rng, n=25)
    m = Moments.of(X, X + 0.1, folds=60)
    filled = sum(m.fold_size(k) > 0 for k in range(60))
    assert filled < 25
    fit = fit_lattice(m, seed=0)
    assert len(fit.totals) == filled
    assert all(len(c.held_out) == filled for c in fit.classes.values())
    assert fit.values == 25 * 4
