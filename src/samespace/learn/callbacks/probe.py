"""The question that every callback asks: how alike are the model's rows, now, and the reference's?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch

from samespace.measures import cca, cka, r2
from samespace.moments import Moments

Reading = Callable[[Moments], float | None]

HELD_OUT: Mapping[str, Reading] = MappingProxyType(
    {
        "cca": lambda m: cca(m).held_out_mean,
        "r2": lambda m: r2(m).held_out_mean,
        "cka": lambda m: cka(m).debiased,
    }
)
"""Measures that do not flatter small samples; the model's rows are X, the reference's Y."""


@dataclass(frozen=True, eq=False)
class SimilarityProbe:
    """Reads a model's representation of fixed inputs and measures how alike it is to a reference.

    Parameters
    ----------
    represent
        From the model to its rows (n, d) of the fixed inputs. Called in evaluation mode, without gradients;
        the model's mode is restored afterwards.
    reference
        Rows of the same inputs under the reference: an array, a path or a Representation.
    measures
        Name -> function of ``Moments.of(rows, reference)``; by default :data:`HELD_OUT`. A measure that is
        undefined (None) is left out of the report.
    prefix
        Put before each name, with a slash.

    Examples
    --------
    >>> import torch
    >>> from samespace.learn.callbacks import SimilarityProbe
    >>> inputs = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
    >>> probe = SimilarityProbe(represent=lambda model: model(inputs), reference=inputs)
    >>> {name: round(value, 3) for name, value in probe(torch.nn.Identity()).items()}
    {'similarity/cca': 1.0, 'similarity/r2': 1.0, 'similarity/cka': 1.0}
    """

    represent: Callable[[Any], Any]
    reference: Any
    measures: Mapping[str, Reading] = field(default_factory=lambda: HELD_OUT)
    prefix: str = "similarity"

    def __call__(self, model: Any) -> dict[str, float]:
        """Every measure's value for the model as it is now."""
        moments = Moments.of(self._rows(model), self.reference, keep=0)
        values = {f"{self.prefix}/{name}": read(moments) for name, read in self.measures.items()}
        return {name: float(value) for name, value in values.items() if value is not None}

    def _rows(self, model: torch.nn.Module) -> Any:
        # Each module has a mode of its own (a frozen encoder in a training model), so each is restored.
        modes = {module: module.training for module in model.modules()}
        model.eval()
        try:
            with torch.no_grad():
                return self.represent(model)
        finally:
            for module, training in modes.items():
                module.training = training
