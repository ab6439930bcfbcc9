"""Figures 1 to 4: where the embeddings lie, and what length does to the log-likelihood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from samespace.reproduce.figure import save
from samespace.reproduce.nielsen_2024.style import BLUE, LABELS, RED, panels, plane
from samespace.reproduce.record import Record
from samespace.reproduce.registry import Context, Piece, Reproduction
from samespace.worlds.nielsen import PRIME_ANGLES, STAR_ANGLES, close_losses_pair

_SHOWN = 250
"""Points of each label that are drawn; the paper draws 1000, of which most lie on top of each other."""

_WORST = {"prime": np.pi / 128, "star": np.pi / 8}
"""Largest angle between an embedding and its label's unembedding."""


def one_piece(settings: Mapping[str, Any]) -> list[Piece]:
    """A picture is one piece."""
    return [Piece(name=f"seed{settings['seed']:03d}", settings=settings)]


def run_embeddings(piece: Piece, context: Context) -> dict[str, Any]:
    """Draw the two models once; keep some of the points."""
    pair = close_losses_pair(
        np.random.default_rng(piece.settings["seed"]), per_label=piece.settings["per_label"]
    )
    rows = np.concatenate([np.flatnonzero(pair.labels == label)[:_SHOWN] for label in range(4)])
    return {
        "f_prime": pair.prime.f[rows].round(4),
        "f_star": pair.star.f[rows].round(4),
        "g_prime": pair.prime.g.round(4),
        "g_star": pair.star.g.round(4),
        "labels": pair.labels[rows],
    }


def take_one(records: Sequence[Record], expected: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one record's values."""
    return records[0].values


def draw_embeddings(summary: Mapping[str, Any], path: Path) -> None:
    """Figures 1 to 3: both models' embeddings in one scale, with the unembeddings' directions."""
    values = summary["values"]
    figure, axes = panels(1, 2, width=9.2, height=4.8)
    for ax, which, name in zip(axes.flat, ("prime", "star"), ("\\prime", "*"), strict=True):
        f, g = np.array(values[f"f_{which}"]), np.array(values[f"g_{which}"])
        labels = np.array(values["labels"])
        reach = 1.06 * max(np.abs(np.array(values[key])).max() for key in ("f_prime", "f_star"))
        plane(ax, reach)
        for label, (color, mark) in enumerate(LABELS):
            here = labels == label
            direction = g[label] / np.linalg.norm(g[label])
            ax.plot(*zip((0, 0), 2 * reach * direction, strict=True), color=color, lw=0.9, ls=":")
            ax.scatter(
                *f[here].T, s=13, c=color, marker=mark, lw=0, alpha=0.8, label=f"$y_{label}$"
            )
        ax.set_xlabel(f"$f^{{{name}}}_1(x)$")
        ax.set_ylabel(f"$f^{{{name}}}_2(x)$")
        length = np.linalg.norm(g[0])
        ax.set_title(
            f"$f^{{{name}}}$;  $|g^{{{name}}}(y)| = {length:.0f}$ along the dotted rays",
            fontsize=10,
        )
    axes.flat[0].legend(frameon=False, loc="lower left", title="label", markerscale=1.5)
    save(figure, path)


def run_lengths(piece: Piece, context: Context) -> dict[str, Any]:
    """Log-likelihood of the worst-placed input of each model as a function of |f| |g|."""
    products = np.geomspace(1.0, piece.settings["longest"], piece.settings["points"])
    curves = {
        which: worst_log_likelihood(np.array(angles), _WORST[which], products)
        for which, angles in (("prime", PRIME_ANGLES), ("star", STAR_ANGLES))
    }
    return {"products": products, **curves, "chosen": {"prime": 1100.0, "star": 100.0}}


def worst_log_likelihood(angles: np.ndarray, offset: float, products: np.ndarray) -> np.ndarray:
    """Smallest log p(y|x) over labels and both sides, at an angle `offset` from the right label."""
    worst = np.zeros(len(products))
    for label, angle in enumerate(angles):
        for side in (-offset, offset):
            # Differences of logits to the right label's, so that nothing is lost where p is nearly 1.
            gaps = np.cos(angles - angle - side) - np.cos(side)
            others = np.delete(gaps, label)
            log_p = -np.log1p(np.exp(np.outer(products, others)).sum(axis=1))
            worst = np.minimum(worst, log_p)
    return worst


def draw_lengths(summary: Mapping[str, Any], path: Path) -> None:
    """Figure 4, with the negative log-likelihood on a logarithmic axis: it falls without end."""
    values = summary["values"]
    figure, axes = panels(1, 1, width=6.4, height=4.2)
    ax = axes.flat[0]
    products = np.array(values["products"])
    for which, name, color, style in (("prime", "\\prime", BLUE, "-"), ("star", "*", RED, "--")):
        loss = -np.array(values[which])
        ax.plot(products, loss, color=color, ls=style, lw=2, label=f"$\\theta^{{{name}}}$")
        chosen = values["chosen"][which]
        ax.plot(chosen, np.interp(chosen, products, loss), "o", color=color, ms=7)
        ax.annotate(
            f"  $|g^{{{name}}}| = {chosen:.0f}$",
            (chosen, np.interp(chosen, products, loss)),
            color=color,
            va="center",
            ha="left" if which == "prime" else "right",
            xytext=(0, 0) if which == "prime" else (-8, 0),
            textcoords="offset points",
        )
    ax.set(xscale="log", yscale="log", ylim=(1e-16, 5), xlabel="$|f(x)|\\,|g(y)|$ (log scale)")
    ax.set_ylabel("$-\\log p(y|x)$ of the right label, worst input (log scale)")
    ax.legend(frameon=False, title="model", loc="lower left")
    save(figure, path)


EMBEDDINGS = Reproduction(
    paper="nielsen-2024",
    figure="embeddings",
    claim="The two models' embeddings are arranged differently (Figures 1, 2 and 3).",
    scales={"smoke": {"seed": 0, "per_label": 50}, "paper": {"seed": 0, "per_label": 1000}},
    pieces=one_piece,
    run=run_embeddings,
    summarise=take_one,
    draw=draw_embeddings,
)

LENGTHS = Reproduction(
    paper="nielsen-2024",
    figure="lengths",
    claim="At fixed angles, longer vectors bring the log-likelihood as close to 0 as one likes (Figure 4).",
    scales={
        "smoke": {"seed": 0, "points": 20, "longest": 2500.0},
        "paper": {"seed": 0, "points": 200, "longest": 2500.0},
    },
    pieces=one_piece,
    run=run_lengths,
    summarise=take_one,
    draw=draw_lengths,
)
