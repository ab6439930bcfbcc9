from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import DegenerateError, OptionError
from samespace.measures import neighbour_overlap, rows
from samespace.moments import Moments
from tests.measures.pairs import related, rotation, shear
from tests.oracles import proximity
from tests.tolerances import atol


@pytest.mark.parametrize("k", [1, 3, 10])
def test_equals_a_full_sort(k, rng):
    X, Y = related(rng, n=40)
    found = neighbour_overlap(X, Y, k=k)
    assert found.overlap == pytest.approx(proximity.cosine_overlap(X, Y, k))
    assert found.chance == k / 39


@pytest.mark.parametrize("k", [1, 2, 4])
def test_ties_share_the_last_places(k, rng):
    # Small integers: many exact ties and duplicated rows, and distances without rounding.
    X, Y = rng.integers(0, 3, (2, 20, 2)).astype(float)
    found = neighbour_overlap(X, Y, k=k, distance="euclidean")
    assert found.overlap == pytest.approx(proximity.neighbour_overlap(X, Y, k))


def test_equal_representations_overlap_entirely_ties_or_not(rng):
    X = rng.integers(0, 3, (60, 2)).astype(float)
    assert neighbour_overlap(X, X @ rotation(rng, 2), k=5, distance="euclidean").overlap == 1.0


def test_the_order_of_the_rows_does_not_matter(rng):
    X, Y = rng.integers(0, 3, (2, 50, 2)).astype(float)
    order = rng.permutation(50)
    found = neighbour_overlap(X, Y, k=4, distance="euclidean")
    moved = neighbour_overlap(X[order], Y[order], k=4, distance="euclidean")
    assert moved.overlap == pytest.approx(found.overlap)
    np.testing.assert_allclose(moved.per_row, found.per_row[order])


def test_neighbours_by_row_index_would_be_noticed(rng):
    # Rows in a chain: index neighbours are the true ones in X and not in Y, which is X shuffled.
    X = np.arange(100.0)[:, None] + 500
    assert neighbour_overlap(X, X, k=2, distance="euclidean").overlap == 1.0
    shuffled = neighbour_overlap(X, rng.permutation(X), k=2, distance="euclidean")
    assert shuffled.overlap < 0.15


def test_a_row_is_not_its_own_neighbour_but_its_duplicate_may_be(rng):
    X = np.repeat(rng.standard_normal((15, 3)), 2, axis=0)
    Y = np.repeat(rng.standard_normal((15, 3)), 2, axis=0)
    # The duplicate is the nearest in both; were the row itself counted, k = 2 would overlap entirely.
    assert neighbour_overlap(X, Y, k=1).overlap == 1.0
    assert neighbour_overlap(X, Y, k=2).overlap < 0.7


def test_does_not_see_rotations_and_scales(rng):
    X, _ = related(rng)
    assert neighbour_overlap(X, 3 * X @ rotation(rng, 4)).overlap == pytest.approx(1.0)
    moved = 3 * X @ rotation(rng, 4) + 100
    assert neighbour_overlap(X, moved, distance="euclidean").overlap == pytest.approx(1.0)


def test_cosine_sees_a_shift_and_not_the_length_of_a_row(rng):
    X = rng.standard_normal((100, 3))
    assert neighbour_overlap(X, X + 3).overlap < 0.9
    assert neighbour_overlap(X, X * rng.uniform(1, 5, (100, 1))).overlap == pytest.approx(1.0)


def test_sees_a_shear(rng):
    X = rng.standard_normal((200, 6))
    assert neighbour_overlap(X, X @ shear(rng, 6), distance="euclidean").overlap < 0.8


def test_unrelated_representations_are_at_chance(rng):
    found = neighbour_overlap(*rng.standard_normal((2, 400, 8)), k=20)
    # A row's overlap is hypergeometric: variance about chance / k, and rows are nearly independent.
    error = (found.chance / 20 / 400) ** 0.5
    assert abs(found.overlap - found.chance) < atol("statistical", standard_error=error)
    assert abs(found.above_chance) < 0.02


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_blocks_do_not_matter(distance, rng, monkeypatch):
    X, Y = related(rng, n=101)
    whole = neighbour_overlap(X, Y, distance=distance)
    monkeypatch.setattr(rows, "_BLOCK_VALUES", 7 * 101)
    blocked = neighbour_overlap(X, Y, distance=distance)
    np.testing.assert_allclose(blocked.per_row, whole.per_row)


def test_one_far_outlier_does_not_tie_the_others(rng):
    X = rng.standard_normal((60, 3)).astype(np.float32)
    Y = X.copy()
    Y[0] = 1e3
    found = neighbour_overlap(X, Y, k=3, distance="euclidean")
    assert np.median(found.per_row) == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_huge_and_tiny_scale(scale, rng):
    X, Y = related(rng)
    expected = neighbour_overlap(X, Y).overlap
    assert neighbour_overlap(X * scale, Y / scale).overlap == pytest.approx(expected)


def test_float16_is_compared_in_single_precision(rng):
    X, Y = (Z.astype(np.float16) for Z in related(rng))
    expected = neighbour_overlap(X.astype(np.float64), Y.astype(np.float64)).overlap
    assert neighbour_overlap(X, Y).overlap == pytest.approx(expected, abs=0.01)


def test_whole_numbers_are_compared_in_double_precision(rng):
    X = rng.integers(-(2**30), 2**30, (50, 3))
    expected = neighbour_overlap(X.astype(float), X.astype(float)[:, :2]).overlap
    assert neighbour_overlap(X, X[:, :2]).overlap == expected


def test_of_moments_the_kept_rows_are_compared(rng):
    X, Y = related(rng)
    assert neighbour_overlap(Moments.of(X, Y, keep=50)).n == 50


def test_a_zero_row_has_no_direction(rng):
    X, Y = related(rng)
    Y[3] = 0
    with pytest.raises(DegenerateError, match="1 of the 200 rows of Y are zero vectors"):
        neighbour_overlap(X, Y)
    assert 0 < neighbour_overlap(X, Y, distance="euclidean").overlap < 1


@pytest.mark.parametrize("k", [0, 199])
def test_a_k_that_cannot_be_meant_is_refused(k, rng):
    with pytest.raises(OptionError, match="of 200 rows; write a k from 1 to 198"):
        neighbour_overlap(*related(rng), k=k)


def test_an_unknown_distance_is_refused(rng):
    with pytest.raises(OptionError, match="write 'cosine' or 'euclidean'"):
        neighbour_overlap(*related(rng), distance="manhattan")
