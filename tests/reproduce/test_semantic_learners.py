"""The figures of semantic learners: they run, resume, and are judged by rules that made-up curves pass."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from samespace.reproduce import available, find, find_all, make, make_all
from samespace.reproduce.record import Record
from samespace.reproduce.semantic_learners import causes, choices, curves, verdicts
from samespace.reproduce.semantic_learners.figures import summarise

FIGURES = ("fig2a", "fig2b", "fig4", "fig5", "fig6", "fig7", "fig8")
STUDIES = ("misalignment", "choices", "causes")


def test_every_figure_of_the_issue_is_registered_at_three_scales():
    found = {one.figure: one for one in available() if one.paper == "semantic-learners"}
    assert set(found) == {*FIGURES, *STUDIES, "fig9"}
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
    besides = ("encoder_width", "watch")  # follow from the width
    differs = {k: v for k, v in settings.items() if base[k] != v and k not in besides}
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


def test_figures_and_studies_together_give_what_each_alone_gives(tmp_path):
    """The population of Figure 2 is also the aligned control and a point of both other studies."""
    names = ("fig2a", "choices", "causes", "misalignment")
    summaries = make_all(
        find_all("semantic-learners", names), scale="smoke", folder=tmp_path / "together"
    )
    assert [one["figure"] for one in summaries] == list(names)
    by_name = dict(zip(names, summaries, strict=True))
    alone = make(find("semantic-learners", "fig2a"), scale="smoke", folder=tmp_path / "alone")
    assert by_name["fig2a"]["values"]["ratio"]["seeds"] == pytest.approx(
        alone["values"]["ratio"]["seeds"], abs=1e-4
    )
    results = tmp_path / "together" / "semantic_learners" / "results"
    same = [
        json.loads((results / path).read_text())["values"]["final_distances"]
        for path in (
            "fig2a/smoke/population.json",
            "choices/smoke/fig2-as-chosen.json",
            "misalignment/smoke/aligned.json",
        )
    ]
    assert same[0] == same[1] == same[2]
    grid = by_name["causes"]["values"]["rows"]
    assert [(row["weight_decay"], row["symbol_sd"]) for row in grid] == [(0, 0.02), (0, 1)]
    claims = by_name["choices"]["values"]["claims"]
    assert set(claims) == {"fig2", "fig5", "fig6", "fig7"}
    assert set(claims["fig2"]["pre-training helps"]["holds"]) == {"as-chosen", "one-head"}
    for name in names:
        assert "<svg" in (results / f"{name}-smoke.svg").read_text()


def record(
    figure="fig2b", *, ratio=0.1, advantage=0.3, seeds=5, kept=0.0, piece="population", **varied
):
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
        "free_direction": {
            "along": [[0.5] * seeds, [kept * 0.5] * seeds],
            "logit_ratio_before": [1.0] * seeds,
            "logit_ratio": [ratio + w for w in wiggle],
            "eigenvalues": [[0.01 + w**2, 0.5, 0.49] for w in wiggle],
            "kept_of_first": {"along": [kept + w for w in wiggle], "across": wiggle},
        },
        "advantage": [advantage + w for w in wiggle],
    }
    settings = {**find("semantic-learners", figure).settings("smoke"), "seeds": seeds, **varied}
    return Record(
        paper="semantic-learners",
        figure=figure,
        scale="smoke",
        piece=piece,
        settings=settings,
        values=values,
        seconds=1.0,
        device="cpu",
        machine={},
        versions={},
        commit=None,
    )


def test_what_a_model_in_one_point_has_no_share_of_is_not_computed():
    assert curves.shares([1.0, 0.0], [2.0, 0.0]) == [0.5, None]
    found = verdicts.with_interval([0.5, None, 0.7])
    assert (found["value"].mean, found["value"].n) == (pytest.approx(0.6), 2)
    assert verdicts.with_interval([None]) == {"value": None, "interval": None, "seeds": [None]}


def test_a_loss_is_compared_with_that_of_a_model_that_learned_nothing():
    one = record(batch=32)
    one.values["loss"] = [[3.0] * 5, [math.log(32)] * 4 + [math.log(32) / 2]]
    pairs = curves.apart(one.settings)
    assert verdicts.measures(one, pairs)["loss_over_chance"]["seeds"] == [1.0] * 4 + [0.5]


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
    control = record("fig8", ratio=0.1, advantage=0.4, piece="aligned-control")
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


def test_a_claim_depends_on_a_choice_where_two_choices_contradict_each_other():
    found = choices.summarise(
        [
            record("choices", piece="fig2-as-chosen", ratio=0.1, advantage=0.3),
            record("choices", piece="fig2-one-head", ratio=0.1, advantage=-0.3),
            record("choices", piece="fig2-two-words", ratio=0.5, advantage=0.3),
        ],
        {},
    )
    helps = found["claims"]["fig2"]["pre-training helps"]
    assert helps["holds"] == {"as-chosen": True, "one-head": False, "two-words": True}
    assert helps["depends_on_choice"]
    close = found["claims"]["fig2"]["equivalent symbols come close"]
    assert close["holds"]["two-words"] is None
    assert not close["depends_on_choice"]  # undecided contradicts nobody
    row = found["variants"]["fig2"]["as-chosen"]
    assert row["contexts_along_free_direction"]["value"].mean == pytest.approx(0.01, abs=1e-3)


def test_causes_counts_where_the_free_constant_is_kept():
    grid = {"figure": "causes", "by_context": 0.0}
    found = causes.summarise(
        [
            record(**grid, kept=1.0, ratio=0.9, weight_decay=0.0, symbol_sd=1.0),
            record(**grid, kept=0.9, ratio=0.1, weight_decay=0.0, symbol_sd=0.02),
            record(**grid, kept=0.0, ratio=0.1, weight_decay=0.01, symbol_sd=1.0),
            record("causes", by_context=1.0, kept=0.5, weight_decay=0.0, symbol_sd=1.0),
        ],
        {},
    )
    assert found["claims"] == {
        "without decay the constant is kept": {"of": 2, "holds": 2},
        "without decay logits come close, whatever the start": {"of": 2, "holds": 1},
        "decay removes the constant": {"of": 1, "holds": 1},
        "a small start brings symbols close without decay": {"of": 1, "holds": 1},
        "compared over symbols nothing is kept": {"of": 1, "holds": 0},
    }
    assert found["rows"][0]["share_along"]["before"]["value"].mean == pytest.approx(0.5)


def test_what_is_left_of_first_differences_is_told_along_a_direction_and_across_it():
    rng = np.random.default_rng(0)
    first = rng.normal(size=(2, 40, 3))
    free = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    last = 0.25 * first
    last[0, :, 0], last[1, :, 1] = first[0, :, 0], 0.0
    left = curves.kept_of_first(np.stack([first, last]), free)
    assert left["along"] == pytest.approx([1.0, 0.0])
    assert left["across"] == pytest.approx([0.25, 0.25])
