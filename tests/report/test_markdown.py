"""Markdown: judged by what a CommonMark parser with GitHub's tables makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from samespace.report import markdown
from samespace.report.recipes import Recipe
from tests.report.factory import KINDS, comparison

HOSTILE = ("a|b`<script>alert(1)</script>", "[x](javascript:alert(1))\n# heading ```")


def rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lattice_renders_as_a_table(kind):
    page = rendered(comparison(kind).to_markdown())
    first = page[page.index("<table>") : page.index("</table>")]
    assert first.count("<tr>") == 5
    assert first.count("<td") == 4 * 8
    assert page.count("<h2>") == 1
    assert f"Verdict: {kind}" in page


def test_names_stay_text():
    text = markdown.document(replace(comparison("affine"), names=HOSTILE))
    outside_code = rendered(text).split("<pre>")[0]
    assert "<script>" not in outside_code
    assert "href" not in outside_code
    assert "a|b`&lt;script&gt;" in outside_code
    assert rendered(text).count("<h1>") == 0


def test_a_fence_cannot_be_closed_from_inside():
    block = rendered(markdown._block(Recipe("code", "python", "x = '''\n```\n# heading\n```'")))
    assert "<h1>" not in block
    assert block.count("<pre>") == 1


def test_a_class_that_does_not_apply_has_no_numbers():
    (row,) = (
        line
        for line in markdown.lattice(comparison("affine", d_y=9)).splitlines()
        if line.startswith("| identity")
    )
    assert row == "| identity | – | – | – | – | – | – | n/a |"


def test_warnings_and_the_command_are_shown():
    text = markdown.document(comparison("none", d=64, n=200), command="samespace compare a b")
    assert "**Warning:** 200 rows for 64 dimensions" in text
    assert "samespace compare a b" in text
    assert "How to use the map" not in text
