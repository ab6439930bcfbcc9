"""Figure 2 of Roeder et al. 2021 as one picture: the world, the agreement over training, the
line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.figure import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _RED, _GREY = "#3346a8", "#a8321f", "#8b867c"
_CYCLE = "twilight_shifted"
_STYLE: Any = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
}


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the four panels; conditions that have no record yet are left out."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    conditions = summary["values"]["conditions"]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(10.4, 8.6), layout="constrained")
        panels = figure.subplots(2, 2)
        shown = conditions.get("paper-3e-4") or next(iter(conditions.values()))
        _world(panels[0, 0], shown)
        _agreement(panels[0, 1], conditions)
        _line(panels[1, 0], shown)
        _exceptions(panels[1, 1], conditions)
        save(figure, path)


def _world(axes: Axes, condition: Mapping[str, Any]) -> None:
    z, labels = np.array(condition["picture"]["z"]), np.array(condition["picture"]["labels"])
    classes = condition["settings"]["classes"]
    reach = 1.05 * np.abs(z).max()
    for angle in np.arange(classes) * 2 * np.pi / classes - np.pi:
        axes.plot(
            [0, 2 * reach * np.cos(angle)], [0, 2 * reach * np.sin(angle)], color="#dedad2", lw=0.7
        )
    axes.scatter(z[:, 0], z[:, 1], c=labels, cmap=_CYCLE, s=18, ec="#55524c", lw=0.3, zorder=2)
    axes.set(
        xlim=(-reach, reach),
        ylim=(-reach, reach),
        aspect="equal",
        xlabel=r"$x_1$",
        ylabel=r"$x_2$",
        title=f"(a) the world: {classes} classes by angle (noise inputs not shown)",
    )


def _agreement(axes: Axes, conditions: Mapping[str, Any]) -> None:
    for name, width in (("paper-3e-4", 2.2), ("paper-1e-4", 1.1)):
        if name in conditions:
            rate = f"rate {conditions[name]['settings']['learning_rate']:.0e}".replace("e-0", "e-")
            _curve(axes, conditions[name], "cca_f", label=f"f, {rate}", color=_BLUE, lw=width)
            _curve(
                axes, conditions[name], "cca_g", label=f"g, {rate}", color=_RED, lw=width, ls="--"
            )
    axes.axvline(4000, color=_GREY, lw=0.9, ls=":")
    axes.annotate("the paper's 4000", (4000, 0.5), (5, 0), textcoords="offset points", color=_GREY)
    _over_training(axes, "(b) agreement of pairs, mean and standard error over pairs")


def _line(axes: Axes, condition: Mapping[str, Any]) -> None:
    mapped, target = (np.array(condition["picture"][key])[:, 0] for key in ("mapped", "target"))
    labels = condition["picture"]["labels"]
    ends = np.array([target.min(), target.max()])
    axes.plot(ends, ends, color=_GREY, lw=0.9, zorder=1)
    axes.scatter(mapped, target, c=labels, cmap=_CYCLE, s=18, ec="#55524c", lw=0.3, zorder=2)
    r = np.corrcoef(mapped, target)[0, 1]
    axes.annotate(f"r = {r:.4f}", (0.05, 0.92), xycoords="axes fraction")
    axes.set(
        xlabel="first model's f, mapped to the second's: dimension 1",
        ylabel="second model's f: dimension 1",
        title="(c) after one linear map, held-out inputs of the first pair",
    )


def _exceptions(axes: Axes, conditions: Mapping[str, Any]) -> None:
    if "two-classes" in conditions:
        _curve(
            axes, conditions["two-classes"], "cca_f", label="f, two classes", color=_BLUE, lw=2.2
        )
    if "wide-start" in conditions:
        _curve(
            axes, conditions["wide-start"], "cca_f", label="f, wide start of g", color=_BLUE, lw=1.1
        )
        _curve(
            axes,
            conditions["wide-start"],
            "cca_g",
            label="g, wide start of g",
            color=_RED,
            lw=1.1,
            ls="--",
        )
    _over_training(axes, "(d) where it fails: K = 2 < M + 1, and local minima")


def _curve(axes: Axes, condition: Mapping[str, Any], name: str, **style: Any) -> None:
    curve = condition["curves"][name]
    if curve["mean"] is None:
        return
    steps, mean, error = (np.array(v) for v in (condition["steps"], curve["mean"], curve["error"]))
    axes.plot(steps, mean, **style)
    axes.fill_between(steps, mean - error, mean + error, color=style["color"], alpha=0.18, lw=0)


def _over_training(axes: Axes, title: str) -> None:
    axes.set_xscale("log")
    axes.set(ylim=(0, 1.02), xlabel="iterations", ylabel="mean canonical correlation", title=title)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, loc="lower right")
