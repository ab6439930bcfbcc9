"""The distance and its test, against every permutation and against draws of known distributions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samespace.theory.agreement import agreement, permutation_variance
from samespace.theory.agreement_sums import Strata, labelled_sums
from samespace.theory.nearby import nearby
from samespace.theory.occurrences import Occurrences
from tests.tolerances import atol

EXACT = atol("exact")


def counts(table, **options):
    """Occurrences of a table of counts, (symbols, contexts) or (symbols, contexts, labels)."""
    table = np.asarray(table)
    where = np.nonzero(table)
    columns = dict(zip(("symbol", "context", "label"), where, strict=False))
    weight = {options.get("weight", "count"): table[where]}
    return Occurrences.from_codes(list(range(len(table))), **columns, **weight)


def pair(data):
    return agreement(data, np.array([0]), np.array([1]))


def unbiased(x, y):
    n, m = x.sum(), y.sum()
    falling = [(z * (z - 1)).sum() for z in (x, y)]
    return falling[0] / (n * (n - 1)) + falling[1] / (m * (m - 1)) - 2 * (x * y).sum() / (n * m)


@pytest.mark.parametrize(
    ("pooled", "draws"),
    [([2, 1, 3], 3), ([1, 1, 1, 2], 2), ([4, 2, 1], 2), ([2, 2], 2), ([3, 3, 1, 1], 5)],
)
def test_mean_and_variance_are_those_of_all_permutations(pooled, draws):
    pooled = np.array(pooled)
    owners = np.repeat(np.arange(len(pooled)), pooled)
    values = []
    for mine in itertools.combinations(range(len(owners)), draws):
        x = np.bincount(owners[list(mine)], minlength=len(pooled))
        values.append(unbiased(x, pooled - x))
    t = pooled.astype(float)
    strata = Strata(
        pair=np.zeros(1, int),
        n=np.array([float(draws)]),
        m=np.array([t.sum() - draws]),
        self_x=np.zeros(1),
        self_y=np.zeros(1),
        cross=np.zeros(1),
        pooled_2=np.array([(t * (t - 1)).sum()]),
        pooled_3=np.array([(t * (t - 1) * (t - 2)).sum()]),
    )
    assert abs(np.mean(values)) < EXACT
    assert abs(permutation_variance(strata)[0] - np.var(values)) < EXACT


def test_nothing_to_permute_has_no_variance_and_no_verdict():
    found = pair(counts([[2, 0], [3, 0]]))
    assert found.p_equal[0] == 1.0
    assert abs(found.distance[0]) < EXACT


@pytest.mark.parametrize("p", [[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
@pytest.mark.parametrize("q", [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
def test_exact_distance_is_its_formula(p, q):
    p, q = np.array(p), np.array(q)
    found = pair(counts(np.stack([p, q]) / 2, weight="probability"))
    expected = ((p - q) ** 2).sum() / ((p**2).sum() + (q**2).sum())
    assert abs(found.distance[0] - expected) < EXACT
    assert found.error[0] == 0.0


def test_disjoint_symbols_are_at_distance_one():
    assert abs(pair(counts([[4, 3, 0], [0, 0, 5]])).distance[0] - 1.0) < EXACT


def test_one_stratum_and_many_are_the_same_sums():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 6, (2, 7))
    alone = pair(counts(table))
    # The contexts as the labels of a single context.
    labelled = pair(counts(table[:, None, :]))
    for name in ("distance", "p_equal"):
        assert abs(getattr(alone, name)[0] - getattr(labelled, name)[0]) < EXACT


def test_chunks_do_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(1)
    data = counts(rng.integers(0, 4, (12, 5, 3)))
    first, second = np.triu_indices(12, 1)
    whole = agreement(data, first, second)
    monkeypatch.setattr("samespace.theory.agreement._CHUNK", 50)
    parts = agreement(data, first, second)
    np.testing.assert_array_equal(whole.distance, parts.distance)
    np.testing.assert_array_equal(whole.p_equal, parts.p_equal)


def test_estimate_is_unbiased_and_its_error_is_right():
    rng = np.random.default_rng(2)
    p, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.2, 0.3, 0.3, 0.2])
    truth = ((p - q) ** 2).sum() / ((p**2).sum() + (q**2).sum())
    repeats = 400
    table = np.empty((2 * repeats, 4), dtype=int)
    table[0::2], table[1::2] = rng.multinomial(150, p, repeats), rng.multinomial(250, q, repeats)
    found = agreement(counts(table), np.arange(0, 800, 2), np.arange(1, 800, 2))
    spread = found.distance.std()
    bias = abs(found.distance.mean() - truth)
    assert bias < atol("statistical", standard_error=spread / np.sqrt(repeats)) + 0.005
    assert abs(found.error.mean() / spread - 1) < 0.15


def test_equal_symbols_are_called_different_as_often_as_promised():
    rng = np.random.default_rng(3)
    repeats = 2000
    table = rng.multinomial(60, rng.dirichlet(np.ones(30)), 2 * repeats)
    found = agreement(counts(table), np.arange(repeats), np.arange(repeats, 2 * repeats))
    rate = (found.p_equal <= 0.05).mean()
    assert abs(rate - 0.05) < atol("statistical", standard_error=np.sqrt(0.05 * 0.95 / repeats))


def test_labels_are_compared_within_shared_contexts_only():
    #        context 0 shared and equal, context 1 only of the first, context 2 only of the second
    table = np.zeros((2, 3, 2), dtype=int)
    table[:, 0] = [[6, 2], [3, 1]]
    table[0, 1], table[1, 2] = [9, 0], [0, 9]
    found = pair(counts(table))
    assert found.shared[0] == 1
    assert found.distance[0] < 0.2
    assert np.isinf(found.error[0])  # one stratum has no spread


def test_a_function_is_refuted_by_one_disagreement():
    table = np.zeros((3, 4, 2), dtype=int)
    table[0, :, 0] = table[1, :, 0] = 1
    table[2, :, 0], table[2, 3] = 1, [0, 1]
    data = counts(table)
    assert data.deterministic
    found = agreement(data, np.array([0, 0]), np.array([1, 2]))
    assert found.p_equal.tolist() == [1.0, 0.0]
    assert np.allclose(found.distance, [0.0, 0.25])


def test_noisy_labels_need_two_draws_of_both():
    table = np.zeros((2, 2, 2), dtype=int)
    table[:, 0] = [[1, 1], [1, 0]]  # the second symbol once
    table[:, 1] = [[1, 1], [2, 0]]
    sums = labelled_sums(counts(table), np.array([0]), np.array([1]))
    assert (sums.n, sums.m) == (2.0, 2.0)


def test_symbols_that_share_no_context_have_no_distance():
    table = np.zeros((2, 2, 1), dtype=int)
    table[0, 0], table[1, 1] = 5, 5
    found = pair(counts(table))
    assert found.shared[0] == 0
    assert np.isnan(found.distance[0])


@pytest.mark.parametrize("shape", [(20, 9), (20, 6, 3)])
@pytest.mark.parametrize("block", [4, 512])
def test_nearby_finds_the_pairs_that_one_by_one_are_near(shape, block):
    rng = np.random.default_rng(4)
    data = counts(rng.integers(0, 4, shape))
    first, second = np.triu_indices(20, 1)
    every = agreement(data, first, second)
    near = np.flatnonzero(every.distance <= 0.3)
    i, j, judged = nearby(data, reach=0.3, block=block)
    order = np.lexsort([j, i])
    assert (i[order].tolist(), j[order].tolist()) == (first[near].tolist(), second[near].tolist())
    assert judged == (every.shared > 0).sum()


def test_too_many_pairs_are_refused_early():
    data = counts(np.full((10, 3), 5))
    with pytest.raises(ValueError, match="most symbols are alike"):
        nearby(data, reach=0.3, most=20)
