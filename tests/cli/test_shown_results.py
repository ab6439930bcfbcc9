"""How commands show a comparison: plain in a pipe, boxed to a reader; the page says its command."""

from __future__ import annotations

import pytest

from samespace.cli import outputs
from tests.report.factory import comparison

TYPED = "samespace compare 'my old.npy' new.npy --html report.html"
ARGUMENTS = ["compare", "my old.npy", "new.npy", "--html", "report.html"]


@pytest.mark.parametrize(
    "program", ["/opt/bin/samespace", "samespace.exe", "/lib/samespace/__main__.py"]
)
def test_the_page_says_the_command_that_was_typed(monkeypatch, tmp_path, capsys, program):
    monkeypatch.setattr("sys.argv", [program, *ARGUMENTS])
    outputs.write_page(comparison("affine"), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert TYPED.replace("'", "&#39;") in page
    assert "wrote report to" in capsys.readouterr().err


def test_other_programs_have_no_command_to_show(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/pytest", "tests"])
    assert outputs.command_line() is None


def test_a_pipe_gets_plain_text(capsys):
    outputs.show_comparison(comparison("affine"))
    assert capsys.readouterr().out == f"{comparison('affine')}\n"


def test_a_terminal_gets_the_box(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    outputs.show_comparison(comparison("affine"))
    shown = capsys.readouterr().out
    assert "╭─ verdict: affine" in shown
    assert "permutation" in shown
