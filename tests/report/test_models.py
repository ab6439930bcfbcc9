"""The joint page of two models: what it says when f and g disagree, and when much is not computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from samespace.compare import Comparison
from samespace.family import from_arrays
from samespace.family.compare_models import compare_models
from samespace.report import html, models
from tests.report.factory import KINDS, comparison
from tests.report.test_html import outline


def found(verdict: str = "none") -> dict[str, Any]:
    return {
        "names": ["<b>old</b>", "new"],
        "verdict": {"name": verdict, "reason": "f and g each match, but not by one matrix."},
        "conclusion": "Losses equal, likelihoods not: nothing is guaranteed.",
        "agreement": {"unexplained": 0.73, "holds": False, "reason": "A^-T misses g*."},
        "classes": {
            "identity": {"applies": False, "holds": False},
            "affine": {"holds": False, "f_unexplained": 1e-9, "g_unexplained": 0.73}
            | {"g_interval": {"low": 0.72, "high": 0.74}, "f_from_g": None},
        },
        "likelihood": {"old": -1.25, "new": -1.5, "gap": 0.25, "unit": "nats per label"},
        "diversity": {"old": {"rank": 12, "diverse": True}, "new": {"rank": 11, "diverse": False}},
        "bounds": [
            {"name": "d_SVD", "measured": 0.3, "bound": 0.5, "holds": True, "meaning": "2 d_LLV^2"},
            {
                "name": "<i>error</i>",
                "measured": 0.4,
                "bound": None,
                "holds": None,
                "meaning": None,
            },
        ],
    }


@dataclass(frozen=True)
class Joint:
    f: Comparison | None = field(default_factory=lambda: comparison("affine"))
    g: Comparison | None = field(default_factory=lambda: comparison("orthogonal"))
    data: dict[str, Any] = field(default_factory=found)

    def to_dict(self) -> dict[str, Any]:
        return self.data


def test_the_joint_verdict_stands_above_those_of_the_parts():
    page = models.page(Joint())
    parsed = outline(page)
    assert parsed.text["h1"] == ["Not the same model."]
    order = ["Not the same model.", "What the joint verdict rests on", "f: the repr", "g: the repr"]
    places = [page.index(text, page.index("<main>")) for text in order]
    assert places == sorted(places)
    assert page.count("data-comparison=") == 2
    for text in ("73.0%", "0.25 nats per label", "A^-T misses g*."):
        assert text in page


def test_names_and_bounds_are_escaped():
    tags = [tag for tag, _ in outline(models.page(Joint())).tags]
    assert "i" not in tags
    assert tags.count("b") == 10  # the lattices' node names, and no name of a model


@pytest.mark.parametrize("verdict", KINDS)
def test_every_joint_verdict_has_its_words(verdict):
    joint = Joint(data=found(verdict))
    for text in (models.text(joint), models.document(joint)):
        assert models._HEADLINES[verdict] in text
    assert models._HEADLINES[verdict] in models.page(joint, command="samespace demo")


def test_what_is_missing_is_not_computed():
    bare = {"names": ["a", "b"], "verdict": {"name": "undecided", "reason": "Few labels."}}
    joint = Joint(g=None, data=bare)
    text = models.text(joint)
    assert "f and g agree on one map: not computed" in text
    assert "divergence of the two distributions: not computed" in text
    assert "g: the representation" not in text
    outline(models.page(joint))
    assert "not computed" in models.document(joint)


def test_every_class_is_shown_for_f_and_g_at_once():
    rows = models.text(Joint()).splitlines()
    (absent,) = (row.split() for row in rows if row.startswith("identity ") and "n/a" in row)
    assert absent == ["identity", "-", "-", "-", "-", "n/a"]
    (affine,) = (row for row in rows if row.startswith("affine ") and "73.0%" in row)
    for text in ("<0.0001%", "72.0 to 74.0%", "not computed"):
        assert text in affine
        assert text.replace("<", "&lt;") in models.page(Joint())


def test_divergences_below_rounding_are_zero():
    data = found("affine") | {"likelihood": {"gap": 3e-17, "unit": "nats"}}
    assert "divergence of the two distributions: 0 nats" in models.text(Joint(data=data))


def test_what_compare_models_returns_is_understood(rng, tmp_path):
    f, g = rng.standard_normal((300, 3)), rng.standard_normal((40, 3))
    A = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    joint = compare_models(from_arrays(f, g), from_arrays(f @ A, g @ A))
    joint.to_html(tmp_path / "joint.html")
    page = (tmp_path / "joint.html").read_text(encoding="utf-8")
    assert outline(page).text["h1"] == ["Not the same model."]
    assert joint.conclusion.split(".")[0] in page
    assert joint.conclusion in " ".join(str(joint).split())
    assert "# Not the same model." in joint.to_markdown()


def test_the_section_stands_on_any_page():
    page = html.page(comparison("affine"), sections=[models.section(found())])
    outline(page)
    assert "What the joint verdict rests on" in page


def test_write_gives_the_file(tmp_path):
    target = models.write(Joint(), tmp_path / "joint.html")
    assert "Not the same model." in target.read_text(encoding="utf-8")
