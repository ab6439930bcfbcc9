from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import DegenerateError, OptionError
from samespace.measures import cca, svcca
from tests.measures.pairs import moments, related, rotation, shear
from tests.oracles import canonical
from tests.tolerances import atol

EXACT = atol("exact")


@pytest.mark.parametrize("components", [1, 2, 3])
def test_equals_the_singular_vectors_of_the_rows(components, rng):
    X, Y = related(rng)
    expected = canonical.svcca(X, Y, components, components)
    np.testing.assert_allclose(
        svcca(X, Y, components=components).correlations, expected, rtol=0, atol=EXACT
    )


def test_all_components_are_plain_cca(rng):
    X, Y = related(rng)
    found, plain = svcca(X, Y, variance_kept=1.0), cca(X, Y)
    np.testing.assert_allclose(found.correlations, plain.correlations, rtol=0, atol=EXACT)
    np.testing.assert_allclose(
        found.held_out_correlations, plain.held_out_correlations, rtol=0, atol=EXACT
    )


def test_keeps_the_fewest_components_that_hold_the_variance(rng):
    X = rng.standard_normal((500, 4)) * [10, 3, 1, 0.1]
    variances = np.linalg.svd(X - X.mean(0), compute_uv=False) ** 2
    shares = np.cumsum(variances) / variances.sum()
    for k in (1, 2, 3):
        found = svcca(X, X, variance_kept=float(shares[k - 1]) - 1e-9)
        assert (found.components_x, found.components_y) == (k, k)
        assert found.variance_x == pytest.approx(shares[k - 1])


def test_does_not_see_rotations_scales_and_shifts(rng):
    X, Y = related(rng)
    moved = svcca(3 * X @ rotation(rng, 4) + 7, 0.1 * Y @ rotation(rng, 3), components=2)
    plain = svcca(X, Y, components=2)
    np.testing.assert_allclose(moved.correlations, plain.correlations, rtol=0, atol=EXACT)
    np.testing.assert_allclose(
        moved.held_out_correlations, plain.held_out_correlations, rtol=0, atol=EXACT
    )


def test_sees_a_shear(rng):
    X = rng.standard_normal((300, 4)) * [8, 4, 2, 1]
    assert svcca(X, X @ shear(rng, 4), components=1).mean < 0.99
    assert cca(X, X @ shear(rng, 4)).mean > 1 - EXACT


def test_standardised_does_not_see_the_scale_of_a_column(rng):
    X, Y = related(rng)
    scaled = svcca(X * [100, -1, 1, 0.01], Y, components=2, standardised=True)
    plain = svcca(X, Y, components=2, standardised=True)
    np.testing.assert_allclose(scaled.correlations, plain.correlations, rtol=0, atol=EXACT)
    unit = [(Z - Z.mean(0)) / Z.std(0) for Z in (X, Y)]
    expected = canonical.svcca(*unit, 2, 2)
    np.testing.assert_allclose(plain.correlations, expected, rtol=0, atol=EXACT)


def test_noise_flatters_in_sample_and_not_held_out(rng):
    found = svcca(rng.standard_normal((100, 30)), rng.standard_normal((100, 30)), components=20)
    assert found.mean > 0.3
    assert abs(found.held_out_mean) < atol("statistical", standard_error=100**-0.5)


def test_components_beyond_the_rank_are_not_invented(rng):
    X, Y = related(rng)
    wide = np.hstack([X, X])
    found = svcca(wide, Y, components=7)
    assert (found.components_x, found.components_y, found.variance_x) == (4, 3, 1.0)


def test_without_folds_there_is_no_held_out_form(rng):
    X, Y = related(rng)
    assert svcca(moments(X, Y, folds=1)).held_out_mean is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"components": 2, "variance_kept": 0.9}, "both say how much to keep"),
        ({"components": 0}, "between 1 and the width, 4"),
        ({"components": 5}, "between 1 and the width, 4"),
        ({"variance_kept": 0.0}, r"write a share in \(0, 1\]"),
        ({"variance_kept": 1.5}, r"write a share in \(0, 1\]"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options, message, rng):
    with pytest.raises(OptionError, match=message):
        svcca(*related(rng), **options)


def test_a_constant_side_is_refused():
    with pytest.raises(DegenerateError, match="X is constant"):
        svcca(np.ones((40, 2)), np.arange(40.0)[:, None])
