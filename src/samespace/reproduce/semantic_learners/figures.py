"""The paper's own figures: their populations, what is judged of them, and how they are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from samespace.reproduce.record import Record
from samespace.reproduce.registry import Piece, Settings
from samespace.reproduce.semantic_learners import curves, verdicts


def pieces(variant: Settings) -> Sequence[Piece]:
    """Return the figure's population, and beside a misaligned one its aligned control."""
    population = Piece(name="population", settings=variant)
    if variant["concentration"] is None:
        return [population]
    control = Piece(name="aligned-control", settings={**variant, "concentration": None})
    return [population, control]


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Judge the claim by numbers; the curves stand beside them for the drawing."""
    named = {record.piece: record for record in records}
    main = named.get("population", records[0])
    control = named.get("aligned-control")
    summary = verdicts.measures(main, curves.apart(main.settings))
    if control is not None and control is not main:
        summary["aligned_control"] = verdicts.measures(control, curves.apart(control.settings))
    kept = ("epochs", "within", "between", "accuracy")
    return {
        "claim_of_the_paper": expected.get(main.figure, {}).get("claim"),
        "claims": verdicts.judged(main.figure, summary),
        **summary,
        "curves": {name: main.values[name] for name in kept if name in main.values},
    }


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the panels of the figure; matplotlib is imported only where something is drawn."""
    from samespace.reproduce.semantic_learners.drawing import draw_figure

    draw_figure(summary, path)
