"""The study as four panels: the bound on d_SVD, that on the linear map, the divergence, and training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.figure import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS = {  # mark and lightness tell them apart in grey as well
    "soft-wide": ("#1b1f4d", "o"),
    "soft-narrow": ("#3f6fb5", "s"),
    "soft-few-labels": ("#8fb8a0", "^"),
    "sectors-wide": ("#a8321f", "D"),
    "sectors-narrow": ("#d9b44a", "v"),
}
_DRAWN = 16
"""Stages drawn of each pair, spaced evenly in the logarithm of the step; all are in the records."""


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw every stage of every pair as a point, the proven bounds as lines."""
    from matplotlib.figure import Figure

    conditions = summary["values"]["conditions"]
    figure = Figure(figsize=(10.4, 8.6), layout="constrained")
    panels = figure.subplots(2, 2)
    for ax in panels.flat:
        ax.spines[["top", "right"]].set_visible(False)
    _similar(panels[0, 0], conditions)
    _linear(panels[0, 1], conditions)
    _divergence(panels[1, 0], conditions)
    _training(panels[1, 1], conditions)
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    save(figure, path)


def _similar(ax: Axes, conditions: Mapping[str, Any]) -> None:
    _against(ax, conditions, "t1", "svd")
    _bounds(ax, {"$2\\,T_1^2$": lambda d: 2 * d**2, "the authors', $2M\\,T_1$": lambda d: 4 * d})
    ax.set(xlabel="$T_1$ of $d_{LLV}$", ylabel="$d_{SVD}$ of the embeddings")
    _title(ax, "(a) the bound holds, and falls with the square")


def _linear(ax: Axes, conditions: Mapping[str, Any]) -> None:
    _against(ax, conditions, "t1", "unexplained_odds")
    _bounds(ax, {"$4\\,T_1^2$": lambda d: 4 * d**2})
    ax.annotate("bound $4\\,T_1^2$", (0.05, 0.93), xycoords="axes fraction", fontsize=9)
    ax.set(xlabel="$T_1$ of $d_{LLV}$", ylabel="share of the log-odds beyond a linear map")
    _title(ax, "(b) so does that on the linear map")


def _divergence(ax: Axes, conditions: Mapping[str, Any]) -> None:
    _against(ax, conditions, "kl", "affine_error")
    ax.set(xlabel="divergence, nats", ylabel="held-out error of the affine map (share)")
    _title(ax, "(c) the divergence and the plain affine map: no bound")


def _training(ax: Axes, conditions: Mapping[str, Any]) -> None:
    for name, condition in conditions.items():
        color, mark = _LOOKS[name]
        steps, t1 = np.array(condition["steps"]), np.array(condition["curves"]["t1"])
        at = _stages(len(steps))
        ax.plot(steps[at], np.median(t1[at], axis=1), color=color, marker=mark, ms=4.5, lw=1.2)
    ax.set(xlabel="training step", ylabel="$T_1$ of $d_{LLV}$, median of pairs")
    ax.set(xscale="log", yscale="log")
    _title(ax, "(d) over training")


def _against(ax: Axes, conditions: Mapping[str, Any], x: str, y: str) -> None:
    for name, condition in conditions.items():
        color, mark = _LOOKS[name]
        at = _stages(len(condition["steps"]))
        xs, ys = (np.ravel(np.array(condition["curves"][measure])[at]) for measure in (x, y))
        ax.scatter(
            xs, np.maximum(ys, 1e-12), c=color, marker=mark, s=16, alpha=0.65, lw=0, label=name
        )
    ax.set(xscale="log", yscale="log")


def _stages(count: int) -> Any:
    """Positions of the stages to draw."""
    return np.unique(np.geomspace(1, count, min(_DRAWN, count)).round().astype(int)) - 1


def _bounds(ax: Axes, bounds: Mapping[str, Callable[[Any], Any]]) -> None:
    low, high = ax.get_xlim()
    at = np.geomspace(low, high, 100)
    for (label, bound), style in zip(bounds.items(), ("-", "--"), strict=False):
        ax.plot(at, bound(at), color="black", ls=style, lw=1.3, label=f"bound {label}")
    ax.set_xlim(low, high)


def _title(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize=10, loc="left")
