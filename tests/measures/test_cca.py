from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import DegenerateError, OptionError
from samespace.measures import cca, cca_from_rows
from samespace.moments import Moments
from tests.measures.pairs import folds_of, moments, related, shear
from tests.oracles import canonical
from tests.tolerances import atol

EXACT = atol("exact")


@pytest.mark.parametrize("route", [cca, cca_from_rows])
def test_equals_the_eigenproblem_solved_at_fifty_digits(route, rng):
    X, Y = related(rng, n=30)
    expected = [float(r) for r in canonical.canonical_correlations(X, Y)]
    np.testing.assert_allclose(route(X, Y).correlations, expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("route", [cca, cca_from_rows])
def test_does_not_see_affine_maps_of_either_side(route, rng):
    X, Y = related(rng)
    moved = route(X @ shear(rng, 4) + 7, Y @ shear(rng, 3) - 1)
    np.testing.assert_allclose(moved.correlations, route(X, Y).correlations, rtol=0, atol=EXACT)


def test_held_out_does_not_see_affine_maps_either(rng):
    X, Y = related(rng)
    moved = cca(X @ shear(rng, 4) + 7, Y @ shear(rng, 3) - 1)
    np.testing.assert_allclose(
        moved.held_out_correlations, cca(X, Y).held_out_correlations, rtol=0, atol=EXACT
    )


def test_sees_a_nonlinear_map(rng):
    X = rng.standard_normal((500, 3))
    assert cca(X, X**2).mean < 0.3
    assert cca(X, X**3).mean < 0.9


def test_is_symmetric(rng):
    X, Y = related(rng)
    np.testing.assert_allclose(cca(X, Y).correlations, cca(Y, X).correlations, rtol=0, atol=EXACT)


@pytest.mark.parametrize("route", [cca, cca_from_rows])
def test_directions_make_uncorrelated_variates_of_unit_variance(route, rng):
    X, Y = related(rng)
    found = route(X, Y)
    U, V = (X - X.mean(0)) @ found.directions_x, (Y - Y.mean(0)) @ found.directions_y
    np.testing.assert_allclose(U.T @ U / len(X), np.eye(3), atol=EXACT)
    np.testing.assert_allclose(V.T @ V / len(X), np.eye(3), atol=EXACT)
    np.testing.assert_allclose(U.T @ V / len(X), np.diag(found.correlations), atol=EXACT)


def test_directions_have_a_settled_sign(rng):
    X, Y = related(rng)
    found, flipped = cca(X, Y), cca(X, -Y)
    np.testing.assert_allclose(found.directions_x, flipped.directions_x, atol=1e-9)
    assert np.all(found.directions_x[np.abs(found.directions_x).argmax(0), range(3)] > 0)


def test_held_out_equals_rows_fitted_without_each_fold(rng):
    X, Y = related(rng, n=80)
    expected = canonical.held_out_correlations(X, Y, folds_of(80))
    np.testing.assert_allclose(cca(X, Y).held_out_correlations, expected, rtol=0, atol=EXACT)


def test_noise_flatters_in_sample_and_not_held_out(rng):
    found = cca(rng.standard_normal((200, 40)), rng.standard_normal((200, 40)))
    assert found.mean > 0.35
    assert found.correlations[0] > 0.75
    # Forty pooled correlations of 200 rows each: the mean's standard error is under 1/sqrt(200).
    assert abs(found.held_out_mean) < atol("statistical", standard_error=200**-0.5)


def test_fewer_rows_than_dimensions_say_one_in_sample_and_nothing_held_out(rng):
    found = cca(rng.standard_normal((30, 50)), rng.standard_normal((30, 40)))
    np.testing.assert_allclose(found.correlations, 1.0, atol=EXACT)
    assert (found.rank_x, found.rank_y, len(found.correlations)) == (29, 29, 29)
    assert abs(found.held_out_mean) < 0.2


def test_rank_deficient_sides_count_their_rank(rng):
    X, Y = related(rng, d_x=4, d_y=3)
    wide = np.hstack([X, X @ rng.standard_normal((4, 3))])
    found = cca(wide, Y)
    assert (found.rank_x, found.d_x) == (4, 7)
    np.testing.assert_allclose(found.correlations, cca(X, Y).correlations, atol=1e-9)
    np.testing.assert_allclose(
        cca_from_rows(wide, Y).correlations, cca(X, Y).correlations, atol=1e-9
    )


def test_rank_deficient_float32_products_keep_their_rank(rng):
    narrow = rng.standard_normal((300, 5)).astype(np.float32)
    wide = narrow @ rng.standard_normal((5, 40)).astype(np.float32)
    assert cca(wide, narrow).rank_x == 5


def test_float16_storage_needs_a_tolerance_to_keep_its_rank(rng):
    narrow = rng.standard_normal((300, 5))
    wide = (narrow @ rng.standard_normal((5, 10))).astype(np.float16)
    assert cca(wide, narrow, held_out=False).rank_x == 10
    assert cca(wide, narrow, held_out=False, tolerance=1e-5).rank_x == 5


def test_single_precision_moments_know_their_own_rounding(rng):
    narrow = rng.standard_normal((3000, 5))
    wide = narrow @ rng.standard_normal((5, 20))
    assert cca(Moments.of(wide, narrow, precision="float32")).rank_x == 5


def test_a_column_far_smaller_than_another_is_still_a_direction(rng):
    X, Y = related(rng, d_x=3, d_y=3)
    scaled = cca(X * [1e-6, 1.0, 1e6], Y)
    np.testing.assert_allclose(scaled.correlations, cca(X, Y).correlations, atol=EXACT)


def test_a_column_of_rounding_errors_is_not(rng):
    X, Y = related(rng)
    padded = np.column_stack([X, 1e-16 * rng.standard_normal(len(X)), np.full(len(X), 0.1)])
    np.testing.assert_allclose(cca(padded, Y).correlations, cca(X, Y).correlations, atol=EXACT)


def test_rows_reach_where_moments_cannot(rng):
    first, second = rng.standard_normal((2, 100))
    X = np.column_stack([first, first + 1e-10 * second])
    assert cca(X, second[:, None]).rank_x == 1
    exact = cca_from_rows(X, second[:, None])
    assert exact.rank_x == 2
    # The rows themselves hold the difference to eps / 1e-10 = 2e-6 only.
    np.testing.assert_allclose(exact.correlations, 1.0, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 6), st.integers(30, 60))
