"""Relations and classes on distributions whose equivalences are known, exact and drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.cluster import hierarchy

from samespace.errors import NotFiniteError, OptionError, ShapeError, TooFewRowsError
from samespace.theory.equivalence import (
    DIFFERENT,
    EQUIVALENT,
    UNDECIDED,
    complete_linkage,
    equivalence,
)
from samespace.theory.false_discovery import benjamini_hochberg
from samespace.theory.occurrences import Occurrences

P = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4]])


def drawn(table, draws, seed=0):
    rng = np.random.default_rng(seed)
    found = np.stack([rng.multinomial(draws, row) for row in table])
    where = np.nonzero(found)
    return Occurrences.from_codes(list("abc")[: len(table)], *where, count=found[where])


def exact(table):
    where = np.nonzero(table)
    return Occurrences.from_codes(
        list(range(len(table))), *where, probability=table[where] / len(table)
    )


def relation(found, u, v):
    at = (found.pairs.first == u) & (found.pairs.second == v)
    return int(found.relation[at][0])


def test_exact_equivalence_is_equality_and_a_thousandth_breaks_it():
    found = equivalence(exact(P))
    assert [relation(found, 0, 1), relation(found, 0, 2)] == [EQUIVALENT, DIFFERENT]
    moved = P.copy()
    moved[1, :2] += [0.001, -0.001]
    assert relation(equivalence(exact(moved)), 0, 1) == DIFFERENT


def test_a_large_sample_decides_both_ways_and_a_small_one_neither():
    large, small = equivalence(drawn(P, 3000)), equivalence(drawn(P, 6))
    assert [relation(large, 0, 1), relation(large, 0, 2)] == [EQUIVALENT, DIFFERENT]
    assert relation(small, 0, 1) == UNDECIDED
    assert [one.symbols for one in large.classes] == [("a", "b")]
    assert large.classes[0].established


def test_real_differences_below_the_margin_count_as_equivalent():
    close = P.copy()
    close[1, :2] += [0.03, -0.03]
    data = drawn(close, 50_000)
    found = equivalence(data)
    assert found.pairs.p_equal[0] < 1e-3
    assert relation(found, 0, 1) == EQUIVALENT
    assert relation(equivalence(data, margin=0.001), 0, 1) == DIFFERENT


def test_interval_covers_and_is_a_point_for_exact_data():
    low, high = equivalence(exact(P)).interval()
    np.testing.assert_array_equal(low, high)
    truth = equivalence(exact(P)).pairs.distance
    covered = [
        (lambda ends: (ends[0] <= truth) & (truth <= ends[1]))(
            equivalence(drawn(P, 400, seed=s)).interval()
        )
        for s in range(200)
    ]
    assert (np.mean(covered, axis=0) > 0.9).all()


def test_no_draw_left_to_see_leaves_no_doubt():
    labels = np.arange(8) % 2
    columns = {
        "symbol": np.repeat([0, 1], 8),
        "context": np.tile(np.arange(8), 2),
        "label": np.tile(labels, 2),
    }
    all_seen = equivalence(Occurrences.of(**columns))
    assert all_seen.relation.tolist() == [EQUIVALENT]
    assert all_seen.interval()[1][0] == 0.0
    # Three of eight contexts shared: the others may hide any difference.
    keep = (columns["symbol"] == 0) | (columns["context"] < 3)
    some = equivalence(Occurrences.of(**{k: v[keep] for k, v in columns.items()}))
    assert some.relation.tolist() == [UNDECIDED]
    assert some.interval()[1][0] > 0.3


def test_complete_linkage_is_scipys():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    i, j = np.triu_indices(40, 1)
    order = [k for k in np.argsort(distance[i, j]) if distance[i[k], j[k]] <= 0.8]
    groups = complete_linkage([(int(i[k]), int(j[k])) for k in order])
    tree = hierarchy.linkage(distance[i, j], "complete")
    labels = hierarchy.fcluster(tree, 0.8, "distance")
    expected = {
        tuple(np.flatnonzero(labels == name)) for name in set(labels) if (labels == name).sum() > 1
    }
    assert {tuple(group) for group in groups} == expected


def test_a_class_holds_no_pair_that_is_not_linked():
    chain = np.array([[0.5, 0.5, 0.0], [0.5, 0.4, 0.1], [0.5, 0.3, 0.2]])
    found = equivalence(drawn(chain, 100_000), margin=0.04)
    assert relation(found, 0, 2) == DIFFERENT
    assert all(set(one.symbols) != {"a", "b", "c"} for one in found.classes)


def test_false_discoveries_are_scipys():
    p = np.random.default_rng(0).uniform(size=200) ** 3
    expected = stats.false_discovery_control(p) <= 0.1
    np.testing.assert_array_equal(benjamini_hochberg(p, level=0.1), expected)
    padded = stats.false_discovery_control(np.concatenate([p, np.ones(300)])) <= 0.1
    np.testing.assert_array_equal(benjamini_hochberg(p, level=0.1, tests=500), padded[:200])


def test_large_vocabularies_are_screened_and_say_so(monkeypatch):
    data = drawn(P, 3000)
    monkeypatch.setattr("samespace.theory.equivalence._ALL_CELLS", 0)
    found = equivalence(data)
    assert len(found.pairs.first) == 1
    assert found.comparable == 3
    assert found.reach == 0.3
    assert relation(found, 0, 1) == EQUIVALENT


def test_selected_symbols_keep_their_counts():
    data = drawn(P, 100)
    chosen = data.select(["c", "a"])
    assert chosen.symbols == ("c", "a")
    assert chosen.totals.tolist() == [100, 100]
    assert "2 symbols" in repr(chosen)


def test_what_cannot_be_meant_is_refused():
    data = drawn(P, 10)
    with pytest.raises(OptionError, match="margin is a distance above 0"):
        equivalence(data, margin=0.5)
    with pytest.raises(OptionError, match="false discovery rate between 0 and 1"):
        equivalence(data, level=1.0)
    with pytest.raises(OptionError, match="coverage of an interval"):
        equivalence(data).interval(level=2.0)
    with pytest.raises(TooFewRowsError, match="at least 2 symbols"):
        equivalence(data.select(["a"]))
    with pytest.raises(OptionError, match="do not occur"):
        data.select(["z"])
    with pytest.raises(OptionError, match="got both"):
        Occurrences.of(["a", "b"], ["x", "y"], count=[1, 1], probability=[0.5, 0.5])
    with pytest.raises(OptionError, match="whole numbers"):
        Occurrences.of(["a"], ["x"], count=[0.5])
    with pytest.raises(OptionError, match="not negative"):
        Occurrences.of(["a"], ["x"], count=[-1])
    with pytest.raises(NotFiniteError, match="NaN or infinity"):
        Occurrences.of(["a"], ["x"], count=[np.nan])
    with pytest.raises(ShapeError, match="symbol is a column"):
        Occurrences.of("ab", ["x", "y"])
    with pytest.raises(ShapeError, match="columns of one length"):
        Occurrences.of(["a", "b"], ["x"])
    with pytest.raises(OptionError, match="at least the 3 given"):
        benjamini_hochberg(np.ones(3), tests=2)
