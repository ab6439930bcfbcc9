"""What each model of a population sees in which epoch: a function of its seed and the epoch alone.

So a model's data do not depend on its neighbours or on the device, and a training that was killed goes on
from the number of its epoch without any state of a generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from samespace.errors import OptionError

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

# Drawn at once: enough that drawing costs little beside training, few enough to be held in memory.
EPOCHS = 50


@dataclass(frozen=True, kw_only=True)
class Split:
    """For each model of a population the samples it trains on and those it is judged by."""

    train: Int[Tensor, "models n_train"]
    held_out: Int[Tensor, "models n_held_out"]

    @classmethod
    def of(
        cls,
        probability: Float[Array, " samples"] | Float[Array, "models samples"],
        seeds: Sequence[int],
        *,
        share: float = 0.8,
    ) -> Split:
        """Split the samples once per seed.

        Held-out samples are drawn among the least probable ones: where a data set gives some of its
        samples more weight (appendix A.10), holding one of these out would remove the very preference
        that the model should be shown. For a uniform distribution that is no restriction.
        """
        held_out = [
            _held_out(row, seed, share)
            for row, seed in zip(each(probability, len(seeds)), seeds, strict=True)
        ]
        samples = np.arange(np.shape(probability)[-1])
        train = [np.setdiff1d(samples, one) for one in held_out]
        return cls(
            train=torch.from_numpy(np.stack(train)), held_out=torch.from_numpy(np.stack(held_out))
        )


def _held_out(probability: Float[Array, " samples"], seed: int, share: float) -> Array:
    n = len(probability)
    n_held_out = n - int(share * n)
    common = np.flatnonzero(np.isclose(probability, probability.min()))
    if not 0 < n_held_out <= len(common):
        raise OptionError(
            f"share {share} of {n} samples leaves {n_held_out} to hold out, of which {len(common)} may "
            "be; choose a share that leaves some on both sides."
        )
    return np.random.default_rng(seed).choice(common, n_held_out, replace=False)


def each(probability: Array, models: int) -> Float[Array, "models samples"]:
    """Return one distribution per model, where one for all of them may be given."""
    return np.broadcast_to(probability, (models, np.shape(probability)[-1]))


class EpochOrders:
    """The order of samples in every epoch, for every model.

    Equally probable samples are shuffled; others are drawn with replacement by their probability.

    Parameters
    ----------
    train
        Which samples each model trains on (models, n).
    probability
        Of every sample, (samples,) or (models, samples).
    seeds
        One per model. Models of one seed and one data set see the same samples in the same order.
    """

    def __init__(
        self, train: Int[Tensor, "models n"], probability: Array, seeds: Sequence[int]
    ) -> None:
        self.train, self.seeds = train.numpy(), list(seeds)
        weights = np.take_along_axis(each(probability, len(self.seeds)), self.train, axis=1)
        self.cumulative = np.cumsum(weights, axis=1)
        self.cumulative /= self.cumulative[:, -1:]
        self.uniform = np.isclose(weights, weights[:, :1]).all(axis=1)

    def block(self, number: int) -> Int[Tensor, "epochs models n"]:
        """Return the sample numbers of epochs ``number * EPOCHS`` up to the next block's first."""
        drawn: dict[tuple[int, bytes], Array] = {}
        blocks = []
        for model, seed in enumerate(self.seeds):
            key = (seed, self.train[model].tobytes() + self.cumulative[model].tobytes())
            if key not in drawn:
                drawn[key] = self._drawn(model, np.random.default_rng([seed, number]))
            blocks.append(drawn[key])
        return torch.from_numpy(np.stack(blocks, axis=1))

    def _drawn(self, model: int, rng: np.random.Generator) -> Int[Array, "epochs n"]:
        train = self.train[model]
        if self.uniform[model]:
            return rng.permuted(np.tile(train, (EPOCHS, 1)), axis=1)
        places = np.searchsorted(
            self.cumulative[model], rng.random((EPOCHS, len(train))), side="right"
        )
        return train[places]
