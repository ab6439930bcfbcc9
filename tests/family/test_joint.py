"""f and g judged jointly: exact where the theorem says so, and a failure wherever one side
disagrees.
"""

from __future__ import annotations

import numpy as np
import pytest

from samespace.compare import compare
from samespace.family.hull import Hull
from samespace.family.joint import (
    Side,
    Sides,
    fit_class,
    judge_jointly,
    turned_over,
    unembedding_share,
)
from samespace.moments import Moments
from tests.tolerances import atol

CLASSES = ("identity", "permutation", "orthogonal", "affine")
MAPS = {
    "identity": np.eye(3),
    "permutation": np.array([[0.0, 2.0, 0.0], [0.0, 0.0, -0.5], [3.0, 0.0, 0.0]]),
    "orthogonal": 2.0 * np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0],
    "affine": np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0]]),
}


@pytest.fixture
def model(rng):
    return rng.normal(size=(600, 3)) * [1.0, 2.0, 0.5], rng.normal(size=(30, 3))


def sides(f, g, f_star, g_star, bias=None, bias_star=None):
    inputs = Moments.of(f, f_star)
    old = Hull.of(inputs.mean_x, inputs.Sxx, dtype="float64")
    new = Hull.of(inputs.mean_y, inputs.Syy, dtype="float64")
    return Sides(inputs, Side.of(old, g, bias), Side.of(new, g_star, bias_star))


def judged(f, g, f_star, g_star, **biases):
    found = judge_jointly(compare(f, f_star), sides(f, g, f_star, g_star, **biases))
    return {one.name: one for one in found}


@pytest.mark.parametrize("name", CLASSES)
def test_each_class_holds_for_its_own_maps_and_no_smaller_one_does(model, name):
    f, g = model
    A = MAPS[name]
    found = judged(f, g, f @ A, g @ np.linalg.inv(A).T + 7.0)
    smallest = next(one.name for one in found.values() if one.holds)
    assert smallest == name
    one = found[name]
    assert one.g_unexplained == pytest.approx(0.0, abs=atol("exact"))
    assert one.f_from_g == pytest.approx(0.0, abs=atol("exact"))
    assert one.gap == pytest.approx(0.0, abs=1e-6)
    assert one.offset == pytest.approx(0.0, abs=atol("exact"))


def test_opposite_maps_of_f_and_g_fail_though_each_alone_is_perfect(model):
    f, g = model
    A = MAPS["affine"]
    found = judged(f, g, f @ A, g @ A)["affine"]
    assert found.f_unexplained == pytest.approx(0.0, abs=atol("exact"))
    assert compare(g, g @ A).affine.unexplained == pytest.approx(0.0, abs=atol("exact"))
    assert found.holds is False
    assert found.g_unexplained > 0.1
    assert "different maps" in found.reason


def test_a_rotation_of_f_alone_fails(model):
    f, g = model
    found = judged(f, g, f @ MAPS["orthogonal"], g)
    assert not any(one.holds for one in found.values())


def test_a_shift_of_f_fails_without_biases_and_is_paid_for_by_biases(model, rng):
    f, g = model
    A, a = MAPS["affine"], np.array([2.0, -1.0, 3.0])
    g_star = g @ np.linalg.inv(A).T
    unpaid = judged(f, g, f @ A + a, g_star)["affine"]
    assert unpaid.holds is False
    assert "no shift is free" in unpaid.reason
    bias = rng.normal(size=30)
    paid = judged(f, g, f @ A + a, g_star, bias=bias, bias_star=bias - g_star @ a + 5.0)["affine"]
    assert paid.holds is True
    assert paid.offset == pytest.approx(0.0, abs=atol("exact"))


def test_the_offset_is_the_share_of_logits_that_a_shift_makes(model):
    """Against the logits written out: what f_star g_star' has beyond the model mapped without a
    shift.
    """
    f, g = model
    a = np.array([0.5, 0.0, -0.2])
    found = judged(f, g, f + a, g)["affine"]
    logits = (f + a) @ (g - g.mean(axis=0)).T
    extra = np.tile((g - g.mean(axis=0)) @ a, (len(f), 1))
    assert found.offset == pytest.approx((extra**2).sum() / (logits**2).sum(), rel=1e-9)


