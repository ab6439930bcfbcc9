"""The figures of semantic learners: distances over training, and accuracy from two starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.figure import save

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

# Dark purple and light orange differ in lightness as well as in hue, and the second is dashed: the
# figures read the same in grey.
PURPLE, ORANGE, INK = "#4a1a73", "#e8912d", "#3b3b3b"
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw_figure(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the distances and, where classifiers were trained, their accuracy beside them."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    curves = summary["values"]["curves"]
    panels = 2 if "accuracy" in curves else 1
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.9 * panels, 2.9), layout="constrained")
        axes = figure.subplots(1, panels, squeeze=False)
        _distances(axes[0, 0], curves)
        if panels == 2:
            _accuracies(axes[0, 1], curves)
        figure.suptitle(_title(summary), x=0.01, ha="left", fontsize=9, color=INK)
        save(figure, path)


def _title(summary: Mapping[str, Any]) -> str:
    seeds = len(summary["values"]["ratio"]["seeds"])
    made = f"{summary['figure']}, scale {summary['scale']}, {seeds} seeds:"
    # One panel is too narrow for both.
    apart = " " if "accuracy" in summary["values"]["curves"] else "\n"
    return f"{made}{apart}{summary['claim']}"


def _distances(axes: Any, curves: Mapping[str, Any]) -> None:
    epochs = np.array(curves["epochs"])
    for name, colour, line, label in (
        ("between", ORANGE, (0, (4, 1.6)), "different classes"),
        ("within", PURPLE, "solid", "same class"),
    ):
        low, mean, high = (np.array(curves[name][part]) for part in ("low", "mean", "high"))
        axes.fill_between(epochs, low.min(1), high.max(1), color=colour, alpha=0.16, linewidth=0)
        axes.plot(epochs, mean, color=colour, linewidth=0.6, alpha=0.5, linestyle=line)
        axes.plot(epochs, mean.mean(1), color=colour, linewidth=2, linestyle=line, label=label)
    axes.set(
        xlabel="epochs of contrastive training",
        ylabel="Euclidean distance",
        title="symbols: mean, each seed, range over pairs",
        xlim=(0, epochs[-1]),
        ylim=(0, None),
    )
    axes.legend(frameon=False, loc="best", handlelength=2.6)


def _accuracies(axes: Any, curves: Mapping[str, Any]) -> None:
    epochs = np.array(curves["epochs"])
    for name, colour, line, label in (
        ("random", ORANGE, (0, (4, 1.6)), "random embeddings"),
        ("pretrained", PURPLE, "solid", "pre-trained"),
    ):
        accuracy = np.array(curves["accuracy"][name])
        mean, reach = accuracy.mean(1), _half_width(accuracy)
        low, high = np.clip(mean - reach, 0, 1), np.clip(mean + reach, 0, 1)
        axes.fill_between(epochs, low, high, color=colour, alpha=0.16, linewidth=0)
        axes.plot(epochs, mean, color=colour, linewidth=2, linestyle=line, label=label)
    axes.axhline(0.95, color=INK, linewidth=0.6, linestyle=(0, (1, 2)))
    axes.set(
        xlabel="epochs of classification",
        ylabel="validation accuracy",
        title="ModAdd: mean and 95% interval",
        xlim=(0, epochs[-1]),
        ylim=(0, 1.03),
    )
    axes.legend(frameon=False, loc="lower right", handlelength=2.6)


def _half_width(accuracy: Float[Array, "evaluations models"]) -> Float[Array, " evaluations"]:
    """Return half the 95% interval of the mean over seeds; without spread nothing is drawn."""
    from scipy import special

    models = accuracy.shape[1]
    if models < 2:
        return np.zeros(len(accuracy))
    return special.stdtrit(models - 1, 0.975) * accuracy.std(axis=1, ddof=1) / np.sqrt(models)
