"""The look of this paper's figures: four labels that differ in lightness and mark, so that grey will do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREY = "#3346a8", "#a8321f", "#8b867c"
LABELS = (("#1b1f4d", "o"), ("#3f6fb5", "s"), ("#8fb8a0", "^"), ("#d9b44a", "D"))
"""Colour and mark of each of the four labels, from dark to light."""


def panels(
    rows: int, columns: int, *, width: float, height: float, **kwargs: Any
) -> tuple[Figure, Any]:
    """Return a figure of a grid of panels without the upper and right frame."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **kwargs)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    return figure, axes


def plane(ax: Axes, reach: float) -> None:
    """Equal axes about the origin, with a light cross through it."""
    ax.axhline(0, color="#dedad2", lw=0.8, zorder=0)
    ax.axvline(0, color="#dedad2", lw=0.8, zorder=0)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
