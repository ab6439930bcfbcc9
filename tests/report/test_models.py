"""The joint page of two models: what it says when f and g disagree, and when much is not computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from samespace.compare import Comparison
from samespace.report import html, models
from tests.report.factory import KINDS, comparison
from tests.report.test_html import outline


def found(verdict: str = "none") -> dict[str, Any]:
    return {
        "names": ["<b>old</b>", "new"],
        "verdict": {"name": verdict, "reason": "f and g each match, but not by one matrix."},
        "conclusion": "Losses equal, likelihoods not: nothing is guaranteed.",
        "agreement": {"unexplained": 0.73, "holds": False, "reason": "A^-T misses g*."},
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
    assert "gap of the likelihoods: not computed" in text
    assert "g: the representation" not in text
    outline(models.page(joint))
    assert "not computed" in models.document(joint)


def test_the_section_stands_on_any_page():
    page = html.page(comparison("affine"), sections=[models.section(found())])
    outline(page)
    assert "What the joint verdict rests on" in page


def test_write_gives_the_file(tmp_path):
    target = models.write(Joint(), tmp_path / "joint.html")
    assert "Not the same model." in target.read_text(encoding="utf-8")
