"""Counting bands, against groupings found by trying all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samespace.errors import DegenerateError, OptionError, TooFewRowsError
from samespace.theory.bands import _best_groupings, bands, share_explained
from tests.tolerances import atol


def test_groupings_are_the_best_of_all():
    line = np.sort(np.random.default_rng(0).uniform(size=9))
    best, cuts = _best_groupings(line, 4)
    for groups in range(1, 5):
        costs = {
            where: sum(((part - part.mean()) ** 2).sum() for part in np.split(line, where))
            for where in itertools.combinations(range(1, 9), groups - 1)
        }
        assert abs(best[groups - 1] - min(costs.values())) < atol("exact")
        assert tuple(cuts[groups - 1]) == min(costs, key=costs.get)


@pytest.mark.parametrize("centres", [[0.0], [0, 3], [0, 3, 7], [0, 3, 7, 11]])
def test_separated_bands_are_counted_at_any_scale(centres):
    rng = np.random.default_rng(1)
    values = np.concatenate([c + rng.uniform(-0.4, 0.4, 30) for c in centres])
    found = bands(1e-3 * values + 5, rng=np.random.default_rng(2))
    assert found.count == len(centres)
    assert len(found.edges) == len(centres)


def test_equal_seeds_agree_and_different_ones_differ():
    values = np.random.default_rng(0).normal(size=50)
    one, same, other = (bands(values, rng=np.random.default_rng(s)).gap for s in (1, 1, 2))
    assert one == same
    assert one != other


def test_share_explained_is_between_over_total():
    rng = np.random.default_rng(0)
    group = np.repeat([7, 3, 5], 20)
    values = rng.normal(size=60) + group
    total = values.var()
    within = np.mean([values[group == g].var() for g in (3, 5, 7)])
    assert abs(share_explained(values, group) - (1 - within / total)) < atol("exact")
    assert abs(share_explained(-3 * values + 2, group) - share_explained(values, group)) < atol(
        "exact"
    )


def test_what_cannot_be_meant_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(TooFewRowsError, match="lower `most`"):
        bands(np.arange(5.0), rng=rng)
    with pytest.raises(DegenerateError, match="numbers that differ"):
        bands(np.ones(50), rng=rng)
    with pytest.raises(OptionError, match="at least 1 band"):
        bands(np.arange(50.0), most=0, rng=rng)
    with pytest.raises(DegenerateError, match="no variance to explain"):
        share_explained(np.ones(3), np.arange(3))
