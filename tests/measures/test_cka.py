from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import DegenerateError
from samespace.measures import cka
from samespace.moments import Moments
from tests.measures.pairs import moments, related, rotation, shear
from tests.oracles import kernels
from tests.tolerances import atol, rtol

EXACT = atol("exact")


def test_biased_equals_explicit_kernels(rng):
    X, Y = related(rng, n=50)
    assert cka(X, Y).biased == pytest.approx(kernels.biased_cka(X, Y), abs=EXACT)


@given(st.integers(0, 2**32 - 1), st.integers(4, 7), st.integers(1, 4), st.integers(1, 4))
def test_unbiased_hsic_equals_the_mean_over_quadruples(seed, n, d_x, d_y):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d_x)) + 3, rng.standard_normal((n, d_y)) - 2
    found = cka(moments(X, Y))
    size = float(np.sqrt(kernels.unbiased_hsic(X, X) ** 2 + np.sum(X**2) ** 2))
    for value, pair in (
        (found.hsic_xy, (X, Y)),
        (found.hsic_xx, (X, X)),
        (found.hsic_yy, (Y, Y)),
    ):
        assert value == pytest.approx(kernels.unbiased_hsic(*pair), rel=1e-8, abs=1e-10 * size)


def test_debiased_equals_the_ratio_of_quadruple_means(rng):
    X, Y = related(rng, n=8, d_x=3, d_y=2)
    assert cka(moments(X, Y)).debiased == pytest.approx(kernels.debiased_cka(X, Y), abs=EXACT)


def test_independent_data_at_768_dimensions(rng):
    found = cka(*rng.standard_normal((2, 1000, 768)))
    assert found.biased == pytest.approx(0.43, abs=0.01)
    assert abs(found.debiased) < 0.01


def test_debiased_is_unbiased_over_many_draws(rng):
    draws = [cka(*rng.standard_normal((2, 30, 10))).hsic_xy for _ in range(400)]
    error = float(np.std(draws)) / 20
    assert abs(np.mean(draws)) < atol("statistical", standard_error=error)


def test_does_not_see_rotations_scales_and_shifts(rng):
    X, Y = related(rng)
    moved, plain = cka(3 * X @ rotation(rng, 4) + 9, -Y @ rotation(rng, 3)), cka(X, Y)
    assert moved.biased == pytest.approx(plain.biased, abs=EXACT)
    assert moved.debiased == pytest.approx(plain.debiased, abs=EXACT)


def test_sees_a_shear(rng):
    X = rng.standard_normal((300, 5))
    assert cka(X, X @ shear(rng, 5)).debiased < 0.95


def test_is_symmetric_and_one_with_itself(rng):
    X, Y = related(rng)
    assert cka(X, Y).debiased == pytest.approx(cka(Y, X).debiased, abs=EXACT)
    assert cka(X, X).biased == pytest.approx(1.0, abs=EXACT)
    assert cka(X, X).debiased == pytest.approx(1.0, abs=EXACT)


def test_out_of_core_equals_in_memory(rng):
    X, Y = related(rng, n=500)
    merged = Moments.of(X[:100], Y[:100]) + Moments.of(X[100:], Y[100:])
    assert cka(merged).debiased == pytest.approx(cka(X, Y).debiased, abs=EXACT)


def test_stable_when_the_mean_dwarfs_the_spread(rng):
    X, Y = related(rng)
    assert cka(X + 1e6, Y - 1e7).debiased == pytest.approx(
        cka(X, Y).debiased, rel=0, abs=10 * rtol("exact")
    )


def test_under_four_rows_there_is_no_debiased_form(rng):
    X = rng.standard_normal((3, 2))
    found = cka(moments(X, X))
    assert found.biased == pytest.approx(1.0)
    assert found.debiased is found.hsic_xy is found.hsic_xx is found.hsic_yy is None


def test_where_the_estimate_of_a_norm_is_not_positive_it_is_undefined():
    # A regular simplex: all rows equally similar, so no structure that the U-statistic could see.
    X = np.eye(4)
    found = cka(moments(X, X))
    assert found.hsic_xx == pytest.approx(0.0, abs=EXACT)
    assert kernels.unbiased_hsic(X, X) == 0
    assert found.debiased is None


@pytest.mark.parametrize("side", ["X", "Y"])
def test_a_constant_side_is_refused(side):
    pair = [np.arange(40.0)[:, None], np.full((40, 2), 0.1)]
    with pytest.raises(DegenerateError, match=f"{side} is constant"):
        cka(*(pair if side == "Y" else pair[::-1]))
