"""One progress display for everything: on stderr, after two seconds, with rate and time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

VERBOSE: ContextVar[bool] = ContextVar("verbose", default=False)
"""Whether the command that runs was given --verbose."""

SHOW_AFTER_SECONDS = 2.0
_UNITS = {"fitting folds": "folds"}  # stages that count something else than the command's own unit
LINE_EVERY_SECONDS = 5.0


@contextmanager
def progress(
    stage: str, *, total: int | None = None, unit: str = "rows"
) -> Iterator[Callable[[int], None]]:
    """Show the progress of one stage; yields ``tick(k)``, called when `k` more are done.

    Examples
    --------
    >>> with progress("reading", total=3) as tick:
    ...     tick(3)
    """
    done = 0
    with reporting(unit=unit) as report:

        def tick(count: int = 1) -> None:
            nonlocal done
            done += count
            report(stage, done, total or 0)

        yield tick


@contextmanager
def reporting(*, unit: str = "rows") -> Iterator[Callable[[str, int, int], None]]:
    """Show the progress of a library call; yields the ``progress`` argument to pass to it.

    Nothing is shown for work under two seconds, nor where stderr is no terminal, unless --verbose asks
    for it: then lines, one every five seconds, for logs.
    """
    display: _Bars | _Lines | None = None
    if sys.stderr.isatty():
        display = _Bars(unit)
    elif VERBOSE.get():
        display = _Lines(unit)
    if display is None:
        yield _silent
        return
    try:
        yield display
    finally:
        display.close()


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


class _Bars:
    """A bar for each stage, on a terminal. rich is loaded when the first bar is shown."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._begun = time.monotonic()
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._bars is None:
            if time.monotonic() - self._begun < SHOW_AFTER_SECONDS:
                return
            self._bars = _rich_bars(self._unit)
            self._bars.start()
        name = stage.partition(":")[0]
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(stage, total=total or None)
        self._bars.update(self._tasks[name], completed=done, total=total or None, description=stage)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bars is not None:
            self._bars.stop()


def _rich_bars(unit: str) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            counted = _UNITS.get(task.description, unit)
            return Text("" if speed is None else f"{_count(speed)} {counted}/s", style="cyan")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        get_time=time.monotonic,
        transient=True,
    )


class _Lines:
    """A line now and then, for a log."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._last = time.monotonic()
        self._begun: dict[str, tuple[float, int]] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        begun, before = self._begun.setdefault(stage.partition(":")[0], (now, done))
        finished = 0 < total <= done
        if now - self._last < LINE_EVERY_SECONDS and not finished:
            return
        self._last = now
        rate = (done - before) / (now - begun) if now > begun else 0.0
        unit = _UNITS.get(stage, self._unit)
        print(f"{stage}: {_state(done, total, rate, unit)}", file=sys.stderr)  # noqa: T201

    def close(self) -> None:
        """Nothing is left open."""


def _state(done: int, total: int, rate: float, unit: str) -> str:
    share = f"{done:,} of {total:,} {unit}" if total else f"{done:,} {unit}"
    speed = f", {_count(rate)} {unit}/s" if rate else ""
    left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
    return share + speed + left


def _count(number: float) -> str:
    """Return a rate in three digits or so."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
