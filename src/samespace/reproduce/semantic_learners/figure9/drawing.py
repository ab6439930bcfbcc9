"""Figure 9: distances over training, and what counts foretell of them; a row for each start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from samespace.reproduce.figure import save

INK = "#3b3b3b"
# The paper's colours; lightness and line differ too, so that the figure reads the same in grey.
_KINDS = {
    "unrelated": ("#e8912d", (0, (4, 1.6)), "unrelated"),
    "natural": ("#2f7fb8", (0, (1.5, 1.2)), "natural synonyms"),
    "fabricated": ("#4a1a73", "solid", "fabricated synonyms"),
}
_STYLE: Any = {
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
}


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw a row of three panels for each start; matplotlib is imported only where something is drawn."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    starts = summary["values"]["starts"]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10.8, 3.1 * len(starts)), layout="constrained")
        rows = figure.subplots(len(starts), 3, squeeze=False)
        for axes, (name, found) in zip(rows, starts.items(), strict=True):
            _curves(axes[0], found["curves"], name)
            _scatter(axes[1], found)
            _correlations(axes[2], found)
        rows[0, 0].legend(frameon=False, handlelength=2.6)
        save(figure, path)


def _curves(axes: Any, curves: Mapping[str, Any], name: str) -> None:
    samples = np.array(curves["samples"]) / 1000
    for kind, (colour, line, label) in _KINDS.items():
        low, mean, high = (
            np.array(curves[f"{kind} {part}"]).mean(axis=1) for part in ("low", "mean", "high")
        )
        axes.fill_between(samples, low, high, color=colour, alpha=0.14, linewidth=0)
        axes.plot(samples, curves[f"{kind} mean"], color=colour, linewidth=0.5, alpha=0.5)
        axes.plot(samples, mean, color=colour, linewidth=2, linestyle=line, label=label)
    axes.set(
        xlabel="thousand masked words",
        ylabel="Euclidean distance",
        title=f"{name.replace('start-', 'start with sd ')}: mean, each seed, 80% of pairs",
        xlim=(0, samples[-1]),
        ylim=(0, None),
    )


def _scatter(axes: Any, found: Mapping[str, Any]) -> None:
    points, judged = found["points"], found["judged"]
    everyone = points["judged"]
    axes.scatter(
        everyone["semantic"],
        everyone["distance"],
        s=3,
        color="#bdbdbd",
        linewidth=0,
        rasterized=True,
    )
    for kind, (colour, _, label) in _KINDS.items():
        one = points[kind]
        axes.scatter(one["semantic"], one["distance"], s=9, color=colour, linewidth=0, label=label)
    axes.axhline(judged["threshold"], color=INK, linewidth=0.7, linestyle=(0, (1, 2)))
    axes.set(
        xlabel="semantic distance, estimated from counts",
        ylabel="Euclidean distance after training",
        title=f"{judged['merged']} of {judged['pairs']} other pairs (grey) merged",
        ylim=(0, None),
    )


def _correlations(axes: Any, found: Mapping[str, Any]) -> None:
    shown = {
        f"semantic distance, {reading}": by_name["semantic distance"]
        for reading, by_name in found["foretold"].items()
    }
    some = found["foretold"]["neighbour"]
    shown |= {name: some[name] for name in some if name != "semantic distance"}
    for row, one in enumerate(shown.values()):
        for part, colour, shift in (
            ("correlation", "#4a1a73", -0.12),
            ("beyond frequency", "#2f7fb8", 0.12),
        ):
            if one[part] is not None:
                axes.plot(one[part]["interval"], [row + shift] * 2, color=colour, linewidth=1.4)
                label = part if row == 0 else None
                axes.plot(one[part]["value"], row + shift, "o", color=colour, ms=4, label=label)
    if found["judged"]["between_seeds"] is not None:
        axes.axvline(
            found["judged"]["between_seeds"], color=INK, linewidth=0.7, linestyle=(0, (1, 2))
        )
    axes.axvline(0, color=INK, linewidth=0.7)
    axes.set_yticks(range(len(shown)), list(shown))
    axes.invert_yaxis()
    axes.legend(frameon=False, loc="lower right")
    axes.set(
        xlabel="Spearman's correlation with the distance", title="dotted: seeds among each other"
    )
