"""Roeder's Figure 2, made small: the pieces run, and the findings are those of the curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from samespace import reproduce
from samespace.reproduce.roeder_2021.findings import summarise
from samespace.reproduce.roeder_2021.study import (
    held_out_share,
    label_correlation,
    turned_over_share,
)
from tests.tolerances import atol


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproductions")
    figure = reproduce.find("roeder-2021", "fig2")
    for name in ("paper-3e-4", "two-classes"):
        summary = reproduce.make(figure, scale="smoke", folder=folder, only=name)
    return folder, summary


def test_agreement_rises_within_a_few_hundred_steps(made):
    curve = made[1]["values"]["conditions"]["paper-3e-4"]["curves"]["cca_f"]["mean"]
    assert curve[-1] > curve[0]
    assert curve[-1] > 0.9


def test_two_classes_fail_diversity_and_say_so(made):
    (first, *_) = made[1]["values"]["conditions"]["two-classes"]["verdicts"]
    assert "conditions fail" in first["conclusion"]
    assert "fix only 1 of its 2 dimensions" in first["conclusion"]


def test_the_figure_is_drawn_and_equal_records_give_equal_files(made):
    folder, _ = made
    path = folder / "roeder_2021" / "results" / "fig2-smoke.svg"
    before = path.read_bytes()
    reproduce.summarise(reproduce.find("roeder-2021", "fig2"), scale="smoke", folder=folder)
    assert path.read_bytes() == before
    assert b"</svg>" in before


def test_a_piece_that_is_recorded_is_not_run_again(made):
    folder, summary = made
    figure = replace(reproduce.find("roeder-2021", "fig2"), run=None)  # would fail if called
    assert reproduce.make(figure, scale="smoke", folder=folder, only="paper-3e-4") == summary


def record(cca_f, **final):
    steps = list(range(100, 100 * len(cca_f) + 1, 100))
    curves = {name: [[0.1, 0.2]] * len(cca_f) for name in ("loss", "accuracy", "f_unexplained")}
    curves |= {"cca_f": cca_f, "cca_g": [[None, None]] * len(cca_f), "g_unexplained": cca_f}
    return reproduce.Record(
        paper="roeder-2021",
        figure="fig2",
        scale="smoke",
        piece="paper-3e-4",
        settings={"classes": 18},
        values={"steps": steps, "curves": curves, "final": final},
        seconds=1.0,
        device="cpu",
        machine={},
        versions={},
        commit=None,
    )


def test_findings_are_those_of_the_curves(rng):
    f, g = rng.normal(size=(300, 2)), rng.normal(size=(18, 2))
    turn = np.array([[0.0, 2.0], [-2.0, 0.0]])
    labels = rng.integers(18, size=300)
    pair = {
        "f": np.stack([f, f @ turn]),
        "g": np.stack([g, g @ turn / 4]),
        "z": f,
        "labels": labels,
    }
    rising = [[0.5, 0.995], [0.995, 0.4], [0.992, 0.996], [0.999, 0.998]]
    expected = {"fig2": {"claim": "rises"}}
    found = summarise([record(rising, **pair)], expected)["conditions"]["paper-3e-4"]
    assert found["iterations_until_agreed"] == 300
    assert found["curves"]["cca_f"]["mean"][0] == pytest.approx(0.7475)
    assert found["curves"]["cca_f"]["error"][0] == pytest.approx(0.2475)
    assert found["curves"]["cca_g"]["mean"] is None
    assert found["at_the_end"]["cca_f"].reproduced
    assert found["at_the_end"]["cca_g"] is None
    assert found["verdicts"][0]["verdict"] == "permutation"
    assert np.array(found["picture"]["mapped"]) == pytest.approx(f @ turn, abs=1e-3)
    assert (
        summarise([record(rising[:2], **pair)], expected)["conditions"]["paper-3e-4"][
            "iterations_until_agreed"
        ]
        is None
    )


def test_scores_are_exact_for_exact_pairs(rng):
    f, g = rng.normal(size=(200, 2)), rng.normal(size=(9, 2))
    A = np.array([[2.0, 1.0], [0.0, 1.0]])
    assert held_out_share(f, f @ A + 1.0) == pytest.approx(0.0, abs=atol("exact"))
    assert label_correlation(g, g @ A) == pytest.approx(1.0, abs=atol("exact"))
    assert turned_over_share(f, f @ A, g, g @ np.linalg.inv(A).T) == pytest.approx(
        0.0, abs=atol("exact")
    )
    assert turned_over_share(f, f @ A, g, g @ A) > 0.1
    assert label_correlation(g[:4], g[:4]) is None
    assert turned_over_share(f, f @ np.diag([1.0, 0.0]), g, g) is None
