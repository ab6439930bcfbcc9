"""What the loss says of the latents themselves: would it be content with the map that the theorems name?

For a row of Table 1 an encoder that recovers the latents is, on its data, z times a scale (rotations change
no similarity of p = 0 and 2). Its loss, at the best scale, is what a trained encoder should reach; one that
gets *below* it has found something that the loss likes better than the latents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samespace.reproduce.figure import canvas, save
from samespace.reproduce.record import Record
from samespace.reproduce.registry import Context, Piece, Reproduction, Settings
from samespace.reproduce.zimmermann_2021.rows import PAPER, rows_of

if TYPE_CHECKING:
    from samespace.worlds.samples import Pairs

_SCALES: dict[str, Settings] = {
    "smoke": {"n": 3, "batch": 256, "batches": 2},
    "small": {"n": 5, "batch": 512, "batches": 20},
    "paper": {"n": 10, "batch": 6144, "batches": 4},
}
_LARGEST = 50.0
"""Up to which scale the best is searched: latents of a box of side 1, their pairs 0.05 apart, ask for 14."""


def _pieces(settings: Settings) -> list[Piece]:
    return [
        Piece(name=f"row{number:02d}", settings={**settings, **_world(row), "seed": 0})
        for number, row in enumerate(rows_of("table1"), start=1)
    ]


def _world(row: Mapping[str, Any]) -> Settings:
    names = ("space", "marginal", "conditional", "model_space", "model_p")
    return {name: row[name] for name in names}


def _run(piece: Piece, context: Context) -> dict[str, Any]:
    """Return the least loss of the scaled latents, and the scale; on a sphere the scale is 1."""
    import torch
    from scipy.optimize import minimize_scalar

    from samespace.learn.contrastive import contrastive
    from samespace.learn.encoders import generators_of
    from samespace.learn.similarity import DotProduct, PowerDistance
    from samespace.reproduce.zimmermann_2021.experiment import latent_world

    settings = piece.settings
    [generator] = generators_of([settings["seed"]], stream=6, device=context.device)
    world = latent_world(settings, torch.nn.Identity())
    drawn = [world.pairs(settings["batch"], generator) for _ in range(settings["batches"])]
    p = settings["model_p"]
    similarity = DotProduct() if p == 0 else PowerDistance(p)

    def loss(scale: float) -> float:
        def of(pairs: Pairs) -> float:
            z = scale * pairs.z
            return float(contrastive(z, scale * pairs.z_positive, z, similarity=similarity).mean())

        return math.fsum(map(of, drawn)) / len(drawn)

    if settings["model_space"] == "sphere":
        return {"loss": loss(1.0), "scale": 1.0}
    found = minimize_scalar(
        lambda log_scale: loss(math.exp(log_scale)),
        bounds=(math.log(0.05), math.log(_LARGEST)),
        method="bounded",
        options={"xatol": 0.02},
    )
    return {"loss": float(found.fun), "scale": math.exp(found.x)}


def _summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return, per row, the latents' loss, the scale, and the loss of what tells no rows apart."""
    return {
        record.piece: {
            **_world(record.settings),
            **record.values,
            "chance": math.log(record.settings["batch"] + 1),
        }
        for record in records
    }


def _draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the latents' loss in every row."""
    values = summary["values"]
    figure, axes = canvas(width=7.0, height=0.8 + 0.28 * len(values))
    for height, one in enumerate(reversed(values.values())):
        axes.plot(one["loss"], height, "o", color="0.1", ms=5)
        axes.plot(one["chance"], height, "|", color="0.5", ms=9)
    names = [
        f"{name[3:].lstrip('0')}: {one['space']}, {one['marginal']}, {one['conditional']} | "
        f"p = {one['model_p']}"
        for name, one in values.items()
    ]
    axes.set_yticks(range(len(names)), names[::-1])
    axes.set_xlabel("loss of the latents [nats]; bars: chance")
    save(figure, path)


LATENTS = Reproduction(
    paper=PAPER,
    figure="latents",
    claim="What a row's loss is at the latents themselves, at their best scale: an encoder below it has "
    "found something that the loss prefers to an affine map.",
    scales=_SCALES,
    pieces=_pieces,
    run=_run,
    summarise=_summarise,
    draw=_draw,
)
