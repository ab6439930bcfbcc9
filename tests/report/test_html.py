"""The page as text: whole, small, offline, and safe whatever the names are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest
from markupsafe import Markup

from samespace.compare import Comparison
from samespace.errors import OutputError
from samespace.report import html
from samespace.report.words import SAYINGS
from tests.report.factory import KINDS, comparison

HOSTILE = ("</script><script>alert('old')</script>.npy", '"><img src=x onerror=alert(1)> {{ 7*7 }}')
VOID = {"meta", "link", "input", "br"}


class Outline(HTMLParser):
    """Tags in order, checked to be closed in order; text of each element by tag."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text: dict[str, list[str]] = {}

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    assert parser.open == []
    return parser


@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_stands_first_in_words(kind):
    page = html.page(comparison(kind))
    found = outline(page)
    assert found.text["h1"] == [SAYINGS[kind].headline]
    body = page[page.index("<main>") :]
    assert body.index(SAYINGS[kind].action) < body.index("<table")


def test_names_are_escaped_everywhere():
    page = html.page(replace(comparison("affine"), names=HOSTILE))
    found = outline(page)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in found.tags]
    assert not [key for _, attributes in found.tags for key in attributes if key.startswith("on")]
    assert "{{ 7*7 }}" in page
    assert "alert('old')</script>" not in page


def test_the_data_survives_its_escaping():
    hostile = ["</script>", "<!--", "&", "\u2028", "é"]
    assert json.loads(html.script_safe(hostile)) == hostile
    assert not re.search("[<>&\u2028]", html.script_safe(hostile))


def test_nothing_outside_is_referred_to():
    page = html.page(comparison("orthogonal"))
    addresses = set(re.findall(r"https?://[^\s\"')]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a namespace, not an address to fetch
    for tag, attributes in outline(page).tags:
        assert "src" not in attributes
        assert tag != "link" or attributes["href"] == "data:,"
    assert "default-src 'none'" in page
    assert "unsafe" not in page


def test_the_largest_page_stays_small(rng):
    result = comparison("affine")
    data = result.to_dict() | {"r2": list(rng.random(8192))}
    data["correlations"] = data["held_out_correlations"] = list(rng.random(8192))
    large = replace(Comparison.from_dict(data), sample=result.sample)
    maps = {
        name: replace(getattr(large, name), map=getattr(result, name).map)
        for name in ("identity", "permutation", "orthogonal", "affine")
    }
    large = replace(large, **maps)
    large.__dict__["_spectra"] = (np.array(data["correlations"]), None)
    assert len(html.page(large).encode()) < 1_000_000


def test_a_result_read_back_renders_without_points():
    page = html.page(Comparison.from_dict(comparison("orthogonal").to_dict()))
    assert "Not computed: the comparison kept no rows." in page


def test_to_html_writes_the_page(tmp_path):
    target = tmp_path / "report.html"
    comparison("affine").to_html(target)
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_is_missing_is_told(tmp_path):
    with pytest.raises(OutputError, match=r"cannot be written to .*missing"):
        html.write(comparison("affine"), tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_equal_results_give_equal_pages():
    written = datetime(2026, 1, 2, tzinfo=UTC)
    result = comparison("affine")
    assert html.page(result, written=written) == html.page(result, written=written)
    assert "on 2026-01-02" in html.page(result, written=written)


def test_sections_of_other_rooms_stand_where_they_ask():
    page = html.page(
        comparison("affine"),
        command="samespace compare <old> new",
        sections=[
            html.Section("Last & least", Markup("<p>after</p>")),
            html.Section("First", Markup("<p>before</p>"), first=True),
        ],
    )
    outline(page)
    places = [page.index(text) for text in ("<p>before</p>", "Which map", "<p>after</p>")]
    assert places == sorted(places)
    assert "Last &amp; least" in page
    assert "samespace compare &lt;old&gt; new" in page
