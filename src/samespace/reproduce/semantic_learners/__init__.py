"""Figures 2 and 4 to 8 of "Contrastive learners are semantic learners", and a study of misalignment.

A population of symbol tables is trained on CModAdd, the distances between symbols within and between
equivalence classes are followed, and classifiers of ModAdd start from the symbols or at random. A figure is
one piece: its seeds are trained as one population. ``reproductions/semantic_learners/README.md`` numbers
what the paper leaves open and what was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.record import Record
from samespace.reproduce.registry import Context, Piece, Reproduction, Settings, register
from samespace.reproduce.semantic_learners import misalignment, verdicts

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from numpy import ndarray as Array

    from samespace.learn.semantic_training import ContrastiveHistory

PAPER = "semantic-learners"

# What section 5 gives, and below the line what it leaves open.
_COMMON: dict[str, Any] = {
    "numbers": 16,
    "modulus": 8,
    "width": 8,
    "weight_decay": 1e-2,
    "symbol_sd": 1.0,
    "concentration": None,
    "batch": 32,
    "encoder_width": 32,
    "heads": 2,
    "feed_forward": 4,  # times the width of the transformer
    "layers": 3,
    "every": 10,
}

# A tenth of the epochs at ten times the learning rate: Adam walks as far and decays as much.
_SCALES: dict[str, dict[str, Any]] = {
    "smoke": {"seeds": 2, "epochs": 10, "learning_rate": 1e-3},
    "small": {"seeds": 5, "epochs": 500, "learning_rate": 1e-3},
    "paper": {"seeds": 5, "epochs": 10_000, "learning_rate": 1e-4},
}

# Width 128 costs ten times as much a step: three seeds and fewer epochs keep the small scale small.
_WIDE = {"small": {"seeds": 3, "epochs": 200}}

_POINTS = 101  # of each curve that a record keeps


def run(piece: Piece, context: Context) -> dict[str, Any]:
    """Train one figure's populations and return their curves and final distances."""
    from samespace.learn.semantic_training import Recipe

    settings = piece.settings
    recipe = Recipe(
        **{k: settings[k] for k in ("epochs", "batch", "learning_rate", "weight_decay", "every")}
    )
    history = _contrastive(settings, recipe, context)
    within = _within(settings)
    values = _distance_values(history, within)
    if settings["classify"]:
        values |= _classified(settings, recipe, history, context)
    return values


def _contrastive(settings: Settings, recipe: Any, context: Context) -> ContrastiveHistory:
    from samespace.learn.semantic import ContrastiveModels
    from samespace.learn.semantic_training import train_contrastive
    from samespace.worlds.modular import CModAdd

    world = CModAdd(**{k: settings[k] for k in ("numbers", "modulus", "concentration")})
    data, seeds = world.triplets(), range(settings["seeds"])
    models = ContrastiveModels.initial(
        _shape(settings, length=3, width=settings["encoder_width"], outputs=settings["width"]),
        symbols=settings["numbers"],
        seeds=seeds,
        symbol_sd=settings["symbol_sd"],
        device=context.device,
    )
    return train_contrastive(
        models,
        data.symbol,
        data.context,
        data.probability,
        seeds=seeds,
        recipe=recipe,
        progress=context.progress,
    )


def _classified(
    settings: Settings, recipe: Any, history: ContrastiveHistory, context: Context
) -> dict[str, Any]:
    """Train classifiers from the symbols and at random, both halves of one population."""
    import torch

    from samespace.learn.semantic import Classifiers
    from samespace.learn.semantic_training import train_classifiers
    from samespace.worlds.modular import ModAdd

    seeds = list(range(settings["seeds"]))
    shape = _shape(settings, length=2, width=settings["width"], outputs=settings["modulus"])
    random = Classifiers.initial(shape, seeds=seeds).parameters.views()["token"].detach()
    # The rows drawn at random keep the standard deviation of the variant, as its symbols did.
    random = settings["symbol_sd"] * random[:, : settings["numbers"]]
    models = Classifiers.initial(
        shape,
        seeds=seeds + seeds,
        symbols=torch.cat([history.symbols.cpu(), random]),
        device=context.device,
    )
    tokens, labels = ModAdd(numbers=settings["numbers"], modulus=settings["modulus"]).samples()
    found = train_classifiers(
        models, tokens, labels, seeds=seeds + seeds, recipe=recipe, progress=context.progress
    )
    pretrained, at_random = np.split(found.accuracy, 2, axis=1)
    return {
        "accuracy": {
            "pretrained": _kept(pretrained),
            "random": _kept(at_random),
        },
        "epochs_to_95": {
            "pretrained": verdicts.first_time(found.epochs, pretrained >= 0.95),
            "random": verdicts.first_time(found.epochs, at_random >= 0.95),
        },
        "advantage": (pretrained - at_random).mean(axis=0).round(5).tolist(),
    }


def _shape(settings: Settings, *, length: int, width: int, outputs: int) -> Any:
    from samespace.learn.stacked_transformer import Shape

    return Shape(
        tokens=settings["numbers"] + 1,
        length=length,
        width=width,
        outputs=outputs,
        layers=settings["layers"],
        heads=settings["heads"],
        feed_forward=settings["feed_forward"] * width,
    )


