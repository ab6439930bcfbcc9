"""Training populations of semantic learners, and what is written down on the way.

Each model of a population has its own split of the samples, its own order of batches and its own
initialisation, all drawn from its seed, so that its numbers do not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from samespace.errors import OptionError, ShapeError
from samespace.learn.semantic import Classifiers, ContrastiveModels
from samespace.learn.stacked_transformer import StackedParameters

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to train; the defaults are the paper's.

    Parameters
    ----------
    epochs, batch, learning_rate, weight_decay
        Of Adam; the decay is added to the gradient, as in ``torch.optim.Adam``.
    every
        Epochs between two evaluations; the state before training is evaluated too.
    """

    epochs: int = 10_000
    batch: int = 32
    learning_rate: float = 1e-4
    weight_decay: float = 1e-2
    every: int = 10

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.every) < 1:
            raise OptionError(
                f"epochs, batch and every are at least 1; got {self.epochs}, {self.batch}, {self.every}."
            )

    def evaluations(self) -> Int[Array, " evaluations"]:
        """Return the epochs after which models are evaluated, 0 first."""
        return np.arange(0, self.epochs + 1, self.every)


@dataclass(frozen=True, kw_only=True)
class Split:
    """For each model of a population the samples it trains on and those it is judged by."""

    train: Int[Tensor, "models n_train"]
    held_out: Int[Tensor, "models n_held_out"]

    @classmethod
    def of(
        cls, probability: Float[Array, " samples"], seeds: Sequence[int], *, share: float = 0.8
    ) -> Split:
        """Split the samples once per seed.

        Held-out samples are drawn among the least probable ones: where a data set gives some of its
        samples more weight (appendix A.10), holding one of these out would remove the very preference
        that the model should be shown. For a uniform distribution that is no restriction.
        """
        n = len(probability)
        n_held_out = n - int(share * n)
        common = np.flatnonzero(np.isclose(probability, probability.min()))
        if not 0 < n_held_out <= len(common):
            raise OptionError(
                f"share {share} of {n} samples leaves {n_held_out} to hold out, of which {len(common)} may "
                "be; choose a share that leaves some on both sides."
            )
        held_out = [
            np.random.default_rng(s).choice(common, n_held_out, replace=False) for s in seeds
        ]
        train = [np.setdiff1d(np.arange(n), one) for one in held_out]
        return cls(
            train=torch.from_numpy(np.stack(train)), held_out=torch.from_numpy(np.stack(held_out))
        )


@dataclass(frozen=True, kw_only=True)
class ContrastiveHistory:
    """What became of the symbols' embeddings.

    Attributes
    ----------
    epochs
        When they were measured.
    distances
        Euclidean distances between the symbols of each model, in the order of ``numpy.triu_indices(n, 1)``.
    loss
        In-batch loss, mean over the last epoch before each evaluation; nan before training.
    symbols
        The tables at the end.
    """

    epochs: Int[Array, " evaluations"]
    distances: Float[Array, "evaluations models pairs"]
    loss: Float[Array, "evaluations models"]
    symbols: Float[Tensor, "models symbols d"]


@dataclass(frozen=True, kw_only=True)
class AccuracyHistory:
    """Accuracy on the samples held out, and the training loss, as in `ContrastiveHistory`."""

    epochs: Int[Array, " evaluations"]
    accuracy: Float[Array, "evaluations models"]
    loss: Float[Array, "evaluations models"]


def train_contrastive(
    models: ContrastiveModels,
    symbol: Int[Array, " samples"],
    context: Int[Array, "samples length"],
    probability: Float[Array, " samples"],
    *,
    seeds: Sequence[int],
    recipe: Recipe,
    progress: Progress | None = None,
) -> ContrastiveHistory:
    """Train a population on pairs of symbols and contexts with the in-batch objective of Eq. 2."""
    _one_seed_each(models.parameters, seeds)
    device = models.parameters.flat.device
    symbols, contexts = (torch.from_numpy(part).to(device) for part in (symbol, context))
    size = models.symbol_table().shape[1]
    pairs = torch.triu_indices(size, size, offset=1)
    measured: list[Tensor] = []

    def measure() -> None:
        table = models.symbol_table()
        measured.append(torch.cdist(table, table)[:, pairs[0], pairs[1]].cpu())

    losses = _train(
        models.parameters,
        lambda rows: models.loss(symbols[rows], contexts[rows]),
        batches(Split.of(probability, seeds).train, probability, seeds, recipe.batch, device),
        measure,
        recipe,
        progress,
    )
    return ContrastiveHistory(
        epochs=recipe.evaluations(),
        distances=torch.stack(measured).numpy(),
        loss=losses,
        symbols=models.symbol_table(),
    )


