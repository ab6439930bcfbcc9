"""The figures of semantic learners: they run, resume, and are judged by rules that made-up curves pass."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samespace.reproduce import available, find, make
from samespace.reproduce.record import Record
from samespace.reproduce.semantic_learners import summarise, verdicts

FIGURES = ("fig2a", "fig2b", "fig4", "fig5", "fig6", "fig7", "fig8", "misalignment")


def test_every_figure_of_the_issue_is_registered_at_three_scales():
    found = {one.figure: one for one in available() if one.paper == "semantic-learners"}
    assert set(found) == set(FIGURES)
    assert all(set(one.scales) == {"smoke", "small", "paper"} for one in found.values())
    paper = find("semantic-learners", "fig2b").settings("paper")
    assert (paper["epochs"], paper["seeds"], paper["learning_rate"]) == (10_000, 5, 1e-4)


@pytest.mark.parametrize(
    ("figure", "changed"),
    [
        ("fig4", {"width": 128}),
        ("fig5", {"weight_decay": 0.0}),
        ("fig6", {"weight_decay": 0.0, "symbol_sd": 0.02}),
        ("fig7", {"symbol_sd": 0.02}),
        ("fig8", {"concentration": 0.9}),
    ],
)
def test_each_variant_changes_what_the_paper_changes(figure, changed):
    base = find("semantic-learners", "fig2b").settings("paper")
    settings = find("semantic-learners", figure).settings("paper")
    differs = {k: v for k, v in settings.items() if base[k] != v and k != "encoder_width"}
    assert differs == changed


def test_a_smoke_run_records_judges_draws_and_is_not_made_twice(tmp_path):
    reproduction = find("semantic-learners", "fig8")
    first = make(reproduction, scale="smoke", folder=tmp_path)
    results = tmp_path / "semantic_learners" / "results"
    records = sorted((results / "fig8" / "smoke").glob("*.json"))
    assert [path.stem for path in records] == ["aligned-control", "population"]
    written = [path.stat().st_mtime_ns for path in records]
    again = make(reproduction, scale="smoke", folder=tmp_path)
    assert [path.stat().st_mtime_ns for path in records] == written
    assert again["values"] == first["values"]
    assert set(first["values"]["claims"]) == {
        "equivalent symbols come close",
        "but later",
        "pre-training helps",
        "but less",
    }
    drawing = (results / "fig8-smoke.svg").read_text()
    assert "validation accuracy" in drawing or "<svg" in drawing
    json.dumps(first, allow_nan=False)


def record(figure="fig2b", *, ratio=0.1, advantage=0.3, seeds=5):
    """A record with made-up curves: distances that shrink to `ratio`, accuracies `advantage` apart."""
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(16, 1)
    step = np.minimum((i - j) % 8, (j - i) % 8)
    final = np.where(step == 0, ratio, 1.0) + 0.01 * rng.normal(size=(seeds, 120))
    wiggle = (0.01 * rng.normal(size=seeds)).tolist()
    curve = {part: [[1.0] * seeds, [ratio] * seeds] for part in ("mean", "low", "high")}
    values = {
        "epochs": [0, 10],
        "within": curve,
        "between": {part: [[1.0] * seeds] * 2 for part in curve},
        "loss": [[1.0] * seeds],
        "ratio": [ratio + w for w in wiggle],
        "ratio_before": [1.0] * seeds,
        "epochs_to_half": [10 if ratio < 0.5 else None] * seeds,
        "final_distances": final.tolist(),
        "accuracy": {"pretrained": [[0.0] * seeds] * 2, "random": [[0.0] * seeds] * 2},
        "epochs_to_95": {"pretrained": [10] * seeds, "random": [None] * seeds},
        "advantage": [advantage + w for w in wiggle],
    }
    settings = {**find("semantic-learners", figure).settings("smoke"), "seeds": seeds}
    return Record(
        paper="semantic-learners",
        figure=figure,
        scale="smoke",
        piece="population",
        settings=settings,
        values=values,
        seconds=1.0,
        device="cpu",
        machine={},
        versions={},
        commit=None,
    )


def claims(*records):
    return {k: v["holds"] for k, v in summarise(records, {})["claims"].items()}


def test_claims_hold_and_fail_as_their_numbers_say():
    assert claims(record()) == {"equivalent symbols come close": True, "pre-training helps": True}
    assert claims(record(ratio=0.9, advantage=-0.2)) == {
        "equivalent symbols come close": False,
        "pre-training helps": False,
    }
    assert claims(record(ratio=0.5, advantage=0.0)) == {
        "equivalent symbols come close": None,
        "pre-training helps": None,
    }
    assert set(claims(record(seeds=1)).values()) == {None}


def test_the_failure_case_holds_when_nothing_comes_close():
    assert claims(record("fig5", ratio=0.9, advantage=0.02)) == {
        "equivalent symbols do not come close": True,
        "pre-training helps only slightly": True,
    }
    assert claims(record("fig4", ratio=0.1, advantage=0.0))["both classify equally well"]


def test_others_that_shrink_alike_refute_that_they_do_not():
    shrunk = record("fig2a", ratio=0.1)
    shrunk.values["between"]["mean"][1] = [0.1] * 5
    assert claims(record("fig2a"))["others do not"] is True
    assert claims(shrunk)["others do not"] is False


def test_misaligned_is_compared_with_its_aligned_control():
    control = Record(
        **{**vars(record("fig8", ratio=0.1, advantage=0.4)), "piece": "aligned-control"}
    )
    mine = record("fig8", ratio=0.9, advantage=0.1)
    found = claims(mine, control)
    assert (found["but later"], found["but less"]) == (True, True)
    alone = claims(mine)
    assert (alone["but later"], alone["but less"]) == (None, None)


def test_bands_of_distances_between_classes_are_counted():
    three = record("fig7")
    i, j = np.triu_indices(16, 1)
    step = np.minimum((i - j) % 8, (j - i) % 8)
    rng = np.random.default_rng(1)
    banded = np.choose(step, [0.1, 1.0, 2.0, 1.0, 3.0]) + 0.02 * rng.normal(size=(5, 120))
    three.values["final_distances"] = banded.tolist()
    summary = summarise([three], {})
    assert summary["bands"]["count"] == [3] * 5
    assert summary["bands"]["explained_by_place_on_circle"].mean > 0.99
    assert summary["claims"]["distances between classes fall into three bands"]["holds"]
    three.values["final_distances"] = np.zeros((5, 120)).tolist()
    assert summarise([three], {})["bands"]["explained_by_place_on_circle"] is None


def test_first_times_and_intervals():
    epochs = np.array([0, 10, 20])
    reached = np.array([[False, False], [True, False], [False, False]])
    assert verdicts.first_time(epochs, reached) == [10, None]
    low, high = verdicts.interval([1.0, 2.0, 3.0])
    assert low == pytest.approx(2 - 4.3027 / np.sqrt(3), abs=1e-3)
    assert low + high == pytest.approx(4.0)
