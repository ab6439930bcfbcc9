"""Training populations of semantic learners, and what is written down on the way.

Each model of a population has its own split of the samples, its own order of batches, its own
initialisation and its own data set and weight decay, so that its numbers do not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from samespace.learn.epoch_orders import EpochOrders, Split, each
from samespace.learn.epoch_recipe import EpochRecipe
from samespace.learn.population_training import Progress, Training, train
from samespace.learn.semantic import Classifiers, ContrastiveModels

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


@dataclass(frozen=True, kw_only=True)
class ContrastiveHistory:
    """What became of the symbols' embeddings, and of the contexts'.

    Attributes
    ----------
    epochs
        When they were measured.
    symbols
        The tables of symbols.
    context_covariance
        Of the embeddings of contexts, each as probable as in the data; None unless it was watched.
    loss
        In-batch loss, mean over the last epoch before each evaluation; nan before training.
    """

    epochs: Int[Array, " evaluations"]
    symbols: Float[Array, "evaluations models symbols d"]
    context_covariance: Float[Array, "evaluations models d d"] | None
    loss: Float[Array, "evaluations models"]

    def differences(self) -> Float[Array, "evaluations models pairs d"]:
        """Return what separates each pair of symbols, in the order of ``numpy.triu_indices(n, 1)``."""
        i, j = np.triu_indices(self.symbols.shape[2], 1)
        return self.symbols[:, :, i] - self.symbols[:, :, j]

    def distances(self) -> Float[Array, "evaluations models pairs"]:
        """Return the Euclidean distance of each pair of symbols."""
        return np.linalg.norm(self.differences(), axis=-1)

    def select(self, models: Sequence[int]) -> ContrastiveHistory:
        """Return the history of some of the models."""
        rows, covariance = list(models), self.context_covariance
        return ContrastiveHistory(
            epochs=self.epochs,
            symbols=self.symbols[:, rows],
            context_covariance=None if covariance is None else covariance[:, rows],
            loss=self.loss[:, rows],
        )


@dataclass(frozen=True, kw_only=True)
class AccuracyHistory:
    """Accuracy on the samples held out, and the training loss, as in `ContrastiveHistory`."""

    epochs: Int[Array, " evaluations"]
    accuracy: Float[Array, "evaluations models"]
    loss: Float[Array, "evaluations models"]

    def select(self, models: Sequence[int]) -> AccuracyHistory:
        """Return the history of some of the models."""
        rows = list(models)
        return AccuracyHistory(
            epochs=self.epochs, accuracy=self.accuracy[:, rows], loss=self.loss[:, rows]
        )


class ContrastiveTraining:
    """A population on pairs of symbols and contexts with the in-batch objective of Eq. 2.

    Parameters
    ----------
    models
        Trained in place.
    symbol, context
        The samples.
    probability
        Of each sample; one distribution, or one for each model.
    seeds
        Of the splits and orders.
    recipe, checkpoint, captured
        As for `Training`.
    watch
        Whether to follow the covariance of the contexts' embeddings too.
    """

    def __init__(
        self,
        models: ContrastiveModels,
        symbol: Int[Array, " samples"],
        context: Int[Array, "samples length"],
        probability: Float[Array, " samples"] | Float[Array, "models samples"],
        *,
        seeds: Sequence[int],
        recipe: EpochRecipe,
        checkpoint: Path | None = None,
        watch: bool = False,
        captured: bool = True,
    ) -> None:
        self._recipe = recipe
        device = models.parameters.flat.device
        symbols, contexts = (torch.from_numpy(part).to(device) for part in (symbol, context))
        everything = contexts.expand(len(seeds), *contexts.shape)
        weights = torch.tensor(each(probability, len(seeds)), dtype=torch.float32, device=device)

        def measure() -> dict[str, Tensor]:
            found = {"symbols": models.parameters.views()["symbol"]}
            if watch:
                found["covariance"] = covariance(models.encode(everything), weights)
            return found

        self.training = Training(
            models.parameters,
            lambda rows: models.loss(symbols[rows], contexts[rows]),
            measure,
            EpochOrders(Split.of(probability, seeds).train, probability, seeds),
            recipe,
            checkpoint=checkpoint,
            captured=captured,
            identity=f"contrastive {models.shape} {list(seeds)} {watch}",
        )

    def history(self) -> ContrastiveHistory:
        """Return what was measured so far."""
        found = {k: v.double().numpy() for k, v in self.training.history().items()}
        return ContrastiveHistory(
            epochs=self._recipe.evaluations(),
            symbols=found["symbols"],
            context_covariance=found.get("covariance"),
            loss=found["loss"],
        )


def covariance(embeddings: Tensor, weights: Tensor) -> Tensor:
    """Return each model's covariance of embeddings (models, n, d) under weights (models, n)."""
    mean = (weights.unsqueeze(1) @ embeddings) / weights.sum(dim=1).view(-1, 1, 1)
    centred = (embeddings - mean) * weights.sqrt().unsqueeze(-1)
    return centred.transpose(1, 2) @ centred


class ClassifierTraining:
    """A population of classifiers on equally probable labelled sequences; seeds may repeat within it."""

    def __init__(
        self,
        models: Classifiers,
        tokens: Int[Array, "samples length"],
        label: Int[Array, " samples"],
        *,
        seeds: Sequence[int],
        recipe: EpochRecipe,
        checkpoint: Path | None = None,
        captured: bool = True,
    ) -> None:
        self._recipe = recipe
        device = models.parameters.flat.device
        sequences, labels = (torch.from_numpy(part).to(device) for part in (tokens, label))
        probability = np.full(len(label), 1.0 / len(label))
        split = Split.of(probability, seeds)
        held_out = split.held_out.to(device)
        seen, truth = sequences[held_out], labels[held_out]
        self.training = Training(
            models.parameters,
            lambda rows: models.loss(sequences[rows], labels[rows]),
            lambda: {"accuracy": models.accuracy(seen, truth)},
            EpochOrders(split.train, probability, seeds),
            recipe,
            checkpoint=checkpoint,
            captured=captured,
            identity=f"classifiers {models.shape} {list(seeds)}",
        )

    def history(self) -> AccuracyHistory:
        """Return what was measured so far."""
        found = {k: v.double().numpy() for k, v in self.training.history().items()}
        return AccuracyHistory(epochs=self._recipe.evaluations(), **found)


def train_contrastive(
    *args: Any, progress: Progress | None = None, **kwargs: Any
) -> ContrastiveHistory:
    """Train one population to its end; arguments as for `ContrastiveTraining`."""
    one = ContrastiveTraining(*args, **kwargs)
    train([one.training], progress=progress)
    return one.history()


def train_classifiers(
    *args: Any, progress: Progress | None = None, **kwargs: Any
) -> AccuracyHistory:
    """Train one population to its end; arguments as for `ClassifierTraining`."""
    one = ClassifierTraining(*args, **kwargs)
    train([one.training], progress=progress)
    return one.history()
