"""One condition of Figure 2: a population of classifiers, and how its pairs come to agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.family.joint import unembedding_share
from samespace.maps import Affine
from samespace.measures.cca import cca
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.reproduce.registry import Context, Piece
    from samespace.worlds.samples import Labelled

KEPT = 300
"""Held-out inputs whose final embeddings a record keeps, for the verdicts and the pictures."""


def run(piece: Piece, context: Context) -> dict[str, Any]:
    """Train the condition's population and return its curves and its final embeddings."""
    # Torch is needed only to train; the rest of `reproduce` must import without it.
    import torch

    from samespace.learn.baselines import cross_entropy
    from samespace.learn.streams import WorldStream
    from samespace.learn.training import Recipe, train
    from samespace.worlds.radial import RadialWorld

    s = piece.settings
    seeds = range(2 * s["pairs"])
    world = RadialWorld(classes=s["classes"], sd=s["sd"], noise=s["noise"])
    held_out = world.labelled(s["held_out"], torch.Generator().manual_seed(1_000_000))
    model = population(s, seeds).to(context.device)
    draws = [lambda generator: world.labelled(s["batch"], generator)] * len(seeds)
    history = train(
        model,
        WorldStream(draws, seeds, device=context.device),
        lambda model, batch: cross_entropy(model(batch.x), batch.labels),
        Recipe(steps=s["steps"], learning_rate=s["learning_rate"]),
        evaluate=lambda model: measure(model, held_out),
        every=s["every"],
        checkpoint=context.workspace / "unfinished.pt",
        progress=context.progress,
    )
    curves = {name: [scores[name] for scores in history.scores] for name in history.scores[0]}
    return {"steps": history.steps, "curves": curves, "final": final(model, held_out)}


def population(settings: Any, seeds: range) -> Any:
    """Return the classifiers as one module: an MLP with a 2-D bottleneck, and a table of
    classes.
    """
    import torch

    from samespace.learn.encoders import Classifier, StackedMLP

    s = settings
    f = StackedMLP(seeds, [2 + s["noise"], *s["widths"], s["dim"]])
    model = Classifier(f, seeds, labels=s["classes"], d=s["dim"])
    with torch.no_grad():
        model.g.mul_(s["start"] / 0.01)  # the classifier draws its table with a spread of 0.01
    return model


def measure(model: Any, held_out: Labelled) -> dict[str, list[Any]]:
    """Score every member, and every pair of neighbouring seeds, on inputs that no member saw."""
    from samespace.learn.baselines import cross_entropy

    F, G, logits, labels = _outputs(model, held_out)
    pairs = [(i, i + 1) for i in range(0, len(F), 2)]
    return _rounded(
        {
            "loss": cross_entropy(logits, labels).tolist(),
            "accuracy": (logits.argmax(-1) == labels).double().mean(-1).tolist(),
            "cca_f": [float(cca(F[i], F[j], held_out=False).mean) for i, j in pairs],
            "cca_g": [label_correlation(G[i], G[j]) for i, j in pairs],
            "f_unexplained": [held_out_share(F[i], F[j]) for i, j in pairs],
            "g_unexplained": [turned_over_share(F[i], F[j], G[i], G[j]) for i, j in pairs],
        }
    )


def label_correlation(g: Float[Array, "k m"], other: Float[Array, "k m"]) -> float | None:
    """Return the mean CCA over labels, in sample; None where so few would read 1 in any case."""
    if len(g) <= 2 * g.shape[1]:
        return None
    return float(cca(_moments(g, other, folds=1), held_out=False).mean)


def held_out_share(f: Float[Array, "n m"], other: Float[Array, "n m"]) -> float:
    """Return the share of the other's variance that an affine map, fitted on 9 folds, leaves on the
    tenth.
    """
    moments = _moments(f, other, folds=10)
    maps = [Affine.fit(moments.without(k), ridge=0.0) for k in range(10)]
    left = [(1.0 - a.score(moments.fold(k))) * _spread(moments.fold(k)) for k, a in enumerate(maps)]
    return float(sum(left) / sum(_spread(moments.fold(k)) for k in range(10)))


def turned_over_share(
    f: Float[Array, "n m"],
    f_other: Float[Array, "n m"],
    g: Float[Array, "k m"],
    g_other: Float[Array, "k m"],
) -> float | None:
    """Return the share of the other's g that f's map, turned over, leaves; None if it has no
    inverse.
    """
    matrix = Affine.fit(_moments(f, f_other, folds=1), ridge=0.0).matrix
    return unembedding_share(_moments(g, g_other, folds=1), matrix)


def final(model: Any, held_out: Labelled) -> dict[str, Any]:
    """Return the first held-out inputs with every member's f of them and g of all labels."""
    import torch

    with torch.no_grad():
        F, G, _, _ = _outputs(model, held_out)
    return {
        "z": np.round(held_out.z[:KEPT].numpy(), 4),
        "labels": held_out.labels[:KEPT].numpy(),
        "f": np.round(F[:, :KEPT], 4),
        "g": np.round(G, 5),
    }


def _outputs(model: Any, held_out: Labelled) -> tuple[Array, Array, Any, Any]:
    members, device = len(model.g), model.g.device
    f = model.f(held_out.x.to(device).expand(members, -1, -1))
    labels = held_out.labels.to(device).expand(members, -1)
    F, G = (part.double().cpu().numpy() for part in (f, model.g))
    return F, G, f @ model.g.mT, labels


def _moments(x: Array, y: Array, *, folds: int) -> Moments:
    # Not Moments.of: there are fewer labels than rows that the gate asks for.
    moments = Moments(x.shape[1], y.shape[1], folds=folds, keep=0)
    moments.update(x, y)
    return moments


def _spread(moments: Moments) -> float:
    return float(np.trace(moments.Syy))


def _rounded(scores: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Six digits are more than any curve shows; None stands for what cannot be measured."""

    def six(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.6g}")

    return {name: [six(value) for value in values] for name, values in scores.items()}
