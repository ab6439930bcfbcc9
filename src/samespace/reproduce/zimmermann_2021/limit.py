"""Theorem 1 and Proposition A as an experiment: what L_contr - log M tends to, and how fast.

On the sphere with the latents uniform and p(z+ | z) = vMF(kappa), a model h(z) = sqrt(kappa_q) R z with R
orthogonal and tau = 1 has q(z+ | z) = vMF(kappa_q), and the limit is known in closed form:

    L_contr - log M -> L_align + L_uni = E_z H(p(. | z), q(. | z)) - log |Z|.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from samespace.reproduce.figure import canvas, save
from samespace.reproduce.record import Record, Value
from samespace.reproduce.registry import Context, Piece, Reproduction, Settings

_SCALES: dict[str, Settings] = {
    "smoke": {"n": 10, "anchors": 2048, "largest": 11, "seeds": 3},
    "small": {"n": 10, "anchors": 4096, "largest": 13, "seeds": 5},
    "paper": {"n": 10, "anchors": 16384, "largest": 16, "seeds": 5},
}
# (kappa of the world, kappa of the model): matched, too flat, too sharp
_CASES = ((1.0, 1.0), (10.0, 10.0), (10.0, 5.0), (10.0, 15.0))


def _pieces(settings: Settings) -> list[Piece]:
    return [
        Piece(
            name=f"kappa{kappa:g}-model{model:g}-seed{seed}",
            settings={
                **settings,
                "kappa": kappa,
                "model_kappa": model,
                "stream": stream,
                "seed": seed,
            },
        )
        for stream, (kappa, model) in enumerate(_CASES)
        for seed in range(settings["seeds"])
    ]


def _run(piece: Piece, context: Context) -> dict[str, Any]:
    """Return L_contr - log M for M = 2, 4, 8, ... and L_align + L_uni, all on fresh samples."""
    import torch

    from samespace.learn.contrastive import contrastive, limit
    from samespace.learn.encoders import generators_of
    from samespace.worlds import Sphere, VonMisesFisher

    settings, counts = piece.settings, [2**k for k in range(1, piece.settings["largest"] + 1)]
    sphere = Sphere(settings["n"])
    [generator] = generators_of(
        [settings["seed"]], stream=settings["stream"], device=context.device
    )
    z = sphere.uniform(settings["anchors"], generator)
    z_positive = VonMisesFisher(kappa=settings["kappa"]).draw(sphere, z, generator)
    negatives = sphere.uniform(counts[-1], generator)
    turn = torch.linalg.qr(torch.randn(sphere.n, sphere.n, generator=generator, device=z.device))[0]
    h = [math.sqrt(settings["model_kappa"]) * side @ turn for side in (z, z_positive, negatives)]
    losses = [
        float(contrastive(h[0], h[1], h[2][:count]).mean()) - math.log(count) for count in counts
    ]
    align, uniform = limit(*h)
    return {"negatives": counts, "losses": losses, "align": align, "uniform": uniform}


def _summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return, per case, the limit in closed form and what was measured; "paper" is the theorem's."""
    return {
        f"kappa {kappa:g}, model {model:g}": _case(own, kappa, model)
        for kappa, model in _CASES
        if (own := [r for r in records if _is(r.settings, kappa, model)])
    }


def _is(settings: Mapping[str, Any], kappa: float, model: float) -> bool:
    return bool(settings["kappa"] == kappa and settings["model_kappa"] == model)


def _case(records: Sequence[Record], kappa: float, model: float) -> dict[str, Any]:
    from samespace.worlds import Sphere, VonMisesFisher

    n = records[0].settings["n"]
    entropy = VonMisesFisher(kappa=kappa).cross_entropy(n, model_kappa=model)
    theorem = entropy - Sphere(n).log_volume
    # A few seeds know their own spread badly; that of the mean of kappa_q z'z+ is known exactly.
    variance = VonMisesFisher(kappa=kappa).cosine_variance(n) / records[0].settings["anchors"]
    margin = 2.0 * model * math.sqrt(variance / len(records))
    counts = records[0].values["negatives"]
    return {
        "limit": theorem,
        "align_plus_uniform": Value.of(
            [r.values["align"] + r.values["uniform"] for r in records],
            paper=theorem,
            at_least=margin,
        ),
        "negatives": counts,
        "contrastive_minus_log_m": [
            Value.of(
                [r.values["losses"][k] for r in records],
                paper=theorem,
                at_least=margin,
                incomparable=None
                if count == counts[-1]
                else "on the way: the limit is for large M",
            )
            for k, count in enumerate(counts)
        ],
    }


def _draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the distance from the limit against M, on logarithmic axes: it falls as 1 / M."""
    figure, axes = canvas(width=5.0, height=3.4)
    for (label, case), marker in zip(summary["values"].items(), "osD^", strict=False):
        means = [value["mean"] for value in case["contrastive_minus_log_m"]]
        gaps = [abs(mean - case["limit"]) for mean in means]
        axes.loglog(case["negatives"], gaps, marker=marker, ms=4, label=label)
    axes.set_xlabel("negatives M")
    axes.set_ylabel("|L_contr - log M - limit| [nats]")
    axes.legend(frameon=False)
    save(figure, path)


LIMIT = Reproduction(
    paper="zimmermann-2021",
    figure="limit",
    claim="L_contr - log M tends to alignment plus uniformity, which is the cross-entropy between the "
    "latents' conditional and the model's, up to log |Z| (Theorem 1, Proposition A).",
    scales=_SCALES,
    pieces=_pieces,
    run=_run,
    summarise=_summarise,
    draw=_draw,
)
