"""The lifted Gram matrix: translation is exact algebra, and a union is a sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import DegenerateError
from samespace.lifted import HEAD, NORM_X, NORM_Y, ONE, centre, refuse_overflow, translate
from tests.tolerances import atol, rtol


def lifted_gram(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    lift = np.column_stack([np.ones(len(X)), np.sum(X**2, 1), np.sum(Y**2, 1), X, Y])
    return lift.T @ lift


def close(a: np.ndarray, b: np.ndarray) -> bool:
    return np.allclose(a, b, rtol=rtol("exact"), atol=atol("exact") * np.abs(b).max())


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_translating_the_sums_is_translating_the_rows(d_x, d_y, n, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d_x)), rng.standard_normal((n, d_y))
    shift = 3 * rng.standard_normal(d_x + d_y)
    moved = translate(lifted_gram(X, Y), shift, d_x=d_x)
    assert close(moved, lifted_gram(X + shift[:d_x], Y + shift[d_x:]))


def test_translations_compose_and_undo_each_other(rng):
    gram = lifted_gram(rng.standard_normal((40, 3)), rng.standard_normal((40, 2)))
    a, b = rng.standard_normal((2, 5))
    twice = translate(translate(gram, a, d_x=3), b, d_x=3)
    assert close(twice, translate(gram, a + b, d_x=3))
    assert close(translate(twice, -a - b, d_x=3), gram)


def test_nothing_moves_by_a_shift_of_zero_nor_without_rows(rng):
    gram = lifted_gram(rng.standard_normal((40, 3)), rng.standard_normal((40, 2)))
    assert close(translate(gram, np.zeros(5), d_x=3), gram)
    assert not translate(np.zeros((8, 8)), np.ones(5), d_x=3).any()


def test_the_argument_is_left_alone(rng):
    gram = lifted_gram(rng.standard_normal((40, 3)), rng.standard_normal((40, 2)))
    before = gram.copy()
    translate(gram, np.ones(5), d_x=3)
    centre(gram, d_x=3)
    assert (gram == before).all()


def test_centring_finds_the_mean_and_leaves_no_sum(rng):
    X, Y = rng.standard_normal((40, 3)) + 2, rng.standard_normal((40, 2)) - 1
    centred, mean = centre(lifted_gram(X, Y), d_x=3)
    assert close(mean, np.concatenate([X.mean(0), Y.mean(0)]))
    assert close(centred, lifted_gram(X - X.mean(0), Y - Y.mean(0)))
    assert not centred[ONE, HEAD:].any()
    assert centred[ONE, ONE] == 40


def test_the_head_holds_the_norms(rng):
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    gram = lifted_gram(X, Y)
    assert close(gram[ONE, [NORM_X, NORM_Y]], np.array([np.sum(X**2), np.sum(Y**2)]))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e76])
def test_sums_outside_the_range_are_refused(value, rng):
    X = rng.standard_normal((20, 2))
    X[3, 1] = value
    with pytest.raises(DegenerateError, match=r"(?s)in float64.*Divide both representations"):
        refuse_overflow(lifted_gram(X, X), "float64")


def test_sums_inside_the_range_pass(rng):
    assert refuse_overflow(lifted_gram(*1e70 * rng.standard_normal((2, 20, 2))), "float64") is None
