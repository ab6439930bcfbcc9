from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.spatial import procrustes as scipy_procrustes

from samespace.errors import DegenerateError, OptionError
from samespace.maps import Orthogonal
from samespace.measures import cca, procrustes
from tests.measures.pairs import moments, related, rotation, shear
from tests.oracles import shapes
from tests.tolerances import atol

EXACT = atol("exact")
COSINE_TO_ANGLE = 2e-7
"""A cosine that is off by 1e-14 near 1 moves the angle, and the distance, by its square root."""


def test_disparity_equals_scipy_s(rng):
    X, Y = related(rng, d_x=3, d_y=3)
    expected = scipy_procrustes(X, Y)[2]
    assert procrustes(X, Y).disparity == pytest.approx(expected, abs=EXACT)


def test_rotation_takes_x_to_y(rng):
    X, Y = related(rng, d_x=3, d_y=3)
    found = procrustes(X, Y)
    np.testing.assert_allclose(found.rotation, shapes.rotation(X, Y), atol=1e-9)
    gap = (X - X.mean(0)) @ found.rotation - (Y - Y.mean(0))
    assert found.unscaled_distance == pytest.approx(np.sqrt((gap**2).sum() / len(X)))
    np.testing.assert_allclose(found.rotation, Orthogonal.fit(X, Y).rotation, atol=1e-9)


def test_no_rotation_of_the_plane_is_better(rng):
    X, Y = related(rng, n=40, d_x=2, d_y=2, noise=3)
    assert procrustes(X, Y).similarity == pytest.approx(
        shapes.similarity_in_the_plane(X, Y), abs=EXACT
    )


def test_between_widths_the_narrower_is_padded_with_zeros(rng):
    X, Y = related(rng, d_x=5, d_y=3)
    padded = np.hstack([Y, np.zeros((len(Y), 2))])
    found, wide = procrustes(X, Y), procrustes(X, padded)
    assert found.angle == pytest.approx(wide.angle, abs=EXACT)
    assert found.unscaled_distance == pytest.approx(wide.unscaled_distance, abs=EXACT)
    np.testing.assert_allclose(found.rotation.T @ found.rotation, np.eye(3), atol=EXACT)


def test_does_not_see_rotations_scales_and_shifts(rng):
    X, Y = related(rng)
    moved, plain = procrustes(3 * X @ rotation(rng, 4) + 9, -Y @ rotation(rng, 3)), procrustes(X, Y)
    assert moved.angle == pytest.approx(plain.angle, abs=EXACT)
    assert moved.distance == pytest.approx(plain.distance, abs=EXACT)


def test_the_unscaled_distance_sees_a_scale(rng):
    X, _ = related(rng)
    turned = X @ rotation(rng, 4) + 9
    assert procrustes(X, turned).unscaled_distance < COSINE_TO_ANGLE * np.linalg.norm(X.std(0))
    expected = np.sqrt(X.var(0).sum())
    assert procrustes(X, 2 * turned).unscaled_distance == pytest.approx(expected)


def test_vanishes_under_rotation_and_not_under_a_shear(rng):
    X = rng.standard_normal((300, 4))
    same = procrustes(X, X @ rotation(rng, 4))
    assert same.similarity == pytest.approx(1.0, abs=EXACT)
    assert same.angle < COSINE_TO_ANGLE
    assert same.distance < COSINE_TO_ANGLE
    assert procrustes(X, X @ shear(rng, 4)).angle > 0.3


def test_angle_and_distance_obey_the_triangle_inequality(rng):
    points = [related(rng, d_x=d, d_y=3)[0] for d in (2, 3, 4, 4)]
    for a, b, c in permutations(points, 3):
        ab, bc, ac = procrustes(a, b), procrustes(b, c), procrustes(a, c)
        assert ac.angle <= ab.angle + bc.angle + EXACT
        assert ac.distance <= ab.distance + bc.distance + EXACT
        assert ac.unscaled_distance <= ab.unscaled_distance + bc.unscaled_distance + EXACT


def test_fully_whitened_is_the_sum_of_canonical_correlations(rng):
    X, Y = related(rng, d_x=4, d_y=3)
    expected = cca(X, Y).correlations.sum() / np.sqrt(12)
    assert procrustes(X, Y, alpha=0.0).similarity == pytest.approx(expected, abs=EXACT)


def test_fully_whitened_does_not_see_a_shear_and_half_whitened_only_half(rng):
    X = rng.standard_normal((300, 4)) * [1, 2, 3, 4]
    sheared = X @ shear(rng, 4)
    angles = [procrustes(X, sheared, alpha=a).angle for a in (0.0, 0.5, 1.0)]
    assert angles[0] < COSINE_TO_ANGLE
    assert angles[0] < angles[1] < angles[2]


def test_partial_whitening_does_not_see_scales_and_takes_rank_deficient_data(rng):
    X, Y = related(rng)
    wide = np.hstack([X, X[:, :1]])
    plain = procrustes(wide, Y, alpha=0.3).angle
    assert procrustes(1e3 * wide, Y / 1e3, alpha=0.3).angle == pytest.approx(plain, abs=1e-9)


def test_two_rows_are_a_line(rng):
    X, Y = rng.standard_normal((2, 2, 3))
    assert procrustes(moments(X, Y, folds=1)).similarity == pytest.approx(1.0, abs=EXACT)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("side", ["X", "Y"])
def test_a_constant_side_is_refused(side, alpha):
    pair = [np.arange(40.0)[:, None], np.full((40, 2), 0.1)]
    with pytest.raises(DegenerateError, match=f"{side} is constant"):
        procrustes(*(pair if side == "Y" else pair[::-1]), alpha=alpha)


@pytest.mark.parametrize("alpha", [-0.1, 1.1])
def test_an_alpha_that_cannot_be_meant_is_refused(alpha, rng):
    with pytest.raises(OptionError, match="write 1 for plain Procrustes, 0 for whitened"):
        procrustes(*related(rng), alpha=alpha)
