from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from samespace.errors import DegenerateError, OptionError
from samespace.measures import r2
from tests.measures.pairs import folds_of, moments, related, rotation, shear
from tests.oracles import canonical
from tests.tolerances import atol

EXACT = atol("exact")


def test_equals_least_squares_on_rows(rng):
    X, Y = related(rng)
    np.testing.assert_allclose(r2(X, Y).per_dimension, canonical.r2(X, Y), rtol=0, atol=EXACT)


def test_both_means_equal_scikit_learn_s(rng):
    X, Y = related(rng)
    predicted = LinearRegression().fit(X, Y).predict(X)
    found = r2(X, Y)
    assert found.mean == pytest.approx(r2_score(Y, predicted), abs=EXACT)
    weighted = r2_score(Y, predicted, multioutput="variance_weighted")
    assert found.variance_weighted == pytest.approx(weighted, abs=EXACT)


def test_held_out_equals_out_of_fold_predictions(rng):
    X, Y = related(rng, n=60)
    found, expected = r2(X, Y), canonical.held_out_r2(X, Y, folds_of(60))
    np.testing.assert_allclose(found.held_out, expected, rtol=0, atol=EXACT)
    assert found.held_out_mean == pytest.approx(expected.mean(), abs=EXACT)
    weights = Y.var(0)
    assert found.held_out_variance_weighted == pytest.approx(
        np.average(expected, weights=weights), abs=EXACT
    )


def test_does_not_see_an_affine_map_of_x(rng):
    X, Y = related(rng)
    moved = r2(X @ shear(rng, 4) + 9, Y)
    np.testing.assert_allclose(moved.per_dimension, r2(X, Y).per_dimension, atol=EXACT)
    np.testing.assert_allclose(moved.held_out, r2(X, Y).held_out, atol=EXACT)


def test_per_dimension_does_not_see_scale_sign_and_shift_of_a_column_of_y(rng):
    X, Y = related(rng)
    moved = r2(X, Y * [-1, 100, 0.01] + 3)
    np.testing.assert_allclose(moved.per_dimension, r2(X, Y).per_dimension, atol=EXACT)


def test_only_the_variance_weighted_mean_forgives_a_rotation_of_y(rng):
    X = rng.standard_normal((500, 2))
    Y = np.column_stack([10 * X[:, 0], rng.standard_normal(500)])
    found, turned = r2(X, Y), r2(X, Y @ rotation(rng, 2))
    assert turned.variance_weighted == pytest.approx(found.variance_weighted, abs=EXACT)
    assert abs(turned.mean - found.mean) > 0.05


def test_is_not_symmetric(rng):
    z = rng.standard_normal((300, 1))
    h = np.hstack([z, rng.standard_normal((300, 3))])
    assert r2(h, z).mean > 1 - EXACT
    assert r2(z, h).mean < 0.4


def test_noise_flatters_in_sample_and_not_held_out(rng):
    found = r2(rng.standard_normal((200, 100)), rng.standard_normal((200, 5)))
    assert found.mean == pytest.approx(100 / 199, abs=atol("statistical", standard_error=0.03))
    assert found.held_out_mean < 0


def test_constant_columns_of_y_are_undefined_and_left_out_of_the_means(rng):
    X, Y = related(rng)
    padded = np.column_stack([Y, np.full(len(Y), 0.1)])
    found = r2(X, padded)
    assert np.isnan(found.per_dimension).tolist() == [False, False, False, True]
    assert np.isnan(found.held_out).tolist() == [False, False, False, True]
    assert found.mean == pytest.approx(r2(X, Y).mean, abs=EXACT)
    assert found.held_out_variance_weighted == pytest.approx(
        r2(X, Y).held_out_variance_weighted, abs=EXACT
    )


def test_rank_deficient_x_explains_what_its_span_does(rng):
    X, Y = related(rng)
    found = r2(np.hstack([X, X]), Y)
    assert found.rank_x == 4
    np.testing.assert_allclose(found.per_dimension, r2(X, Y).per_dimension, atol=EXACT)


def test_more_dimensions_than_rows_explain_everything_in_sample(rng):
    found = r2(rng.standard_normal((30, 50)), rng.standard_normal((30, 2)))
    np.testing.assert_allclose(found.per_dimension, 1.0, atol=EXACT)
    assert found.held_out_mean < 0.5


def test_without_folds_there_is_no_held_out_form(rng):
    found = r2(moments(*related(rng), folds=1))
    assert found.held_out is found.held_out_mean is found.held_out_variance_weighted is None


@pytest.mark.parametrize("side", ["X", "Y"])
def test_a_constant_side_is_refused(side):
    pair = [np.arange(40.0)[:, None], np.ones((40, 2))]
    with pytest.raises(DegenerateError, match=f"{side} is constant"):
        r2(*(pair if side == "Y" else pair[::-1]))


def test_a_tolerance_that_cannot_be_meant_is_refused(rng):
    with pytest.raises(OptionError, match="relative to the strongest direction"):
        r2(*related(rng), tolerance=2.0)
