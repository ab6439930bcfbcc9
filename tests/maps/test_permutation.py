"""Generalised permutations: exact inside the class, the best of all d! outside it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import NoInverseError
from samespace.maps import Permutation
from samespace.maps.permutation import best_assignment
from tests.maps.pairs import residual, rotation, spread_rows
from tests.oracles.held_out import best_permutation
from tests.tolerances import atol, rtol


@given(
    st.permutations(range(4)),
    st.lists(st.sampled_from([-3.0, -0.2, 1.0, 40.0]), min_size=4, max_size=4),
)
def test_any_member_of_the_class_is_found(order, scales):
    X = spread_rows(np.random.default_rng(0))
    found = Permutation.fit(X, X[:, order] * scales + np.arange(4))
    assert found.order.tolist() == order
    assert np.allclose(found.scales, scales, rtol=rtol("exact"))
    assert np.allclose(found.bias, np.arange(4), atol=1e-8)


def test_noise_is_matched_as_by_trying_all_orders(rng):
    for _ in range(20):
        X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 4)) * [1, 2, 3, 4]
        order, scales = best_permutation(X, Y)
        found = Permutation.fit(X, Y)
        assert found.order.tolist() == order.tolist()
        assert np.allclose(found.scales, scales, rtol=rtol("exact"))


def test_signs_alone_are_matched_as_by_trying_all(rng):
    X, Y = spread_rows(rng, n=40, d=3), spread_rows(rng, n=40, d=3)
    found = Permutation.fit(X, Y, scaled=False)
    assert set(np.abs(found.scales)) == {1.0}

    def error(order: tuple[int, ...], signs: tuple[int, ...]) -> float:
        matrix = np.eye(3)[:, order] * signs
        return residual(X, Y, matrix, Y.mean(0) - X.mean(0) @ matrix)

    best = min(
        error(order, signs)
        for order in itertools.permutations(range(3))
        for signs in itertools.product((-1, 1), repeat=3)
    )
    assert residual(X, Y, found.matrix, found.bias) == pytest.approx(best, rel=rtol("exact"))


def test_the_assignment_is_of_the_largest_gain_not_greedy():
    gain = np.array([[10.0, 9.0], [9.0, 1.0]])  # greedy takes 10 + 1
    assert best_assignment(gain).tolist() == [1, 0]


def test_without_a_shift_the_map_goes_through_zero(rng):
    X = spread_rows(rng)
    assert not Permutation.fit(X, X + 5, shifted=False).bias.any()
    assert np.allclose(Permutation.fit(X, X + 5).bias, 5, atol=1e-9)


def test_a_rotation_is_outside(rng):
    X = rng.standard_normal((2000, 4))
    Y = X @ rotation(rng, 4)
    assert Permutation.fit(X, Y).score(X, Y) < 0.9


def test_scales_of_the_rows_change_scales_of_the_map_and_nothing_else(rng):
    X, Y = spread_rows(rng), spread_rows(rng)
    units = np.geomspace(1e-6, 1e6, 4)
    one, other = Permutation.fit(X, Y), Permutation.fit(X * units, Y)
    assert one.order.tolist() == other.order.tolist()
    assert np.allclose(one.scales, other.scales * units[one.order], rtol=1e-8)
    assert one.score(X, Y) == pytest.approx(other.score(X * units, Y), abs=atol("exact"))


def test_constant_columns_take_what_the_others_left(rng):
    X = spread_rows(rng)
    X[:, 2] = 0.1
    Y = X[:, [3, 1, 0, 2]]
    Y[:, 3] = 5.0
    found = Permutation.fit(X, Y)
    assert sorted(found.order.tolist()) == [0, 1, 2, 3]
    assert found.order.tolist() == [3, 1, 0, 2]
    assert found.scales.tolist()[3] == 0
    assert np.allclose(found.transform(X), Y, atol=1e-9)
    with pytest.raises(NoInverseError, match=r"the scales of coordinates \[3\] are zero"):
        found.inverse_transform(Y)


def test_nothing_that_varies_in_either_still_makes_a_permutation():
    found = Permutation.fit(np.ones((9, 3)), np.full((9, 3), 4.0))
    assert found.order.tolist() == [0, 1, 2]
    assert np.allclose(found.transform(np.ones((2, 3))), 4.0)