def test_the_share_of_g_is_that_of_a_plain_computation(model, rng):
    f, g = model
    f_star, g_star = (
        f @ MAPS["affine"] + rng.normal(size=f.shape),
        g + 0.3 * rng.normal(size=g.shape),
    )
    A = np.linalg.lstsq(np.column_stack([f, np.ones(600)]), f_star, rcond=None)[0][:3]
    left = (g_star - g_star.mean(axis=0)) - (g - g.mean(axis=0)) @ np.linalg.inv(A).T
    expected = (left**2).sum() / ((g_star - g_star.mean(axis=0)) ** 2).sum()
    both = sides(f, g, f_star, g_star)
    fitted = fit_class("affine", both.inputs, ridge=0.0)
    assert unembedding_share(both.labels, fitted.matrix) == pytest.approx(expected, rel=1e-9)


def test_the_interval_covers_what_other_samples_of_inputs_say(rng):
    """Redrawing inputs moves g's share by about the jackknife's width: within a factor of two."""
    g = rng.normal(size=(30, 3))
    g_star = g @ np.linalg.inv(MAPS["affine"]).T + 0.2 * rng.normal(size=g.shape)

    def draw():
        f = rng.normal(size=(300, 3))
        return f, f @ MAPS["affine"] + 0.5 * rng.normal(size=f.shape)

    found = [judged(f, g, f_star, g_star)["affine"] for f, f_star in (draw() for _ in range(16))]
    spread = np.std([one.g_unexplained for one in found])
    width = np.mean([one.g_interval.half_width for one in found])
    assert 0.5 < width / (2.26 * spread) < 2.0


def test_a_map_without_inverse_fails_with_that_reason(rng):
    f, g = rng.normal(size=(300, 2)), rng.normal(size=(10, 2))
    flat = f @ np.array([[1.0, 0.0], [0.0, 0.0]])
    found = judged(flat, g, f, g)["affine"]
    assert turned_over(np.array([[1.0, 0.0], [0.0, 0.0]])) is None
    assert found.holds is False
    assert found.g_unexplained is None


def test_models_of_different_widths_have_no_class(rng):
    f, g = rng.normal(size=(300, 3)), rng.normal(size=(10, 3))
    found = judged(f, g, f[:, :2], g[:, :2])
    assert not any(one.applies or one.holds for one in found.values())
    assert "f varies in 3 dimensions in the old model and 2" in found["affine"].reason


def test_too_few_inputs_leave_it_open(rng):
    f, g = rng.normal(size=(30, 3)), rng.normal(size=(10, 3))
    A = MAPS["affine"]
    noisy = f @ A + 0.55 * rng.normal(size=f.shape)
    found = judged(f, g, noisy, g @ np.linalg.inv(A).T)["affine"]
    assert found.holds is None
    assert found.to_dict()["holds"] is None


def flat(rng, n, *, offset):
    """F in a hyperplane, as after a final LayerNorm, and the normal of it."""
    normal = np.array([1.0, 2.0, -1.0, 0.5]) / 2.5
    rows = rng.normal(size=(n, 4))
    return rows - np.outer(rows @ normal, normal) + offset * normal, normal


@pytest.mark.parametrize("offset", [0.0, 1.5])
def test_a_hyperplane_of_f_is_no_obstacle(rng, offset):
    """The map of f is singular in the whole space, and g is free beside the plane: both are judged
    within.
    """
    f, normal = flat(rng, 600, offset=offset)
    g = rng.normal(size=(30, 4))
    A = rng.normal(size=(4, 4)) + 3.0 * np.eye(4)
    free = np.outer(
        rng.normal(size=30), normal
    )  # a bias of each label, unless the plane holds the origin
    g_star = (g + (0.0 if offset else 5.0) * free) @ np.linalg.inv(A).T
    found = judged(f, g, f @ A, g_star)["affine"]
    assert found.holds is True
    assert found.g_unexplained == pytest.approx(0.0, abs=atol("exact"))
    assert found.f_from_g == pytest.approx(0.0, abs=atol("exact"))
    assert found.offset == pytest.approx(0.0, abs=atol("exact"))


def test_beside_a_hyperplane_off_the_origin_g_is_a_bias_and_counts(rng):
    f, normal = flat(rng, 600, offset=3.0)
    g = rng.normal(size=(30, 4))
    biased = g + np.outer(rng.normal(size=30), normal)
    found = judged(f, g, f, biased)["identity"]
    assert found.g_unexplained == pytest.approx(0.0, abs=atol("exact"))
    assert found.holds is False
    assert "no shift is free" in found.reason


def test_float32_rounding_beside_the_hyperplane_is_not_mistaken_for_a_dimension(rng):
    f, _ = flat(rng, 600, offset=1.0)
    rounded = f.astype(np.float32).astype(np.float64)
    moments = Moments.of(rounded, rounded)
    assert Hull.of(moments.mean_x, moments.Sxx, dtype="float32").dim == 3
    assert Hull.of(moments.mean_x, moments.Sxx, dtype="float32").whole is False
