"""The sample: the same rows whatever the batches, their order and their merging."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import ShapeError
from samespace.hashing import priority_of
from samespace.reservoir import Reservoir, Sampling
from tests.tolerances import STANDARD_ERRORS


def sample(keys: np.ndarray, keep: int) -> Reservoir:
    """Each row carries its key, so that rows torn from their keys would show."""
    x = keys.astype(np.float64)[:, None]
    return Reservoir.empty(1, 2, keep=keep) + Reservoir(keep, keys, x, np.hstack([-x, 2 * x]))


@given(
    st.sets(st.integers(0, 2**40), min_size=1, max_size=60),
    st.integers(0, 20),
    st.lists(st.integers(0, 60), max_size=4),
    st.randoms(use_true_random=False),
)
def test_any_partition_in_any_order_keeps_the_same_rows(keys, keep, cuts, random):
    shuffled = sorted(keys)
    whole = sample(np.array(shuffled, np.uint64), keep)
    random.shuffle(shuffled)
    parts = [sample(part, keep) for part in np.split(np.array(shuffled, np.uint64), sorted(cuts))]
    merged = parts[0]
    for part in parts[1:]:
        merged = part + merged
    for name in ("keys", "x", "y"):
        assert np.array_equal(getattr(merged, name), getattr(whole, name))
    assert (merged.x[:, 0] == merged.keys.astype(np.float64)).all()


def test_the_rows_kept_are_those_of_the_smallest_hashes():
    keys = np.arange(100, dtype=np.uint64)
    smallest = sorted(keys.tolist(), key=lambda k: int(priority_of(np.array([k], np.uint64))[0]))
    assert sample(keys, 7).keys.tolist() == smallest[:7]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(0, 30))
def test_a_sample_under_way_ends_with_the_same_rows_whatever_the_batches(sizes, keep):
    keys = np.arange(sum(sizes), dtype=np.uint64)
    x, y = keys.astype(np.float64)[:, None], np.stack([-keys.astype(float), keys], axis=1)
    sampling = Sampling(Reservoir.empty(1, 2, keep=keep))
    for part in np.split(np.arange(len(keys)), np.cumsum(sizes)[:-1]):
        sampling.offer(x[part], y[part], keys[part])
    whole = Reservoir.empty(1, 2, keep=keep) + Reservoir(keep, keys, x, y)
    for name in ("keys", "x", "y"):
        assert np.array_equal(getattr(sampling.settled(), name), getattr(whole, name))


class Counted:
    """Rows that count how often they were fetched to the host, as from a device."""

    fetched = 0

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows

    def __getitem__(self, index: np.ndarray) -> Counted:
        return Counted(self.rows[index])

    def get(self) -> np.ndarray:
        Counted.fetched += 1
        return self.rows


def test_rows_wait_where_they_lie_until_they_are_many_or_asked_for(monkeypatch):
    monkeypatch.setattr(Counted, "fetched", 0)
    sampling = Sampling(Reservoir.empty(1, 1, keep=100))
    x = np.arange(1000.0)[:, None]
    for start in range(0, 200, 100):
        rows = slice(start, start + 100)
        sampling.offer(
            Counted(x[rows]), Counted(x[rows]), np.arange(start, start + 100, dtype=np.uint64)
        )
    assert Counted.fetched == 0
    assert len(sampling.settled()) == 100
    assert Counted.fetched == 2 * 2
    sampling.settled()
    assert Counted.fetched == 2 * 2


def test_rows_that_wait_are_bounded():
    sampling = Sampling(Reservoir.empty(1, 1, keep=10))
    for start in range(0, 100_000, 10):
        keys = np.arange(start, start + 10, dtype=np.uint64)
        sampling.offer(keys[:, None].astype(float), keys[:, None].astype(float), keys)
        assert sum(len(waiting) for waiting, _, _ in sampling._waiting) <= 2 * 10


def test_the_sample_is_uniform_over_sorted_keys():
    kept = np.sort(sample(np.arange(20_000, dtype=np.uint64), 2000).keys).astype(float) / 20_000
    assert abs(kept.mean() - 0.5) < STANDARD_ERRORS / np.sqrt(12 * 2000)


def test_samples_of_other_sizes_do_not_merge():
    with pytest.raises(ShapeError, match=r"samples of 3 and of 4 rows .* same `keep`"):
        Reservoir.empty(1, 1, keep=3) + Reservoir.empty(1, 1, keep=4)


def test_a_sample_of_nothing_stays_empty():
    assert len(sample(np.arange(5, dtype=np.uint64), 0)) == 0
    assert len(Reservoir.empty(2, 3, keep=5)) == 0
