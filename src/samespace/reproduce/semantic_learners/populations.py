"""Training many variants of the experiment as few populations, each variant with seeds of its own.

Variants whose models have equal shapes are one population: they differ in numbers (weight decay, initial
spread, data distribution) that each model has for itself. Populations of other shapes take turns. A variant's
result does not depend on which others are trained beside it, so a figure alone and all figures together run
the same code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.registry import Context, Progress, Settings

if TYPE_CHECKING:
    from samespace.learn.epoch_recipe import EpochRecipe
    from samespace.learn.semantic_training import AccuracyHistory, ContrastiveHistory
    from samespace.learn.stacked_transformer import Shape

# What all models of one population have in common; classifiers have no encoder and nothing to watch.
_CLASSIFIERS_SHARE = (
    *("numbers", "modulus", "width", "heads", "feed_forward", "layers"),
    *("batch", "epochs", "every", "learning_rate"),
)
_SYMBOLS_SHARE = (*_CLASSIFIERS_SHARE, "encoder_width", "watch")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one variant's training gave: its seeds are the models of each history."""

    contrastive: ContrastiveHistory
    pretrained: AccuracyHistory | None
    random: AccuracyHistory | None


def trained(variants: Sequence[Settings], context: Context) -> list[Outcome]:
    """Train every variant, equal ones once, and return their outcomes in order."""
    from samespace.learn.population_training import train

    keys = [_key(variant) for variant in variants]
    unique = dict(zip(keys, variants, strict=True))
    classified = {_key(v): v for v in variants if v["classify"]}
    first = [_Contrastive(group, context) for group in _groups(unique, _SYMBOLS_SHARE)]
    train([one.run.training for one in first], progress=_staged(context, "contrastive"))
    histories = {key: history for one in first for key, history in one.histories().items()}
    groups = _groups(classified, _CLASSIFIERS_SHARE)
    second = [_Classified(group, histories, context) for group in groups]
    train([one.run.training for one in second], progress=_staged(context, "classifying"))
    starts = {key: both for one in second for key, both in one.histories().items()}
    return [
        Outcome(
            contrastive=histories[key],
            pretrained=starts[key][0] if variant["classify"] else None,
            random=starts[key][1] if variant["classify"] else None,
        )
        for key, variant in zip(keys, variants, strict=True)
    ]


def _key(settings: Settings) -> str:
    """Name a contrastive training: all settings but those of what follows it."""
    after = ("classify", "points")
    return json.dumps({k: v for k, v in settings.items() if k not in after}, sort_keys=True)


def _groups(variants: Mapping[str, Settings], names: Sequence[str]) -> list[dict[str, Settings]]:
    """Group variants by what a population shares; of one decay side by side, which the optimiser needs."""
    found: dict[str, dict[str, Settings]] = {}
    for key, settings in sorted(variants.items(), key=lambda item: item[1]["weight_decay"]):
        shared = json.dumps([settings[name] for name in names])
        found.setdefault(shared, {})[key] = settings
    return list(found.values())


def _staged(context: Context, stage: str) -> Progress | None:
    progress = context.progress
    if progress is None:
        return None
    return lambda _, done, total: progress(f"{stage} epochs", done, total)


def _shape(settings: Settings, *, length: int, width: int, outputs: int) -> Shape:
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


def _recipe(settings: Settings, decays: Sequence[float]) -> EpochRecipe:
    from samespace.learn.epoch_recipe import EpochRecipe

    shared = {k: settings[k] for k in ("epochs", "batch", "learning_rate", "every")}
    return EpochRecipe(**shared, weight_decay=tuple(decays))


def _checkpoint(context: Context, kind: str, keys: Sequence[str]) -> Path:
    """Name a population's file after its members, so that no other takes it for its own."""
    name = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:12]
    return context.workspace / f"{kind}-{name}.pt"


