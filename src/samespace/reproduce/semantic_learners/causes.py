"""Beyond the paper: why decay and a small start bring equivalent symbols together, by the free constant.

Eq. 2 compares contexts, so it never moves a symbol in a direction in which all contexts agree: what two
symbols differ by along it *at first* stays, unless decay shrinks it or it was small from the start. Compared
over symbols, the constant is free for contexts and not for symbols. So weight decay, initial spread and
direction of the softmax are crossed, and it is measured what is left of the first differences within classes
along the free direction of the trained contexts, and across it. By rules fixed beforehand, a difference is
*kept* where the 95% interval of that share lies above 1/2, *removed* where it lies below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from samespace.reproduce.record import Record
from samespace.reproduce.registry import Piece, Settings
from samespace.reproduce.semantic_learners.curves import shares
from samespace.reproduce.semantic_learners.settings import common
from samespace.reproduce.semantic_learners.verdicts import CLOSE, with_interval

KEPT = 0.5
_VARIED = ("weight_decay", "symbol_sd", "by_context")


def pieces(settings: Settings) -> Sequence[Piece]:
    """Return one population for each point of the grid."""
    rest, grid = common(settings, "causes"), settings["causes"]
    return [
        Piece(
            name=f"decay{decay:g}-sd{sd:g}-by-context{share:g}",
            settings={**rest, "weight_decay": decay, "symbol_sd": sd, "by_context": share},
        )
        for decay, sd, share in product(*(grid[name] for name in _VARIED))
    ]


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Put closeness and what is left of the first differences side by side, and judge the explanation."""
    rows = [_row(record) for record in records]
    return {"rows": rows, "claims": _claims(rows)}


def _row(record: Record) -> dict[str, Any]:
    values, split = record.values, record.values["free_direction"]
    distance, along = values["within"]["mean"], split["along"]
    return {
        **{name: record.settings[name] for name in _VARIED},
        "distance_within": _before_and_after(distance[0], distance[-1]),
        "distance_ratio": _before_and_after(values["ratio_before"], values["ratio"]),
        "logit_ratio": _before_and_after(split["logit_ratio_before"], split["logit_ratio"]),
        "share_along": _before_and_after(*(shares(along[t], distance[t]) for t in (0, -1))),
        "kept": {name: with_interval(part) for name, part in split["kept_of_first"].items()},
    }


def _before_and_after(before: Any, after: Any) -> dict[str, Any]:
    return {"before": with_interval(list(before)), "after": with_interval(list(after))}


def _claims(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Say in how many points of the grid each part of the explanation holds."""
    smallest = min(row["symbol_sd"] for row in rows)
    largest = max(row["weight_decay"] for row in rows)
    over_contexts = [row for row in rows if row["by_context"] == 0.0]
    undecayed = [row for row in over_contexts if row["weight_decay"] == 0.0]
    decayed = [row for row in over_contexts if 0.0 < row["weight_decay"] == largest]
    other = [row for row in rows if row["by_context"] == 1.0 and row["weight_decay"] == 0.0]
    small = [row for row in undecayed if row["symbol_sd"] == smallest]
    return {
        "without decay the constant is kept": _counted(undecayed, _kept),
        "without decay logits come close, whatever the start": _counted(undecayed, _same_logits),
        "decay removes the constant": _counted(decayed, _removed),
        "a small start brings symbols close without decay": _counted(small, _close),
        "compared over symbols nothing is kept": _counted(other, _removed),
    }


def _counted(rows: Sequence[Mapping[str, Any]], rule: Any) -> dict[str, int]:
    return {"of": len(rows), "holds": sum(map(rule, rows))}


def _kept(row: Mapping[str, Any]) -> bool:
    return _interval(row["kept"]["along"])[0] > KEPT


def _removed(row: Mapping[str, Any]) -> bool:
    return _interval(row["kept"]["along"])[1] < KEPT


def _same_logits(row: Mapping[str, Any]) -> bool:
    return _interval(row["logit_ratio"]["after"])[1] < CLOSE


def _close(row: Mapping[str, Any]) -> bool:
    return _interval(row["distance_ratio"]["after"])[1] < CLOSE


def _interval(found: Mapping[str, Any]) -> Sequence[float]:
    """Return the interval; of a single seed, whose mean has none, all numbers."""
    return found["interval"] or (-np.inf, np.inf)


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw each measure over the initial spread, a line for each decay, a row for each softmax."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from samespace.reproduce.figure import save
    from samespace.reproduce.semantic_learners.drawing import STYLE

    rows = summary["values"]["rows"]
    directions = sorted({row["by_context"] for row in rows})
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 0.5 + 2.4 * len(directions)), layout="constrained")
        panels = figure.subplots(len(directions), len(_MEASURES), squeeze=False, sharex=True)
        for axes, direction in zip(panels, directions, strict=True):
            of_it = [row for row in rows if row["by_context"] == direction]
            for one, (title, measure) in zip(axes, _MEASURES.items(), strict=True):
                _lines(one, of_it, measure)
                one.set(title=title, xscale="log")
            axes[0].set_ylabel(_SOFTMAX.get(direction, f"{direction:g} of the loss over symbols"))
        for axes in panels[-1]:
            axes.set_xlabel("initial standard deviation")
        panels[0, 0].legend(frameon=False, title="weight decay")
        save(figure, path)


_SOFTMAX = {0.0: "softmax over contexts", 1.0: "softmax over symbols"}
_MEASURES: dict[str, Any] = {
    "distances within / between": lambda row: row["distance_ratio"]["after"],
    "logits within / between": lambda row: row["logit_ratio"]["after"],
    "share along the free direction": lambda row: row["share_along"]["after"],
    "kept of the first along it": lambda row: row["kept"]["along"],
}


def _lines(axes: Any, rows: Sequence[Mapping[str, Any]], measure: Any) -> None:
    from samespace.reproduce.semantic_learners.drawing import INK, ORANGE, PURPLE

    styles = [(ORANGE, "o", "--"), (INK, "s", ":"), (PURPLE, "^", "-")]
    decays = sorted({row["weight_decay"] for row in rows})
    for decay, (colour, marker, line) in zip(decays, styles, strict=False):
        spreads = [row["symbol_sd"] for row in rows if row["weight_decay"] == decay]
        found = [measure(row) for row in rows if row["weight_decay"] == decay]
        means = [one["value"]["mean"] if one["value"] else np.nan for one in found]
        axes.plot(spreads, means, marker=marker, linestyle=line, color=colour, label=f"{decay:g}")
        for spread, one in zip(spreads, found, strict=True):
            if one["interval"] is not None:
                axes.plot([spread] * 2, one["interval"], color=colour, linewidth=0.8)
    axes.set_ylim(min(0.0, axes.get_ylim()[0]), None)