def test_a_spectrum_is_descending_and_between_zero_and_one(seed, d_x, d_y, n):
    rng = np.random.default_rng(seed)
    found = cca(rng.standard_normal((n, d_x)), rng.standard_normal((n, d_y)))
    assert np.all(np.diff(found.correlations) <= 0)
    assert found.correlations[0] <= 1.0
    assert found.correlations[-1] >= 0.0
    assert np.all(np.abs(found.held_out_correlations) <= 1.0 + EXACT)


def test_without_folds_there_is_no_held_out_form(rng):
    X, Y = related(rng, n=30)
    assert cca(moments(X, Y, folds=1)).held_out_correlations is None
    assert cca(moments(X, Y, folds=1)).held_out_mean is None
    assert cca(X, Y, held_out=False).held_out_correlations is None


def test_a_pair_constant_on_the_held_out_rows_counts_as_zero():
    # Only rows of fold f vary: without them nothing does, and the other folds' directions see constants.
    fold = folds_of(40, 2)
    X = np.where(fold == 0, np.arange(40.0), 0.0)[:, None]
    held_out = cca(moments(X, X, folds=2)).held_out_correlations
    assert held_out is None


def test_a_constant_side_is_refused():
    X = np.arange(40.0)[:, None]
    with pytest.raises(DegenerateError, match=r"Y is constant to rounding over its 40 rows"):
        cca(X, np.full((40, 2), 0.1))
    with pytest.raises(DegenerateError, match=r"X is constant to rounding"):
        cca_from_rows(np.full((40, 2), 0.1), X)


@pytest.mark.parametrize("route", [cca, cca_from_rows])
@pytest.mark.parametrize("tolerance", [-0.1, 1.0])
def test_a_tolerance_that_cannot_be_meant_is_refused(route, tolerance, rng):
    with pytest.raises(OptionError, match="relative to the strongest direction"):
        route(*related(rng), tolerance=tolerance)
