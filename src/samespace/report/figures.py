"""Figures of a comparison in matplotlib, for papers and slides: labelled, and readable in grey.

Everything that colour says is also said by shape, line or shade. Built on `matplotlib.figure.Figure`, so no
window system and no global state are touched; names are drawn as they are, never as mathematics.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import DegenerateError, OutputError
from samespace.report import words
from samespace.report.numerals import share, stated
from samespace.report.plane import picture
from samespace.report.terminal import printable
from samespace.report.view import decisive

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
    from numpy import ndarray as Array

    from samespace.compare import Comparison
    from samespace.verdict import ClassResult

_STYLE: Any = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "samespace",  # equal results give equal files
    "text.parse_math": False,  # a dollar sign in a file name is a dollar sign
}
_MARKS = {"holds": ("o", "#0f6b57"), "fails": ("X", "#a8321f"), "undecided": ("D", "#a86e00")}
_BLUE, _PALE, _VIOLET, _GREY = "#3346a8", "#9aa5de", "#8d7fb0", "#b9b4a9"
_SMALLEST = 1e-6


def lattice(result: Comparison) -> Figure:
    """Held-out unexplained share of each class, with interval, null, floor and tolerance."""
    figure, (axes,) = _figure(1, width=7.4, height=3.2)
    axes.set_xscale("log")
    left = _left_end(result)
    for place, entry in enumerate(result.classes):
        _draw_class(axes, entry, place, left)
    floor = 1 - result.settings.floor
    axes.axvline(floor, color="#a8321f", lw=1.4, label=f"floor: {stated(floor)}")
    if result.affine.unexplained is not None:
        limit = result.affine.unexplained + result.settings.tolerance
        label = f"affine + tolerance of {stated(result.settings.tolerance)}"
        axes.axvline(limit, color="#8a5a00", lw=1.4, ls=(0, (5, 3)), label=label)
    axes.set_xlim(left=left)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    axes.set_yticks(range(len(result.classes)), [entry.name for entry in result.classes])
    axes.set_ylim(len(result.classes) - 0.5, -0.5)
    axes.set_xlabel("share of new's variance left unexplained on held-out rows (log scale)")
    _title(axes, f"verdict: {result.verdict.name}. {words.SAYINGS[result.verdict.name].headline}")
    axes.fill_between([], [], color=_GREY, label="random pairs")
    axes.plot([], "|", color="black", ms=10, mew=1.5, label="in sample, corrected")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def spectrum(result: Comparison) -> Figure:
    """Canonical correlations by direction, held out against in sample."""
    figure, (axes,) = _figure(1, width=5.0, height=3.2)
    held, seen = np.asarray(result.held_out_correlations), np.asarray(result.correlations)
    place = np.arange(1, len(held) + 1)
    axes.fill_between(place, held, seen[: len(held)], color=_VIOLET, alpha=0.18, lw=0)
    axes.plot(np.arange(1, len(seen) + 1), seen, color=_VIOLET, ls="--", label="in sample")
    axes.plot(
        place, held, color=_BLUE, lw=2, marker="." if len(held) < 40 else "", label="held out"
    )
    axes.set_ylim(min(0.0, float(held.min(initial=0.0))), 1.03)
    axes.xaxis.set_major_locator(_whole_numbers())
    axes.set_xlabel("canonical direction")
    axes.set_ylabel("correlation of old and new")
    _title(axes, "Canonical spectrum")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return figure


def r2(result: Comparison) -> Figure:
    """Held-out R^2 of each dimension of new under the affine map, best first."""
    figure, (axes,) = _figure(1, width=5.0, height=3.2)
    values = np.sort(np.asarray(result.r2)[np.isfinite(result.r2)])[::-1]
    lowest = max(-1.0, min(0.0, float(values.min(initial=0.0))))
    clipped = np.maximum(values, lowest)
    axes.bar(
        np.arange(1, len(values) + 1), clipped, width=0.9 if len(values) < 80 else 1.0, color=_PALE
    )
    floor = result.settings.floor
    axes.axhline(floor, color="#a8321f", lw=1.4, label=f"floor: {stated(floor)}")
    axes.axhline(0, color="black", lw=0.8)
    axes.set_ylim(lowest, 1.03)
    axes.xaxis.set_major_locator(_whole_numbers())
    axes.set_xlabel("dimension of new, best first")
    axes.set_ylabel("held-out R² of the affine map")
    below = int((values < lowest).sum())
    _title(axes, f"R² by dimension ({below} cut at -1)" if below else "R² by dimension")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def points(result: Comparison) -> Figure:
    """Old, new and mapped rows on principal planes: Figure 1 of Roeder et al. with the user's data."""
    drawn = picture(result)
    if drawn is None:
        raise DegenerateError(
            "the comparison kept no rows, so there are no points to draw; "
            "compare with keep=2048, the default."
        )
    name = decisive(result).name
    figure, (before, new, after) = _figure(3, width=10.0, height=3.7)
    before_points = drawn.old / drawn.scale
    after.scatter(drawn.new[:, 0], drawn.new[:, 1], color=_GREY, s=26, linewidths=0)
    for axes, cloud in ((before, before_points), (new, drawn.new), (after, drawn.mapped[name])):
        axes.scatter(
            cloud[:, 0], cloud[:, 1], c=drawn.new[:, 0], cmap="cividis", s=11, linewidths=0
        )
    old_name, new_name = (_short(label) for label in result.names)
    for axes, cloud, title, whose, shares in (
        (before, before_points, f"before: {old_name}", "old", drawn.shares_old),
        (new, drawn.new, f"target: {new_name}", "new", drawn.shares_new),
        (after, drawn.new, f"after the {name} map", "new", drawn.shares_new),
    ):
        _frame(axes, cloud)
        _title(axes, title)
        axes.set_xlabel(f"1st axis of {whose} ({share(float(shares[0]))} of variance)")
        axes.set_ylabel(f"2nd axis ({share(float(shares[1]))})")
    return figure


