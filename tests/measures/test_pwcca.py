from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import OptionError
from samespace.measures import cca, pwcca
from tests.measures.pairs import moments, related, rotation, shear, signed_permutation
from tests.oracles import canonical
from tests.tolerances import atol

EXACT = atol("exact")


def test_equals_the_paper_s_sum_over_neurons(rng):
    X, Y = related(rng)
    assert pwcca(X, Y).similarity == pytest.approx(canonical.pwcca(X, Y), abs=EXACT)
    assert pwcca(X, Y, side="y").similarity == pytest.approx(canonical.pwcca(Y, X), abs=EXACT)


def test_does_not_see_an_affine_map_of_the_other_side(rng):
    X, Y = related(rng)
    moved = pwcca(X, Y @ shear(rng, 3) + 2)
    assert moved.similarity == pytest.approx(pwcca(X, Y).similarity, abs=EXACT)


def test_does_not_see_a_signed_permutation_of_the_weighted_side(rng):
    X, Y = related(rng)
    moved = pwcca(5 * X @ signed_permutation(rng, 4) + 2, Y)
    assert moved.similarity == pytest.approx(pwcca(X, Y).similarity, abs=EXACT)


def test_sees_a_rotation_of_the_weighted_side(rng):
    X = rng.standard_normal((500, 4)) * [30, 10, 3, 1]
    Y = X[:, :2] + rng.standard_normal((500, 2)) * [5, 20]
    assert abs(pwcca(X @ rotation(rng, 4), Y).similarity - pwcca(X, Y).similarity) > 1e-3


def test_weighs_by_the_side_asked_for(rng):
    X, Y = related(rng, d_x=4, d_y=3)
    assert pwcca(X, Y, side="smaller").side == "y"
    assert pwcca(Y, X, side="smaller").side == "x"
    assert pwcca(X, X, side="smaller").side == "x"
    swapped = pwcca(Y, X, side="x").similarity
    assert pwcca(X, Y, side="y").similarity == pytest.approx(swapped, abs=EXACT)
    assert abs(pwcca(X, Y, side="x").similarity - swapped) > 1e-3


def test_agrees_with_the_released_program_on_centred_data_only(rng):
    # The released program adds the means back before an orthonormalisation: harmless without means.
    X, Y = related(rng, d_x=3, d_y=3)
    X = X - X.mean(0)
    assert pwcca(X, Y).similarity == pytest.approx(canonical.released_pwcca(X, Y), abs=EXACT)
    off = X + np.array([0.0, 30.0, -50.0])
    assert pwcca(off, Y).similarity == pytest.approx(pwcca(X, Y).similarity, abs=EXACT)
    assert abs(pwcca(off, Y).similarity - canonical.released_pwcca(off, Y)) > 1e-3


def test_weights_are_shares(rng):
    found = pwcca(*related(rng))
    assert found.weights.sum() == pytest.approx(1.0)
    assert np.all(found.weights > 0)


def test_held_out_puts_held_out_correlations_under_the_same_weights(rng):
    X, Y = related(rng)
    expected = cca(X, Y).held_out_correlations @ pwcca(X, Y).weights
    assert pwcca(X, Y).held_out_similarity == pytest.approx(expected, abs=EXACT)
    noise = pwcca(rng.standard_normal((100, 20)), rng.standard_normal((100, 20)))
    assert noise.similarity > 0.3
    assert abs(noise.held_out_similarity) < atol("statistical", standard_error=0.1)


def test_without_folds_there_is_no_held_out_form(rng):
    assert pwcca(moments(*related(rng), folds=1)).held_out_similarity is None


def test_an_unknown_side_is_refused(rng):
    with pytest.raises(OptionError, match="write 'x', 'y' or 'smaller'"):
        pwcca(*related(rng), side="z")
