"""A comparison as plain data for the page: numbers for the charts, words for the readers.

One function per part, each returning what JSON can hold. Numbers keep five significant digits (the
full ones are in ``result.to_dict()``), and what was not computed or is not finite is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.report import words
from samespace.report.numerals import (
    correlation,
    difference,
    explained,
    interval,
    plain,
    share,
    stated,
)
from samespace.report.plane import picture

if TYPE_CHECKING:
    from samespace.compare import Comparison
    from samespace.verdict import ClassResult


def view(result: Comparison) -> dict[str, Any]:
    """Everything the page shows of one comparison."""
    saying = words.SAYINGS[result.verdict.name]
    return {
        "names": dict(zip(("old", "new"), map(str, result.names), strict=True)),
        "shape": {"n": result.n, "d_x": result.d_x, "d_y": result.d_y},
        "verdict": {
            "name": result.verdict.name,
            "tone": words.tone(result.verdict.name),
            "reason": result.verdict.reason,
            **asdict(saying),
            "margin": [(key, difference(value)) for key, value in result.verdict.margin.items()],
        },
        "tiles": tiles(result),
        "classes": [class_view(entry) for entry in result.classes],
        "level": stated(result.settings.level),
        "bounds": bounds(result),
        "spectrum": {
            "in_sample": rounded(result.correlations),
            "held_out": rounded(result.held_out_correlations),
        },
        "r2": rounded(result.r2),
        "points": points_view(result),
        "flatters": flattery(result),
        "diagnostics": rows(result.diagnostics, without=("warnings",)),
        "warnings": list(result.diagnostics.warnings),
        "settings": rows(result.settings),
    }


def class_view(entry: ClassResult) -> dict[str, Any]:
    """One class of the lattice: its numbers, and the same numbers as text."""
    span, null = entry.interval, entry.null
    return {
        "name": entry.name,
        "allows": words.CLASSES[entry.name],
        "status": words.status(applies=entry.applies, holds=entry.holds),
        "reason": entry.reason,
        "unexplained": number(entry.unexplained),
        "interval": [number(span.low), number(span.high)] if span else None,
        "null": [number(null.low), number(null.mean), number(null.high)] if null else None,
        "best": number(entry.optimistic),
        "text": {
            "unexplained": share(entry.unexplained),
            "interval": interval(span.low, span.high) if span else plain(None),
            **_excess_text(entry),
            "null": interval(null.low, null.high) if null else plain(None),
            "in_sample": share(entry.in_sample),
            "best": share(entry.optimistic),
            "holds": words.STATUSES[words.status(applies=entry.applies, holds=entry.holds)],
        },
    }


def _excess_text(entry: ClassResult) -> dict[str, str]:
    """What a class loses to affine; affine is what the others are measured by."""
    if entry.name == "affine":
        return {"excess": "–", "excess_interval": ""}
    span = entry.excess_interval
    return {
        "excess": difference(entry.excess),
        "excess_interval": interval(span.low, span.high) if span else plain(None),
    }


def bounds(result: Comparison) -> dict[str, Any]:
    """Where a class stops to hold, as unexplained shares: the floor, and affine plus tolerance."""
    affine, settings = result.affine.unexplained, result.settings
    limit = None if affine is None else affine + settings.tolerance
    return {
        "floor": number(1 - settings.floor),
        "tolerance": number(limit),
        "text": {
            "floor": f"floor {stated(1 - settings.floor)}",
            "tolerance": f"affine + {stated(settings.tolerance)}",
        },
    }


def tiles(result: Comparison) -> list[dict[str, str]]:
    """The three numbers that belong beside the verdict."""
    chosen = decisive(result)
    held_out = result.held_out_correlations
    mean = None if held_out is None or not len(held_out) else float(np.mean(held_out))
    return [
        {
            "value": explained(chosen.unexplained),
            "what": f"of new's variance explained by the {chosen.name} map on rows it never saw",
        },
        {"value": correlation(mean), "what": "mean canonical correlation on held-out rows"},
        {
            "value": f"{result.n:,}",
            "what": f"paired rows, {result.d_x:,} dimensions to {result.d_y:,}",
        },
    ]


def decisive(result: Comparison) -> ClassResult:
    """The class that the verdict names, or affine, the widest, where it names none."""
    named = {entry.name: entry for entry in result.classes}
    return named.get(result.verdict.name, result.affine)


def flattery(result: Comparison) -> str | None:
    """A warning where the maps fit the rows they saw much better than the others."""
    entry = decisive(result)
    if entry.unexplained is None or entry.in_sample is None:
        return None
    if entry.unexplained - entry.in_sample <= 0.05:
        return None
    return (
        f"This picture flatters: the {entry.name} map was fitted on rows that include these, and "
        f"misses {share(entry.in_sample)} of new on them, but {share(entry.unexplained)} "
        "on rows it never saw."
    )


def points_view(result: Comparison) -> dict[str, Any] | None:
    """The picture's points, or None when the comparison kept no rows."""
    drawn = picture(result)
    if drawn is None:
        return None
    return {
        "keys": [str(key) for key in drawn.keys],
        "old": [rounded(point) for point in drawn.old],
        "new": [rounded(point) for point in drawn.new],
        "mapped": {
            name: [rounded(point) for point in points] for name, points in drawn.mapped.items()
        },
        "chosen": decisive(result).name,
        "shares_old": [share(value) for value in drawn.shares_old],
        "shares_new": [share(value) for value in drawn.shares_new],
        "scale": f"{drawn.scale:.3g}",
    }


def rows(fields: Any, *, without: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """A dataclass as labelled lines of text."""
    return [
        (words.label(key), plain(value))
        for key, value in vars(fields).items()
        if key not in without
    ]


def number(value: float | None) -> float | None:
    """Five significant digits; None for what is missing or not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")


def rounded(values: Iterable[float] | None) -> list[float | None]:
    """Each of the values by `number`; an empty list for None."""
    return [] if values is None else [number(float(value)) for value in values]
