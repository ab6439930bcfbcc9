"""Beyond the paper: how much alignment does pre-training need? Appendix A.10 has one point of this curve.

Contrastive data sets from aligned to one context of each symbol having almost all probability; for each the
alignment score of the two exact distributions, how close equivalent symbols come, and what classifiers gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from samespace.reproduce.record import Record
from samespace.reproduce.registry import Piece, Settings
from samespace.reproduce.semantic_learners.settings import common
from samespace.reproduce.semantic_learners.verdicts import with_interval


def pieces(settings: Settings) -> Sequence[Piece]:
    """Return one population for each concentration; None is the aligned data set."""
    rest = common(settings, "concentrations")
    return [
        Piece(
            name="aligned" if share is None else f"concentration{share:g}",
            settings={**rest, "concentration": share},
        )
        for share in settings["concentrations"]
    ]


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Put score, closeness and gain of each concentration side by side; the paper has no such numbers."""
    rows = [_row(record) for record in records]
    return {"rows": rows, "rank_correlation": _rank_correlations(rows)}


def _row(record: Record) -> dict[str, Any]:
    share, values = record.settings["concentration"], record.values
    return {
        "concentration": share,
        "alignment_score": alignment_score(record.settings),
        **{name: with_interval(values[name]) for name in ("ratio", "advantage")},
    }


def alignment_score(settings: Settings) -> float | None:
    """Return the score of the exact distributions; the data sets' seed is the one that was trained on."""
    from samespace.theory.alignment import alignment
    from samespace.theory.occurrences import Occurrences
    from samespace.worlds.modular import CModAdd, ModAdd

    size = {k: settings[k] for k in ("numbers", "modulus")}
    seen = CModAdd(**size, concentration=settings["concentration"]).triplets()
    task = ModAdd(**size).triplets()
    return alignment(Occurrences.of(**seen.columns()), Occurrences.of(**task.columns())).score


def _rank_correlations(rows: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Spearman's correlation of the score with the means; None for fewer than three data sets."""
    if len(rows) < 3:
        return None
    from scipy.stats import spearmanr

    scores = [row["alignment_score"] for row in rows]
    return {
        name: float(spearmanr(scores, [row[name]["value"].mean for row in rows]).statistic)
        for name in ("ratio", "advantage")
    }


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw closeness and gain over the alignment score, each seed a point."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from samespace.reproduce.figure import save
    from samespace.reproduce.semantic_learners.drawing import INK, ORANGE, PURPLE, STYLE

    rows = sorted(summary["values"]["rows"], key=lambda row: row["alignment_score"])
    scores = np.array([row["alignment_score"] for row in rows])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.8, 2.9), layout="constrained")
        panels = figure.subplots(1, 2)
        for axes, name, colour, title in (
            (panels[0], "ratio", ORANGE, "distance within over between classes"),
            (panels[1], "advantage", PURPLE, "mean accuracy gained by pre-training"),
        ):
            seeds = np.array([row[name]["seeds"] for row in rows])
            axes.plot(scores, seeds, "o", color=colour, alpha=0.45, markersize=4, linewidth=0)
            axes.plot(scores, seeds.mean(axis=1), color=colour, linewidth=2)
            axes.set(xlabel="alignment score of the two data sets", title=title, xlim=(-0.03, 1.03))
            axes.axhline(
                0 if name == "advantage" else 1, color=INK, linewidth=0.6, linestyle=(0, (1, 2))
            )
        panels[0].set_ylim(0, None)
        save(figure, path)
