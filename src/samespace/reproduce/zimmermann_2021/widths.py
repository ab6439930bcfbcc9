"""Rows 11 and 12 of Table 1 under other widths of their conditional: which of them gives what was published?

Both rows are worlds on all of R^n with a normal conditional, printed with a standard deviation of 1. There
the loss prefers something else to the latents (see `latents`), and the published scores are out of reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from samespace.reproduce.figure import canvas, save
from samespace.reproduce.record import Record, Value
from samespace.reproduce.registry import Context, Piece, Reproduction, Settings
from samespace.reproduce.zimmermann_2021.rows import PAPER, SCALES, SEEDS, pieces, rows_of

_ROWS = (11, 12)
_WIDTHS = (0.05, 0.2, 0.3, 0.5, 1.0)
_MARKERS = {11: "o", 12: "s"}


def _pieces(settings: Settings) -> list[Piece]:
    rows = tuple(f"row{row}-" for row in _ROWS)
    return [
        Piece(
            name=one.name.replace("-", f"-sd{width:g}-", 1),
            settings={**one.settings, "conditional": f"normal({width:g})"},
        )
        for one in pieces("table1", settings)
        if one.name.startswith(rows)
        for width in _WIDTHS
    ]


def _run(piece: Piece, context: Context) -> Mapping[str, Any]:
    from samespace.reproduce.zimmermann_2021.experiment import run  # needs torch

    return run(piece, context)


def _summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return, per row and width, R^2 over seeds beside the one number that was published for the row."""
    return {
        f"row {row}, sd {width:g}": _value(own, row)
        for row in _ROWS
        for width in _WIDTHS
        if (own := [r for r in records if r.piece.startswith(f"row{row}-sd{width:g}-")])
    }


def _value(records: Sequence[Record], row: int) -> dict[str, Any]:
    scores = [100.0 * member["r2"] for record in records for member in record.values["members"]]
    smaller = any(record.scale in ("smoke", "small") for record in records)
    return {
        "r2": Value.of(
            scores,
            paper=rows_of("table1")[row - 1]["r2"],
            paper_n=SEEDS,
            at_least=0.005,
            incomparable="a smaller world than the paper's" if smaller else None,
        )
    }


def _draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw R^2 against the width, and the published scores as lines."""
    figure, axes = canvas(width=5.0, height=3.4)
    for row in _ROWS:
        points = [
            (width, summary["values"][key]["r2"])
            for width in _WIDTHS
            if (key := f"row {row}, sd {width:g}") in summary["values"]
        ]
        if not points:
            continue
        means = [value["mean"] for _, value in points]
        shade = "0.1" if row == _ROWS[0] else "0.5"
        axes.plot(
            [w for w, _ in points], means, marker=_MARKERS[row], color=shade, label=f"row {row}"
        )
        axes.axhline(points[0][1]["paper"], color=shade, lw=0.8, ls="--")
    axes.set_xscale("log")
    axes.set_xticks(_WIDTHS, [f"{width:g}" for width in _WIDTHS])
    axes.minorticks_off()
    axes.set_xlabel("standard deviation of the conditional (published: 1)")
    axes.set_ylabel(f"R² [%], scale {summary['scale']}; dashed: published")
    axes.legend(frameon=False)
    save(figure, path)


WIDTHS = Reproduction(
    paper=PAPER,
    figure="widths",
    claim="Which width of the conditional gives the published scores of rows 11 and 12 of Table 1: the "
    "printed one does not.",
    scales=SCALES,
    pieces=_pieces,
    run=_run,
    summarise=_summarise,
    draw=_draw,
)
