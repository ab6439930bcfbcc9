"""Alignment of worlds whose answer is known, exact and drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samespace.errors import OptionError, TooFewRowsError
from samespace.theory.alignment import alignment
from samespace.theory.occurrences import Occurrences
from samespace.worlds.modular import CModAdd, ModAdd
from tests.tolerances import atol


def exact(world):
    return Occurrences.of(**world.triplets().columns())


def drawn(world, draws, seed=0):
    data = world.triplets()
    rows = np.random.default_rng(seed).choice(len(data.symbol), draws, p=data.probability)
    columns = {k: v[rows] for k, v in data.columns().items() if k != "probability"}
    return Occurrences.of(**columns)


def test_cmodadd_and_modadd_are_aligned():
    found = alignment(exact(CModAdd()), exact(ModAdd()))
    assert (found.verdict, found.score, found.kept, found.jaccard) == ("aligned", 1.0, 8, 1.0)
    assert found.interval is None
    assert not found.broken


def test_preferred_contexts_break_every_symbol():
    found = alignment(exact(CModAdd(concentration=0.9)), exact(ModAdd()))
    assert (found.verdict, found.missed, found.confused) == ("not aligned", 8, 0)
    assert found.score < 0.02
    assert {one.symbol for one in found.broken} == set(range(16))
    worst = found.broken[0]
    assert (worst.example - worst.symbol) % 8 == 0
    assert worst.distance > 0.98


def test_score_falls_with_the_degree_of_misalignment():
    task = exact(ModAdd())
    even = 1 / 32
    scores = [alignment(exact(CModAdd(concentration=c)), task).score for c in (even, 0.1, 0.3, 0.9)]
    assert scores[0] == pytest.approx(1.0)
    assert len(set(scores)) == 4
    assert scores == sorted(scores, reverse=True)


def test_a_coarser_contrastive_world_confuses():
    found = alignment(exact(CModAdd(modulus=4)), exact(ModAdd(modulus=8)))
    assert (found.verdict, found.missed, found.confused, found.kept) == ("not aligned", 0, 16, 8)
    assert found.broken[0].confused == 2
    assert found.jaccard == pytest.approx(1 / 3)


def test_samples_decide_like_the_distributions_once_they_are_large():
    task = drawn(ModAdd(), 20_000)
    aligned = alignment(drawn(CModAdd(), 20_000), task)
    broken = alignment(drawn(CModAdd(concentration=0.9), 20_000), task)
    assert (aligned.verdict, broken.verdict) == ("aligned", "not aligned")
    assert aligned.interval[0] <= aligned.score <= aligned.interval[1]
    few = alignment(drawn(CModAdd(), 300), drawn(ModAdd(), 300))
    assert few.verdict == "undecided"


def test_symbols_of_one_side_are_left_out_and_named():
    task = exact(ModAdd())
    found = alignment(exact(CModAdd()).select(range(12)), task)
    assert found.only_downstream == (12, 13, 14, 15)
    assert found.kept == 4


def test_everything_but_the_pairs_goes_through_json():
    found = alignment(exact(CModAdd(concentration=0.9)), exact(ModAdd()))
    read = json.loads(json.dumps(found.to_dict()))
    assert read["missed"] == 8
    assert read["broken"][0].keys() >= {"symbol", "missed", "confused", "example"}
    assert len(read["classes"]["downstream"]) == 8
    assert repr(found).startswith("Alignment(not aligned, score 0.00")


def test_different_screens_of_the_two_sides_are_joined(monkeypatch):
    whole = alignment(exact(CModAdd(concentration=0.9)), exact(ModAdd()))
    monkeypatch.setattr("samespace.theory.equivalence._ALL_CELLS", 0)
    screened = alignment(exact(CModAdd(concentration=0.9)), exact(ModAdd()))
    assert screened.score == pytest.approx(whole.score)
    assert screened.missed == 8


def test_what_cannot_be_meant_is_refused():
    seen, task = exact(CModAdd()), exact(ModAdd())
    with pytest.raises(OptionError, match="swap the two"):
        alignment(task, seen)
    other = Occurrences.of(["x", "y"], ["p", "p"], ["0", "1"])
    with pytest.raises(TooFewRowsError, match="they share 0 of 16 and 2"):
        alignment(seen, other)


def test_aligned_data_are_seldom_called_not_aligned():
    verdicts = [
        alignment(drawn(CModAdd(), 4000, seed=s), drawn(ModAdd(), 4000, seed=100 + s)).verdict
        for s in range(60)
    ]
    share = verdicts.count("not aligned") / 60
    assert share < 0.05 + atol("statistical", standard_error=np.sqrt(0.05 * 0.95 / 60))
