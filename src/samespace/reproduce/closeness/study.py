"""One condition: a population of classifiers, its pairs measured at every stage of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.maps import Affine
from samespace.moments import Moments
from samespace.theory import ModelPair, d_llv, d_svd

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.reproduce.registry import Context, Piece

MEASURES = (
    "t1",
    "t2",
    "llv",
    "llv_low",
    "llv_high",
    "log_odds_gap",
    "svd",
    "svd_low",
    "svd_high",
    "svd_g",
    "unexplained_odds",
    "affine_error",
    "kl",
    "loss_gap",
    "loss",
)


def run(piece: Piece, context: Context) -> dict[str, Any]:
    """Train the population; return every pair's measures at every stage."""
    # Torch is needed only to train; the rest of `reproduce` must import without it.
    import torch

    from samespace.learn.baselines import cross_entropy
    from samespace.learn.encoders import Classifier, StackedMLP
    from samespace.learn.streams import WorldStream
    from samespace.learn.training import Recipe, train

    s = piece.settings
    seeds = range(2 * s["pairs"])
    f = StackedMLP(seeds, [2 + s["noise"], *s["widths"], s["dim"]])
    model = Classifier(f, seeds, labels=s["classes"], d=s["dim"]).to(context.device)
    draw = sampler(s)
    held_out = draw(s["held_out"], torch.Generator().manual_seed(1_000_000))
    history = train(
        model,
        WorldStream(
            [lambda generator: draw(s["batch"], generator)] * len(seeds),
            seeds,
            device=context.device,
        ),
        lambda model, batch: cross_entropy(model(batch.x), batch.labels),
        Recipe(steps=s["steps"], learning_rate=s["learning_rate"], schedule="cosine"),
        evaluate=lambda model: measure(model, held_out),
        every=s["every"],
        checkpoint=context.workspace / "unfinished.pt",
        progress=context.progress,
    )
    curves = {name: [scores[name] for scores in history.scores] for name in MEASURES}
    return {"steps": history.steps, "curves": curves}


def sampler(settings: Any) -> Any:
    """Return the function (rows, generator) -> labelled sample of the condition's world."""
    from samespace.worlds.radial import RadialWorld

    world = RadialWorld(classes=settings["classes"], sd=settings["sd"], noise=settings["noise"])
    if settings["world"] == "sectors":
        return world.labelled
    return lambda rows, generator: soft(
        world.labelled(rows, generator), settings["classes"], settings["sharpness"], generator
    )


def soft(sample: Any, classes: int, sharpness: float, generator: Any) -> Any:
    """Redraw the labels from p(y|z) ~ exp(sharpness z'u_y / |z|), u_y evenly spaced: in the family."""
    import torch

    from samespace.worlds.samples import Labelled

    angles = 2 * torch.pi * torch.arange(classes, device=sample.z.device) / classes
    directions = torch.stack((angles.cos(), angles.sin()), dim=-1)
    unit = sample.z / sample.z.norm(dim=-1, keepdim=True)
    p = torch.softmax(sharpness * unit @ directions.mT, dim=-1)
    labels = torch.multinomial(p, 1, generator=generator)[:, 0]
    return Labelled(z=sample.z, x=sample.x, labels=labels)


def measure(model: Any, held_out: Any) -> dict[str, list[Any]]:
    """Compare every pair of neighbouring seeds on inputs that no member saw."""
    members = len(model.g)
    x = held_out.x.to(model.g.device).expand(members, -1, -1)
    F, G = (part.double().cpu().numpy() for part in (model.f(x), model.g))
    observed = held_out.labels.cpu().numpy()
    rows = [_pair(F[i], G[i], F[i + 1], G[i + 1], observed) for i in range(0, members, 2)]
    return {name: [float(f"{row[name]:.6g}") for row in rows] for name in MEASURES}


def _pair(
    f: Float[Array, "n m"],
    g: Float[Array, "k m"],
    f_star: Float[Array, "n m"],
    g_star: Float[Array, "k m"],
    observed: Array,
) -> dict[str, float]:
    models = ModelPair.of(f, g, f_star, g_star, observed=observed)
    llv, gap = d_llv(models), models.likelihoods
    svd, svd_g = d_svd(models), d_svd(models, of="g")
    losses = np.array([gap.loss, gap.loss_star], dtype=np.float64)
    return {
        "t1": llv.t1,
        "t2": llv.t2,
        "llv": llv.value,
        "llv_low": llv.low or 0.0,
        "llv_high": llv.high or 0.0,
        "log_odds_gap": llv.log_odds_gap_f,
        "svd": svd.value,
        "svd_low": svd.low or 0.0,
        "svd_high": svd.high or 0.0,
        "svd_g": svd_g.value,
        "unexplained_odds": svd.unexplained,
        "affine_error": affine_error(f, f_star),
        "kl": gap.kl,
        "loss_gap": float(np.ptp(losses)),
        "loss": float(losses.mean()),
    }


def affine_error(f: Float[Array, "n m"], f_star: Float[Array, "n m"]) -> float:
    """Share of f*'s variance that an affine map fitted on nine folds leaves on the tenth."""
    moments = Moments.of(f, f_star)
    left = whole = 0.0
    for k in range(moments.folds):
        test = moments.fold(k)
        fitted = Affine.fit(moments.without(k), ridge=0.0)
        spread = float(np.trace(test.Syy))
        left += (1.0 - fitted.score(test)) * spread
        whole += spread
    return left / whole
