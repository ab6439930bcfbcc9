"""The study as four panels: the bound on d_SVD, that on the linear map, the divergence, and training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.figure import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS = {
    "soft-wide": ("#1b1f4d", "o"),
    "soft-narrow": ("#3f6fb5", "s"),
    "soft-few-labels": ("#8fb8a0", "^"),
    "sectors-wide": ("#a8321f", "D"),
    "sectors-narrow": ("#d9b44a", "v"),
}


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw every stage of every pair as a point, the proven bounds as lines."""
    from matplotlib.figure import Figure

    conditions = summary["values"]["conditions"]
    figure = Figure(figsize=(10.4, 8.2), layout="constrained")
    panels = figure.subplots(2, 2)
    for ax in panels.flat:
        ax.spines[["top", "right"]].set_visible(False)
    _against(panels[0, 0], conditions, "llv", "svd")
    _bounds(panels[0, 0], {"$2\\,d^2$": lambda d: 2 * d**2, "authors: $2Md$": lambda d: 4 * d})
    panels[0, 0].set(xlabel="$d_{LLV}$ over inputs ($T_1$)", ylabel="$d_{SVD}$ of the embeddings")
    panels[0, 0].set_title(
        "(a) the bound holds, and falls with the square", fontsize=10, loc="left"
    )
    _against(panels[0, 1], conditions, "llv", "unexplained_odds")
    _bounds(panels[0, 1], {"$4\\,d^2$": lambda d: 4 * d**2})
    panels[0, 1].set(
        xlabel="$d_{LLV}$ over inputs ($T_1$)",
        ylabel="log-odds left by the best linear map (share)",
    )
    panels[0, 1].set_title("(b) so does that on the linear map", fontsize=10, loc="left")
    _against(panels[1, 0], conditions, "kl", "affine_error")
    panels[1, 0].set(
        xlabel="KL divergence, nats", ylabel="held-out error of the affine map (share)"
    )
    panels[1, 0].set_title(
        "(c) the divergence and the plain affine map: no bound", fontsize=10, loc="left"
    )
    _training(panels[1, 1], conditions)
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8.5)
    save(figure, path)


def _against(ax: Axes, conditions: Mapping[str, Any], x: str, y: str) -> None:
    for name, condition in conditions.items():
        color, mark = _LOOKS[name]
        xs, ys = (np.ravel(condition["curves"][measure]) for measure in (x, y))
        ax.scatter(
            xs, np.maximum(ys, 1e-12), c=color, marker=mark, s=14, alpha=0.65, lw=0, label=name
        )
    ax.set(xscale="log", yscale="log")


def _bounds(ax: Axes, bounds: Mapping[str, Any]) -> None:
    low, high = ax.get_xlim()
    at = np.geomspace(low, high, 100)
    for (label, bound), style in zip(bounds.items(), ("-", "--"), strict=False):
        ax.plot(at, bound(at), color="black", ls=style, lw=1.3, label=f"bound {label}")
    ax.set_xlim(low, high)


def _training(ax: Axes, conditions: Mapping[str, Any]) -> None:
    for name, condition in conditions.items():
        color, mark = _LOOKS[name]
        curve = np.median(np.array(condition["curves"]["llv"]), axis=1)
        ax.plot(condition["steps"], curve, color=color, marker=mark, ms=4, lw=1.2)
    ax.set(xlabel="training step", ylabel="$d_{LLV}$ over inputs, median of pairs", yscale="log")
    ax.set_title("(d) over training", fontsize=10, loc="left")
