"""How a population is trained epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError, ShapeError

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array


@dataclass(frozen=True, kw_only=True)
class EpochRecipe:
    """How to train; the defaults are the paper's.

    Parameters
    ----------
    epochs, batch, learning_rate
        Of Adam.
    weight_decay
        Added to the gradient, as in ``torch.optim.Adam``; one number, or one for each model.
    every
        Epochs between two evaluations; the state before training is evaluated too.
    """

    epochs: int = 10_000
    batch: int = 32
    learning_rate: float = 1e-4
    weight_decay: float | tuple[float, ...] = 1e-2
    every: int = 10

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.every) < 1:
            raise OptionError(
                f"epochs, batch and every are at least 1; got {self.epochs}, {self.batch}, {self.every}."
            )

    def evaluations(self) -> Int[Array, " evaluations"]:
        """Return the epochs after which models are evaluated, 0 first."""
        return np.arange(0, self.epochs + 1, self.every)

    def decays(self, models: int) -> tuple[float, ...]:
        """Return the weight decay of each model."""
        if isinstance(self.weight_decay, float | int):
            return (float(self.weight_decay),) * models
        if len(self.weight_decay) != models:
            raise ShapeError(
                f"weight_decay is one number, or one for each model: {models} models got "
                f"{len(self.weight_decay)} of them."
            )
        return self.weight_decay
