from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import OptionError
from samespace.measures import mcc
from samespace.moments import Moments
from tests.measures.pairs import folds_of, moments, related, rotation, signed_permutation
from tests.oracles import matching
from tests.tolerances import atol

EXACT = atol("exact")


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_equals_the_best_of_all_permutations(kind, rng):
    X, Y = related(rng, d_x=5, d_y=4, noise=3)
    best, order = matching.mcc(X, Y, spearman=kind == "spearman")
    found = mcc(X, Y, kind=kind)
    assert found.mean == pytest.approx(best, abs=EXACT)
    assert found.columns_x.tolist() == list(order)
    assert found.columns_y.tolist() == [0, 1, 2, 3]


def test_a_greedy_match_would_be_worse():
    # Correlations [[.9, .8], [.8, 0]]: the best pair taken first leaves 0 for the other.
    rng = np.random.default_rng(0)
    white = np.linalg.qr(rng.standard_normal((200, 4)) - 0.0)[0]
    white = np.linalg.qr(white - white.mean(0))[0]
    target = np.array([[0.9, 0.8], [0.8, 0.0]])
    target *= 0.99 / np.linalg.norm(target, 2)
    X = white[:, :2]
    Y = X @ target + white[:, 2:] @ np.linalg.cholesky(np.eye(2) - target.T @ target).T
    found = mcc(X, Y)
    assert found.columns_x.tolist() == [1, 0]
    assert found.mean == pytest.approx(target[0, 1], abs=1e-6)


def test_held_out_equals_matching_without_each_fold(rng):
    X, Y = related(rng, n=60, d_x=4, d_y=3)
    expected = matching.held_out_mcc(X, Y, folds_of(60))
    found = mcc(X, Y)
    np.testing.assert_allclose(found.held_out_correlations, expected, rtol=0, atol=EXACT)
    assert found.held_out_mean == pytest.approx(expected.mean(), abs=EXACT)


def test_does_not_see_a_signed_scaled_shifted_permutation(rng):
    X, Y = related(rng)
    moved = mcc(X @ signed_permutation(rng, 4) * [5, 1, 0.1, 3] + 4, Y)
    assert moved.mean == pytest.approx(mcc(X, Y).mean, abs=EXACT)
    assert moved.held_out_mean == pytest.approx(mcc(X, Y).held_out_mean, abs=EXACT)


def test_a_perfect_scaled_permutation_scores_one(rng):
    # A released program's default ignores the permutation and scores this 0.001.
    z = rng.uniform(size=(500, 10))
    order = rng.permutation(10)
    found = mcc(z, -3 * z[:, order] + 1)
    assert found.mean == pytest.approx(1.0, abs=EXACT)
    assert found.columns_x.tolist() == order.tolist()
    np.testing.assert_allclose(found.correlations, -1.0, atol=EXACT)
    np.testing.assert_allclose(found.held_out_correlations, 1.0, atol=EXACT)


def test_sees_a_rotation(rng):
    z = rng.uniform(size=(500, 6))
    assert mcc(z, z @ rotation(rng, 6)).mean < 0.9
    quarter = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    assert mcc(z[:, :2], z[:, :2] @ quarter).mean == pytest.approx(0.5**0.5, abs=0.05)


def test_spearman_does_not_see_monotone_functions_and_pearson_does(rng):
    z = rng.uniform(size=(300, 3))
    h = np.exp(9 * z) * [1, -1, 1]
    assert mcc(z, h, kind="spearman").mean == pytest.approx(1.0, abs=EXACT)
    assert mcc(z, h).mean < 0.9


def test_spearman_shares_ranks_among_ties(rng):
    X, Y = rng.integers(0, 4, (100, 3)).astype(float), rng.integers(0, 3, (100, 3)).astype(float)
    best, _ = matching.mcc(X, Y, spearman=True)
    assert mcc(X, Y, kind="spearman").mean == pytest.approx(best, abs=EXACT)


def test_noise_flatters_in_sample_and_not_held_out(rng):
    found = mcc(rng.standard_normal((60, 20)), rng.standard_normal((60, 20)))
    assert found.mean > 0.2
    assert abs(found.held_out_mean) < atol("statistical", standard_error=60**-0.5)


@pytest.mark.parametrize(("d_x", "d_y"), [(3, 5), (5, 3)])
def test_of_different_widths_the_narrower_is_matched_entirely(d_x, d_y, rng):
    z = rng.uniform(size=(200, 5))
    found = mcc(z[:, :d_x], z[:, 5 - d_y :])
    assert len(found.correlations) == 3
    narrower = found.columns_x if d_x < d_y else found.columns_y
    assert narrower.tolist() == [0, 1, 2]
    assert len(set(found.columns_x)) == len(set(found.columns_y)) == 3


def test_constant_columns_have_recovered_nothing(rng):
    z = rng.uniform(size=(200, 3))
    h = np.column_stack([z[:, 1], np.full(200, 0.3), z[:, 0]])
    found = mcc(z, h)
    assert (found.constant_x, found.constant_y) == (0, 1)
    assert found.mean == pytest.approx(2 / 3, abs=EXACT)
    assert found.held_out_mean == pytest.approx(2 / 3, abs=EXACT)


def test_spearman_of_moments_takes_the_rows_that_they_kept(rng):
    z = rng.uniform(size=(300, 2))
    assert mcc(Moments.of(z, z, keep=100), kind="spearman").n == 100
    with pytest.raises(OptionError, match=r"these Moments kept 0 of 300; write Moments\.of"):
        mcc(Moments.of(z, z, keep=0), kind="spearman")


def test_without_folds_there_is_no_held_out_form(rng):
    assert mcc(moments(*related(rng), folds=1)).held_out_mean is None


def test_an_unknown_kind_is_refused(rng):
    with pytest.raises(OptionError, match="write 'pearson' or 'spearman'"):
        mcc(*related(rng), kind="kendall")
