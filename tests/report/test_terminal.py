"""The lattice in a terminal: every kind of verdict, and names that a terminal must not obey."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from samespace.report import terminal, words
from tests.report.factory import KINDS, comparison

HOSTILE = ("\x1b[31mred\x07", "[bold]new[/bold]\nline")


@pytest.mark.parametrize("kind", KINDS)
def test_text_names_the_verdict_and_all_classes(kind):
    text = terminal.text(comparison(kind))
    assert f"verdict: {kind.upper()}. {words.SAYINGS[kind].headline}" in text
    rows = [line.split()[0] for line in text.splitlines() if line[:1].islower()]
    assert [row for row in rows if row in words.CLASSES] == [
        "identity",
        "permutation",
        "orthogonal",
        "affine",
    ]
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 100


def test_print_shows_this_text():
    assert str(comparison("orthogonal")) == terminal.text(comparison("orthogonal"))


def test_a_class_that_does_not_apply_has_no_numbers():
    text = terminal.text(comparison("affine", d_y=9))
    (row,) = (line for line in text.splitlines() if line.startswith("identity"))
    assert row.split() == ["identity", "-", "-", "-", "-", "n/a"]


def test_what_was_not_computed_is_said():
    result = comparison("affine")
    bare = replace(result.affine, interval=None, null=None, unexplained=None)
    assert terminal.cells(bare)[1:3] == ["not computed", "not computed"]
    assert terminal.cells(bare)[4] == "not computed"


def test_control_characters_and_markup_are_inert():
    result = replace(comparison("orthogonal"), names=HOSTILE)
    stream = StringIO()
    Console(file=stream, width=100, force_terminal=False).print(terminal.renderable(result))
    for text in (terminal.text(result), stream.getvalue()):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\\x1b[31mred\\x07" in text
        assert "[bold]new[/bold]\\nline" in text


@pytest.mark.parametrize("kind", KINDS)
def test_rich_fits_eighty_columns(kind):
    stream = StringIO()
    Console(file=stream, width=80).print(terminal.renderable(comparison(kind)))
    assert kind in stream.getvalue()
    assert "…" not in stream.getvalue()


def test_warnings_are_shown():
    text = terminal.text(comparison("none", d=64, n=200))
    assert "warning: 200 rows for 64 dimensions" in text
