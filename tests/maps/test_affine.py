"""Affine maps: scikit-learn's ridge, LAPACK's least squares, and a penalty that held-out rows choose."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from samespace.errors import NoInverseError, OptionError, TooFewRowsError
from samespace.hashing import fold_of
from samespace.maps import Affine
from samespace.maps.affine import RIDGES, RidgePath, RidgeTest, choose_ridge
from samespace.maps.base import bias_through_means, squared_error
from samespace.moments import Moments
from tests.maps.pairs import residual, spread_rows
from tests.tolerances import atol, rtol


@pytest.fixture
def noisy(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = spread_rows(rng)
    return X, X @ rng.standard_normal((4, 3)) + rng.standard_normal((300, 3)) - 2


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 1.0, 100.0])
def test_a_ridge_map_is_that_of_scikit_learn(noisy, ridge):
    X, Y = noisy
    penalty = ridge * np.sum((X - X.mean(0)) ** 2) / X.shape[1]
    theirs = Ridge(alpha=penalty).fit(X, Y)
    ours = Affine.fit(X, Y, ridge=ridge)
    assert np.allclose(ours.matrix, theirs.coef_.T, rtol=1e-8, atol=1e-10)
    assert np.allclose(ours.bias, theirs.intercept_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("d_y", [1, 3, 9])
def test_without_a_penalty_it_is_least_squares(rng, d_y):
    X, Y = spread_rows(rng), spread_rows(rng, d=d_y)
    design = np.column_stack([np.ones(300), X])
    theirs = np.linalg.lstsq(design, Y, rcond=None)[0]
    ours = Affine.fit(X, Y, ridge=0.0)
    assert np.allclose(np.vstack([ours.bias, ours.matrix]), theirs, rtol=1e-8, atol=1e-9)


def test_directions_without_spread_get_the_shortest_solution(rng):
    X = spread_rows(rng)
    X = np.column_stack([X, X @ rng.standard_normal((4, 2)), np.full(300, 0.1)])
    Y = spread_rows(rng, d=2)
    ours = Affine.fit(X, Y, ridge=0.0)
    x, y = X - X.mean(0), Y - Y.mean(0)
    assert np.allclose(ours.matrix, np.linalg.pinv(x, rcond=1e-10) @ y, atol=1e-8)
    assert RidgePath.of(Moments.of(X, Y)).rank == 4


def errors_by_rows(X: np.ndarray, Y: np.ndarray, ridge: float) -> float:
    fold, total = fold_of(np.arange(len(X), dtype=np.uint64), 10), 0.0
    for k in np.unique(fold):
        train, test = fold != k, fold == k
        penalty = ridge * np.sum((X[train] - X[train].mean(0)) ** 2) / X.shape[1]
        fitted = Ridge(alpha=penalty, solver="svd").fit(X[train], Y[train])
        total += float(np.sum((Y[test] - fitted.predict(X[test])) ** 2))
    return total


@pytest.mark.parametrize(("n", "noise"), [(40, 3.0), (30, 20.0), (400, 0.01)])
def test_the_penalty_is_the_one_with_the_least_held_out_error(rng, n, noise):
    X = rng.standard_normal((n, 20)) * np.linspace(0.1, 2, 20)
    Y = X @ rng.standard_normal((20, 2)) + noise * rng.standard_normal((n, 2))
    by_rows = [errors_by_rows(X, Y, ridge) for ridge in RIDGES]
    assert choose_ridge(Moments.of(X, Y)) == RIDGES[int(np.argmin(by_rows))]
    assert Affine.fit(X, Y).ridge == choose_ridge(Moments.of(X, Y))


def test_the_closed_form_error_of_every_penalty_is_that_of_its_map(noisy, rng):
    path = RidgePath.of(Moments.of(*noisy))
    X, Y = spread_rows(rng) + 1, spread_rows(rng, d=3)
    errors = path.squared_errors(Moments.of(X, Y), RIDGES)
    for ridge, error in zip(RIDGES, errors, strict=True):
        A = path.matrix(ridge)
        assert error == pytest.approx(
            residual(X, Y, A, bias_through_means(path.moments, A)), rel=1e-9
        )


def test_what_is_explained_in_sample(noisy):
    X, Y = noisy
    m = Moments.of(X, Y)
    left = squared_error(m, Affine.fit(m, ridge=0.0))
    assert RidgePath.of(m).explained() == pytest.approx(np.trace(m.Syy) - left, rel=rtol("exact"))


@pytest.mark.parametrize("ridge", [0.0, 0.1, 100.0])
def test_what_a_penalty_leaves_in_sample(noisy, ridge):
    m = Moments.of(*noisy)
    left = squared_error(m, Affine.fit(m, ridge=ridge))
    explained = RidgePath.of(m).explained(ridge)
    assert explained == pytest.approx(np.trace(m.Syy) - left, rel=rtol("exact"))


def test_the_errors_of_the_dimensions_add_up_to_that_of_all(noisy, rng):
    test = Moments.of(spread_rows(rng) + 1, spread_rows(rng, d=3))
    seen = RidgeTest.of(RidgePath.of(Moments.of(*noisy)), test)
    for ridge, error in zip(RIDGES, seen.squared_errors(RIDGES), strict=True):
        assert seen.errors_per_dimension(ridge).sum() == pytest.approx(error, rel=1e-9)


def test_the_choice_does_not_depend_on_units(noisy):
    X, Y = noisy
    choices = {
        choose_ridge(Moments.of(X * a, Y * b)) for a in (1e-20, 1, 1e20) for b in (1e-20, 1, 1e20)
    }
    assert len(choices) == 1


def test_an_affine_map_forgives_any_invertible_change_of_the_old_space(rng, noisy):
    X, Y = noisy
    B = rng.standard_normal((4, 4)) + 3 * np.eye(4)
    one, other = Affine.fit(X, Y, ridge=0.0), Affine.fit(X @ B + 5, Y, ridge=0.0)
    assert np.allclose(other.transform(X @ B + 5), one.transform(X), atol=1e-8)


def test_what_is_not_affine_is_not_explained(rng):
    X = rng.standard_normal((2000, 2))
    assert Affine.fit(X, X**2).score(X, X**2) < 0.05


@pytest.mark.parametrize("ridge", [-1.0, np.inf, np.nan])
def test_a_penalty_that_cannot_be_meant(noisy, ridge):
    with pytest.raises(OptionError, match=r"ridge=.*a finite number of at least 0"):
        Affine.fit(*noisy, ridge=ridge)


def test_the_choice_needs_rows_to_test_on(noisy):
    X, Y = noisy
    with pytest.raises(OptionError, match=r"at least 2 folds; give ridge=0\.0"):
        Affine.fit(Moments.of(X, Y).fold(0))
    with pytest.raises(TooFewRowsError, match="1 rows, in 1 of 10 folds: none are left to test on"):
        Affine.fit(X[:1], Y[:1])
    assert Affine.fit(X[:1], Y[:1], ridge=0.0).transform(X[:1]) == pytest.approx(Y[:1])


def test_maps_without_an_inverse(rng, noisy):
    with pytest.raises(NoInverseError, match="it leads from 4 to 3 dimensions"):
        Affine.fit(*noisy).inverse_transform(noisy[1])
    X = spread_rows(rng)
    flat = Affine.fit(X, X @ np.outer(np.ones(4), np.arange(1, 5)), ridge=0.0)
    with pytest.raises(NoInverseError, match="its matrix is singular"):
        flat.inverse_transform(X)
    with pytest.raises(NoInverseError, match="its matrix is singular"):
        Affine(np.zeros((2, 2)), np.zeros(2), 0.0).inverse_transform(np.ones((3, 2)))


def test_more_columns_than_rows_leaves_a_usable_map(rng):
    X = rng.standard_normal((30, 60))
    Y = X[:, :5] + 0.1 * rng.standard_normal((30, 5))
    assert 0 < Affine.fit(X, Y).score(X, Y) <= 1 + atol("exact")
    assert np.isfinite(Affine.fit(X, Y).matrix).all()


def test_rounding_on_exact_data_chooses_no_penalty(rng):
    for _ in range(20):
        X = rng.standard_normal((300, 4))
        assert Affine.fit(X, X @ rng.standard_normal((4, 4))).ridge == 0.0
