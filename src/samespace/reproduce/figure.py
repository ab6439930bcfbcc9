"""The canvas of a reproduction's figure: no window system, and equal results give equal files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def canvas(*, width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of one panel, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Figure, path: Path) -> None:
    """Write the figure as SVG, without the date and the random ids that would change it every time."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "samespace"}):
        figure.savefig(path, metadata={"Date": None})