class _Contrastive:
    """One population of symbol tables and context encoders."""

    def __init__(self, variants: Mapping[str, Settings], context: Context) -> None:
        from samespace.learn.semantic import ContrastiveModels
        from samespace.learn.semantic_training import ContrastiveTraining

        members = [(key, seed) for key, v in variants.items() for seed in range(v["seeds"])]
        settings, one = [variants[key] for key, _ in members], next(iter(variants.values()))
        seeds = [seed for _, seed in members]
        data = [_world(each) for each in settings]
        models = ContrastiveModels.initial(
            _shape(one, length=3, width=one["encoder_width"], outputs=one["width"]),
            symbols=one["numbers"],
            seeds=seeds,
            symbol_sd=[each["symbol_sd"] for each in settings],
            by_context=[each["by_context"] for each in settings],
            device=context.device,
        )
        self.keys = [key for key, _ in members]
        self.run = ContrastiveTraining(
            models,
            data[0].symbol,
            data[0].context,
            np.stack([each.probability for each in data]),
            seeds=seeds,
            recipe=_recipe(one, [each["weight_decay"] for each in settings]),
            checkpoint=_checkpoint(context, "contrastive", self.keys),
            captured=context.captured,
            watch=one["watch"],
        )

    def histories(self) -> dict[str, ContrastiveHistory]:
        whole = self.run.history()
        return {
            key: whole.select([row for row, name in enumerate(self.keys) if name == key])
            for key in dict.fromkeys(self.keys)
        }


def _world(settings: Settings) -> Any:
    from samespace.worlds.modular import CModAdd

    return CModAdd(**{k: settings[k] for k in ("numbers", "modulus", "concentration")}).triplets()


class _Classified:
    """One population of classifiers, from learned symbols and, of the same seeds, at random.

    Random starts have the standard deviation that the variant's symbols had, and depend on nothing else of
    it but the weight decay: variants that agree in these share them.
    """

    def __init__(
        self,
        variants: Mapping[str, Settings],
        histories: Mapping[str, ContrastiveHistory],
        context: Context,
    ) -> None:
        import torch

        from samespace.learn.semantic import Classifiers
        from samespace.learn.semantic_training import ClassifierTraining
        from samespace.worlds.modular import ModAdd

        starts: dict[str, Settings] = {}
        for key, each in variants.items():
            starts |= {key: each, _random_key(each): each}
        starts = dict(sorted(starts.items(), key=lambda item: item[1]["weight_decay"]))
        members = [(name, seed) for name, v in starts.items() for seed in range(v["seeds"])]
        one, seeds = next(iter(variants.values())), [seed for _, seed in members]
        shape = _shape(one, length=2, width=one["width"], outputs=one["modulus"])
        drawn = Classifiers.initial(shape, seeds=seeds).parameters.views()["token"].detach()
        tables = [
            torch.from_numpy(histories[name].symbols[-1, seed]).float()
            if name in variants
            else starts[name]["symbol_sd"] * drawn[member, : one["numbers"]]
            for member, (name, seed) in enumerate(members)
        ]
        models = Classifiers.initial(
            shape, seeds=seeds, symbols=torch.stack(tables), device=context.device
        )
        tokens, labels = ModAdd(numbers=one["numbers"], modulus=one["modulus"]).samples()
        self.names, self.variants = [name for name, _ in members], variants
        self.run = ClassifierTraining(
            models,
            tokens,
            labels,
            seeds=seeds,
            recipe=_recipe(one, [starts[name]["weight_decay"] for name in self.names]),
            checkpoint=_checkpoint(context, "classifiers", self.names),
            captured=context.captured,
        )

    def histories(self) -> dict[str, tuple[AccuracyHistory, AccuracyHistory]]:
        whole = self.run.history()

        def of(name: str) -> AccuracyHistory:
            return whole.select([row for row, one in enumerate(self.names) if one == name])

        return {key: (of(key), of(_random_key(each))) for key, each in self.variants.items()}


def _random_key(settings: Settings) -> str:
    return f"random {settings['symbol_sd']} {settings['weight_decay']} {settings['seeds']}"
