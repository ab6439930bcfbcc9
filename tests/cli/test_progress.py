"""The progress display: silent when short or unwatched, a bar on a terminal, lines in a log."""

from __future__ import annotations

import io
import sys

import pytest

from samespace.cli import progress as module
from samespace.cli.progress import VERBOSE, progress, reporting


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def _verbose():
    token = VERBOSE.set(True)
    yield
    VERBOSE.reset(token)


def test_nothing_is_shown_where_nobody_watches(capsys, clock):
    with reporting() as report:
        for second in range(20):
            clock[0] = second
            report("reading", second, 20)
    assert capsys.readouterr() == ("", "")


def test_short_work_shows_nothing(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporting() as report:
        clock[0] = 1.9
        report("reading", 1, 2)
    assert sys.stderr.getvalue() == ""


def test_long_work_shows_a_bar_with_rate_and_time_left(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporting(unit="rows") as report:
        for second in range(6):
            clock[0] = float(second)
            report("reading", 100 * second, 1000)
    shown = sys.stderr.getvalue()
    assert "reading" in shown
    assert "500/1000" in shown
    assert "100 rows/s" in shown
    assert "0:00:05" in shown


def test_every_stage_has_its_bar(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporting() as report:
        clock[0] = 3.0
        report("reading", 10, 10)
        report("fitting", 1, 2)
    assert "reading" in sys.stderr.getvalue()
    assert "fitting" in sys.stderr.getvalue()


@pytest.mark.usefixtures("_verbose")
def test_a_log_gets_a_line_now_and_then(capsys, clock):
    with reporting(unit="rows") as report:
        for second in range(11):
            clock[0] = float(second)
            report("reading", 1000 * second, 10_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "reading: 5,000 of 10,000 rows, 1,000 rows/s, 5 s left",
        "reading: 10,000 of 10,000 rows, 1,000 rows/s",
    ]


@pytest.mark.usefixtures("_verbose")
def test_slow_rates_and_unknown_totals(capsys, clock):
    with progress("training", unit="steps") as tick:
        tick(0)
        clock[0] = 8.0
        tick(4)
    assert capsys.readouterr().err == "training: 4 steps, 0.5 steps/s\n"


def test_a_stage_that_tells_its_loss_keeps_its_one_bar(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporting(unit="steps") as report:
        for second in range(3, 6):
            clock[0] = float(second)
            report(f"training: loss {10 - second}", second, 10)
        assert list(report._tasks) == ["training"]
    assert "training: loss 5" in sys.stderr.getvalue()


@pytest.mark.usefixtures("_verbose")
def test_folds_are_not_rows(capsys, clock):
    with reporting(unit="rows") as report:
        report("fitting folds", 0, 4)
        clock[0] = 2.0
        report("fitting folds", 4, 4)
    assert capsys.readouterr().err == "fitting folds: 4 of 4 folds, 2 folds/s\n"


def test_a_bar_is_taken_away_after_an_error(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())

    def fail():
        with progress("reading", total=10) as tick:
            clock[0] = 3.0
            tick(5)
            raise RuntimeError("broken in the middle")

    with pytest.raises(RuntimeError, match="broken in the middle"):
        fail()
    assert sys.stderr.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")