def train_classifiers(
    models: Classifiers,
    tokens: Int[Array, "samples length"],
    label: Int[Array, " samples"],
    *,
    seeds: Sequence[int],
    recipe: Recipe,
    progress: Progress | None = None,
) -> AccuracyHistory:
    """Train a population on equally probable labelled sequences; seeds may repeat within it."""
    _one_seed_each(models.parameters, seeds)
    device = models.parameters.flat.device
    sequences, labels = (torch.from_numpy(part).to(device) for part in (tokens, label))
    probability = np.full(len(label), 1.0 / len(label))
    split = Split.of(probability, seeds)
    held_out = split.held_out.to(device)
    accuracies: list[Tensor] = []

    def measure() -> None:
        with torch.no_grad():
            accuracies.append(models.accuracy(sequences[held_out], labels[held_out]).cpu())

    losses = _train(
        models.parameters,
        lambda rows: models.loss(sequences[rows], labels[rows]),
        batches(split.train, probability, seeds, recipe.batch, device),
        measure,
        recipe,
        progress,
    )
    return AccuracyHistory(
        epochs=recipe.evaluations(), accuracy=torch.stack(accuracies).numpy(), loss=losses
    )


def batches(
    train: Int[Tensor, "models n"],
    probability: Float[Array, " samples"],
    seeds: Sequence[int],
    batch: int,
    device: torch.device,
) -> Iterator[list[Tensor]]:
    """Yield epochs for ever, each a list of row numbers (models, at most `batch`), drawn per model.

    Equally probable samples are shuffled; others are drawn with replacement by their probability.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    weights = torch.from_numpy(probability)[train]
    uniform = bool(torch.allclose(weights, weights[:, :1]))
    n = train.shape[1]
    while True:
        if uniform:
            order = torch.stack([torch.randperm(n, generator=one) for one in generators])
        else:
            order = torch.stack(
                [
                    torch.multinomial(row, n, replacement=True, generator=one)
                    for row, one in zip(weights, generators, strict=True)
                ]
            )
        yield list(torch.functional.split(train.gather(1, order).to(device), batch, dim=1))


def _train(
    parameters: StackedParameters,
    loss_of: Callable[[Tensor], Tensor],
    epochs: Iterator[list[Tensor]],
    measure: Callable[[], None],
    recipe: Recipe,
    progress: Progress | None,
) -> Float[Array, "evaluations models"]:
    """Run the epochs, measuring on schedule, and return the mean losses of the epochs measured after."""
    optimiser = torch.optim.Adam(
        [parameters.flat], lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True
    )
    measure()
    losses = [torch.full((parameters.flat.shape[0],), torch.nan)]
    for epoch in range(1, recipe.epochs + 1):
        total = torch.zeros(parameters.flat.shape[0], device=parameters.flat.device)
        rows = next(epochs)
        for batch in rows:
            loss = loss_of(batch)
            # Models share no parameter, so the gradient of the sum is each model's own gradient.
            torch.autograd.backward(loss.sum())
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            total += loss.detach()
        if epoch % recipe.every == 0:
            measure()
            losses.append((total / len(rows)).cpu())
        if progress is not None:
            progress("epochs", epoch, recipe.epochs)
    return torch.stack(losses).double().numpy()


def _one_seed_each(parameters: StackedParameters, seeds: Sequence[int]) -> None:
    models = parameters.flat.shape[0]
    if models != len(seeds):
        raise ShapeError(
            f"Each model draws its samples from a seed of its own: {models} models need {models} seeds, got "
            f"{len(seeds)}."
        )