FIGURES: dict[str, Callable[[Comparison], Figure]] = {
    "lattice": lattice,
    "spectrum": spectrum,
    "r2": r2,
    "points": points,
}


def save_figures(result: Comparison, folder: str | os.PathLike[str]) -> list[Path]:
    """Writes every figure as PNG and SVG into a folder, made if missing; returns the files.

    The points are left out when the comparison kept no rows.
    """
    from matplotlib import rc_context

    target = Path(folder)
    written = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, draw in FIGURES.items():
            if name == "points" and result.sample is None:
                continue
            figure = draw(result)
            for suffix in ("png", "svg"):
                path = target / f"{name}.{suffix}"
                with rc_context(_STYLE):
                    figure.savefig(
                        path, dpi=200, metadata={"Date": None} if suffix == "svg" else None
                    )
                written.append(path)
    except OSError as error:
        raise OutputError(
            f"the figures cannot be written to {target}: {error.strerror}; "
            "name a folder that may be written."
        ) from error
    return written


def _figure(panels: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    # Imported here: only who draws waits for matplotlib.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, [figure.add_subplot(1, panels, place + 1) for place in range(panels)]


def _draw_class(axes: Axes, entry: ClassResult, place: int, left: float) -> None:
    if entry.unexplained is None:
        reason = "does not apply" if not entry.applies else "not computed"
        axes.annotate(reason, (0.02, place), xycoords=("axes fraction", "data"), va="center")
        return
    mark, colour = _MARKS[words.status(applies=entry.applies, holds=entry.holds)]
    if entry.null is not None:
        ends = max(entry.null.low, left), max(entry.null.high, left)
        axes.fill_betweenx([place - 0.32, place + 0.32], *ends, color=_GREY, lw=2)
    if entry.interval is not None:
        ends = max(entry.interval.low, left), max(entry.interval.high, left)
        axes.plot(ends, [place, place], color=colour, lw=4, alpha=0.5, solid_capstyle="round")
    if entry.optimistic is not None:
        axes.plot(max(entry.optimistic, left), place, "|", color=colour, ms=14, mew=1.5)
    axes.plot(max(entry.unexplained, left), place, mark, color=colour, ms=7, mec="white", mew=0.8)


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10.5, fontweight="bold")


def _left_end(result: Comparison) -> float:
    """Where the logarithmic axis begins: a little left of the smallest share that is not rounding."""
    ends = [value for entry in result.classes for value in (entry.unexplained, entry.optimistic)]
    shown = [
        value for value in [*ends, 1 - result.settings.floor] if value is not None and value > 0
    ]
    return max(_SMALLEST, min(shown) / 3)


def _frame(axes: Axes, cloud: Float[Array, "n 2"]) -> None:
    """Equal units on both axes, around a cloud; what a bad map throws further out is cut off."""
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    half = 0.55 * (float((high - low).max()) or 1.0)
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal")


def _whole_numbers() -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True)


def _short(name: object, *, length: int = 28) -> str:
    text = printable(name)
    return text if len(text) <= length else f"...{text[3 - length :]}"
