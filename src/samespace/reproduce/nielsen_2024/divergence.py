"""The 2025 follow-up's Table 1: the divergence vanishes as |g| grows, the representations stay apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from samespace.measures import cca
from samespace.reproduce.figure import save
from samespace.reproduce.nielsen_2024.style import BLUE, GREY, RED, panels
from samespace.reproduce.record import Record, Value
from samespace.reproduce.registry import Context, Piece, Reproduction
from samespace.theory import ModelPair, d_llv, d_svd, pairwise_gaps
from samespace.worlds.nielsen import close_distributions_pair

_MEASURES = (
    "kl",
    "t1_best",
    "t2_best",
    "t1_least_leave_one_out",
    "t1_worst",
    "svd_f_best",
    "svd_f_largest",
    "svd_g_best",
    "mcca_f",
    "bound",
)


def pieces(settings: Mapping[str, Any]) -> list[Piece]:
    """One piece per length and draw."""
    return [
        Piece(
            name=f"length{length:02d}-seed{seed:03d}",
            settings={"length": length, "seed": seed, "per_label": settings["per_label"]},
        )
        for length in settings["lengths"]
        for seed in range(settings["seeds"])
    ]


def run(piece: Piece, context: Context) -> dict[str, Any]:
    """Measure one pair."""
    pair = close_distributions_pair(
        np.random.default_rng(piece.settings["seed"]),
        length=float(piece.settings["length"]),
        per_label=piece.settings["per_label"],
    )
    models = ModelPair.of(pair.prime.f, pair.prime.g, pair.star.f, pair.star.g)
    gaps, llv = pairwise_gaps(models), d_llv(models)
    return {
        "kl": models.likelihoods.kl,
        "t1_best": llv.t1,
        "t2_best": llv.t2,
        "t1_least_leave_one_out": least_leaving_one_out(gaps),
        "t1_worst": float(np.nanmax(gaps)),
        "svd_f_best": d_svd(models).value,
        "svd_f_largest": d_svd(models, anchors="search").value,
        "svd_g_best": d_svd(models, of="g").value,
        "mcca_f": cca(pair.prime.f, pair.star.f, held_out=False).mean,
        "bound": llv.bound_f,
    }


def least_leaving_one_out(gaps: np.ndarray) -> float:
    """T_1 by the authors' program: the pivot and the one label left out that make it least."""
    return float(
        np.sort(gaps, axis=1)[:, -3].min()
    )  # NaN sorts last, then the largest, which is left out


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Every measure by length, over draws."""
    lengths = sorted({int(record.settings["length"]) for record in records})
    by_length = {
        str(length): [r for r in records if r.settings["length"] == length] for length in lengths
    }
    return {
        "lengths": lengths,
        **{
            name: {
                length: Value.of([float(record.values[name]) for record in found])
                for length, found in by_length.items()
            }
            for name in _MEASURES
        },
    }


_CURVES = (
    (
        "t1_least_leave_one_out",
        "$T_1$ of $d_{LLV}$, least over pivots (0 when equal)",
        RED,
        "--",
        "^",
    ),
    ("svd_f_largest", "$d_{SVD}$ of f (0 when equal)", BLUE, "-", "o"),
    ("mcca_f", "mean CCA of f (1 when equal)", GREY, "-.", "D"),
)


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the divergence on the left, what does not follow it on the right."""
    values = summary["values"]
    lengths = values["lengths"]

    def curve(name: str) -> np.ndarray:
        return np.array([values[name][str(length)]["mean"] for length in lengths])

    figure, axes = panels(1, 2, width=9.6, height=4.1)
    left, right = axes.flat
    left.plot(lengths, curve("kl"), "o-", color="black", ms=4)
    left.set(yscale="log", xlabel="length $|g(y)|$", ylabel="KL divergence, nats (log scale)")
    left.set_title("the distributions come together ...", fontsize=10, loc="left")
    for name, label, color, style, mark in _CURVES:
        right.plot(lengths, curve(name), color=color, ls=style, marker=mark, ms=4, label=label)
    right.set(xlabel="length $|g(y)|$", ylabel="distance or similarity", ylim=(-0.05, 1.7))
    right.set_title("... the log-likelihoods and the embeddings do not", fontsize=10, loc="left")
    right.legend(frameon=False, fontsize=8.5, loc="upper right")
    for ax in (left, right):
        ax.set_xticks(lengths[:: max(1, len(lengths) // 7)])
    save(figure, path)


DIVERGENCE = Reproduction(
    paper="nielsen-2024",
    figure="divergence",
    claim="The divergence goes to 0, the representations stay dissimilar (Nielsen et al. 2025, Table 1).",
    scales={
        "smoke": {"lengths": [1, 20], "seeds": 1, "per_label": 50},
        "small": {"lengths": [1, 5, 10, 15, 20], "seeds": 3, "per_label": 500},
        "paper": {"lengths": list(range(1, 21)), "seeds": 10, "per_label": 500},
    },
    pieces=pieces,
    run=run,
    summarise=summarise,
    draw=draw,
)