def _within(settings: Settings) -> Bool[Array, " pairs"]:
    return _apart(settings) == 0


def _apart(settings: Settings) -> Array:
    """Return for each pair of symbols how far apart their classes lie on the circle of remainders."""
    i, j = np.triu_indices(settings["numbers"], 1)
    step = (i - j) % settings["modulus"]
    return np.minimum(step, settings["modulus"] - step)


def _distance_values(history: ContrastiveHistory, within: Bool[Array, " pairs"]) -> dict[str, Any]:
    inside, outside = history.distances[:, :, within], history.distances[:, :, ~within]
    ratio = inside.mean(axis=2) / outside.mean(axis=2)
    return {
        "epochs": _kept(history.epochs),
        "within": _spread(inside),
        "between": _spread(outside),
        "loss": _kept(history.loss[1:]),
        "ratio": ratio[-1].round(5).tolist(),
        "ratio_before": ratio[0].round(5).tolist(),
        "epochs_to_half": verdicts.first_time(history.epochs, ratio < 0.5),
        "final_distances": history.distances[-1].round(5).tolist(),
    }


def _spread(distances: Float[Array, "evaluations models pairs"]) -> dict[str, Any]:
    parts = {"mean": distances.mean(axis=2), "low": distances.min(axis=2), "high": distances.max(2)}
    return {name: _kept(part) for name, part in parts.items()}


def _kept(curve: Array) -> list[Any]:
    """Return at most `_POINTS` evaluations of a curve, the first and the last among them."""
    index = np.unique(np.linspace(0, len(curve) - 1, _POINTS).round().astype(int))
    return np.asarray(curve)[index].round(5).tolist()


def pieces(settings: Settings) -> Sequence[Piece]:
    """Return the figure's population, and beside a misaligned one its aligned control."""
    population = Piece(name="population", settings=settings)
    if settings["concentration"] is None:
        return [population]
    return [
        population,
        Piece(name="aligned-control", settings={**settings, "concentration": None}),
    ]


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Judge the claim by numbers; the curves stand beside them for the drawing."""
    named = {record.piece: record for record in records}
    main = named.get("population", records[0])
    control = named.get("aligned-control")
    summary = verdicts.measures(main, _apart(main.settings))
    if control is not None and control is not main:
        summary["aligned_control"] = verdicts.measures(control, _apart(control.settings))
    curves = {
        k: main.values[k] for k in ("epochs", "within", "between", "accuracy") if k in main.values
    }
    return {
        "claim_of_the_paper": _claims(main.figure, expected),
        "claims": verdicts.judged(main.figure, summary),
        **summary,
        "curves": curves,
    }


def _claims(figure: str, expected: Mapping[str, Any]) -> list[str]:
    return [part["claim"] for name, part in sorted(expected.items()) if figure == name]


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw the panels of the figure; matplotlib is imported only where something is drawn."""
    from samespace.reproduce.semantic_learners.drawing import draw_figure

    draw_figure(summary, path)


_FIGURES: dict[str, tuple[str, dict[str, Any]]] = {
    "fig2a": ("distances between symbols over contrastive training", {"classify": False}),
    "fig2b": ("accuracy from learned and from random embeddings", {}),
    "fig4": ("as Figure 2 with embeddings of width 128", {"width": 128, "encoder_width": 128}),
    "fig5": ("as Figure 2 without weight decay", {"weight_decay": 0.0}),
    "fig6": (
        "as Figure 2 without weight decay, small at first",
        {"weight_decay": 0.0, "symbol_sd": 0.02},
    ),
    "fig7": ("as Figure 2 with weight decay, small at first", {"symbol_sd": 0.02}),
    "fig8": ("as Figure 2 on misaligned contrastive data", {"concentration": 0.9}),
}


def _cut(figure: str, scale: str) -> dict[str, Any]:
    return _WIDE.get(scale, {}) if figure == "fig4" else {}


for _figure, (_claim, _changes) in _FIGURES.items():
    register(
        Reproduction(
            paper=PAPER,
            figure=_figure,
            claim=_claim,
            scales={
                name: {**_COMMON, "classify": True, **scale, **_changes, **_cut(_figure, name)}
                for name, scale in _SCALES.items()
            },
            pieces=pieces,
            run=run,
            summarise=summarise,
            draw=draw,
        )
    )

_CONCENTRATIONS = {
    "smoke": (None, 0.9),
    "small": (None, 0.05, 0.1, 0.2, 0.4, 0.9),
    "paper": (None, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9),
}

register(
    Reproduction(
        paper=PAPER,
        figure="misalignment",
        claim="the better two data sets are aligned, the more pre-training gains (not in the paper)",
        scales={
            name: {**_COMMON, "classify": True, **scale, "concentrations": _CONCENTRATIONS[name]}
            for name, scale in _SCALES.items()
        },
        pieces=misalignment.pieces,
        run=run,
        summarise=misalignment.summarise,
        draw=misalignment.draw,
    )
)
