r"""Measures as ``torchmetrics.Metric``: similarity to a reference during training, on any number of GPUs.

The state is the lifted Gram matrix of :mod:`samespace.lifted`, one a fold. It adds up over batches and over
processes, so torchmetrics' own reduction (a sum) is exact, not an average of the processes' values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from samespace.errors import MissingDependencyError, OptionError, ShapeError
from samespace.lifted import HEAD
from samespace.measures.cca import cca
from samespace.measures.cka import cka
from samespace.measures.mcc import mcc
from samespace.measures.procrustes import procrustes
from samespace.measures.r2 import r2
from samespace.moments import Moments

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise MissingDependencyError(
        f"samespace.metrics needs {error.name}; install it with: pip install 'samespace[torch]'."
    ) from error

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

__all__ = [
    "AffineR2",
    "LinearCKA",
    "MeanCanonicalCorrelation",
    "MeanCorrelationCoefficient",
    "MomentsMetric",
    "ProcrustesSimilarity",
]


class MomentsMetric(Metric, ABC):
    """A scalar function of the moments of all rows seen since the last reset.

    Parameters
    ----------
    d_x, d_y
        Widths of the two representations.
    folds
        With 2 or more, measures that have a held-out form return it: row i of a batch is in fold i mod
        ``folds``. The state takes ``folds`` matrices of about (d_x + d_y)^2 doubles.
    shift_x, shift_y
        Subtracted before anything is squared, and the same in every process; by default 0. Give the
        reference's mean where means dwarf spreads: at a ratio of r, about r^2 eps of precision is lost.
    **kwargs
        Passed to ``torchmetrics.Metric``.

    Notes
    -----
    Sums are in double precision, which CPUs and CUDA devices have and Apple's MPS has not. ``forward`` also
    evaluates the batch alone, where a few rows say little; call ``update`` and ``compute``.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    grams: Tensor
    shift_x: Tensor
    shift_y: Tensor

    def __init__(
        self,
        d_x: int,
        d_y: int,
        *,
        folds: int = 1,
        shift_x: Float[Tensor, " d_x"] | None = None,
        shift_y: Float[Tensor, " d_y"] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if folds < 1:
            raise OptionError(
                f"folds={folds}; write 1 for in-sample values, 2 or more for held-out."
            )
        self.d_x, self.d_y, self.folds = d_x, d_y, folds
        self.register_buffer("shift_x", _shift(shift_x, d_x, "shift_x"), persistent=False)
        self.register_buffer("shift_y", _shift(shift_y, d_y, "shift_y"), persistent=False)
        width = HEAD + d_x + d_y
        zeros = torch.zeros(folds, width, width, dtype=torch.float64)
        self.add_state("grams", default=zeros, dist_reduce_fx="sum")

    @abstractmethod
    def measure(self, m: Moments) -> float:
        """The value of the metric for these moments."""

    def update(self, x: Float[Tensor, "n d_x"], y: Float[Tensor, "n d_y"]) -> None:
        """Add paired rows."""
        if x.ndim != 2 or x.shape != (len(y), self.d_x) or y.shape != (len(x), self.d_y):
            raise ShapeError(
                f"rows of shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit a metric of "
                f"({self.d_x}, {self.d_y}); pass x (n, {self.d_x}) and y (n, {self.d_y})."
            )
        lifted = self._lift(x.detach(), y.detach())
        for k in range(self.folds):
            rows = lifted[k :: self.folds]
            self.grams[k] += rows.T @ rows

    def moments(self) -> Moments:
        """The moments behind this process's state, for every other measure and for ``samespace.compare``."""
        pivot = torch.cat([self.shift_x, self.shift_y]).cpu().numpy()
        return Moments.from_grams(self.grams.cpu().numpy().copy(), pivot, d_x=self.d_x)

    def compute(self) -> Tensor:
        """The value over all rows, of all processes."""
        return torch.tensor(self.measure(self.moments()), device=self.grams.device)

    def _lift(self, x: Tensor, y: Tensor) -> Float[Tensor, "n w"]:
        x, y = x.double() - self.shift_x, y.double() - self.shift_y
        head = torch.stack([torch.ones_like(x[:, 0]), x.square().sum(1), y.square().sum(1)], dim=1)
        return torch.cat([head, x, y], dim=1)


def _shift(shift: Tensor | None, d: int, name: str) -> Tensor:
    if shift is None:
        return torch.zeros(d, dtype=torch.float64)
    if shift.shape != (d,):
        raise ShapeError(
            f"{name} has shape {tuple(shift.shape)}; one number a column is needed, ({d},)."
        )
    return shift.detach().double()


class MeanCanonicalCorrelation(MomentsMetric):
    """Mean canonical correlation (:func:`samespace.measures.cca`), held out when ``folds`` is 2 or more.

    Examples
    --------
    >>> import torch
    >>> from samespace.metrics import MeanCanonicalCorrelation
    >>> x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> metric = MeanCanonicalCorrelation(3, 3, folds=5)
    >>> for batch in x.split(50):
    ...     metric.update(batch, 2 * batch.flip(1) + 1)
    >>> round(float(metric.compute()), 4)
    1.0
    """

    def measure(self, m: Moments) -> float:
        found = cca(m, held_out=self.folds > 1)
        return _preferred(found.held_out_mean, found.mean)


class AffineR2(MomentsMetric):
    """Share of each dimension of y that an affine function of x explains (:func:`samespace.measures.r2`).

    Averaged uniformly over dimensions; held out, and then possibly negative, when ``folds`` is 2 or more.

    Examples
    --------
    >>> import torch
    >>> from samespace.metrics import AffineR2
    >>> x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> metric = AffineR2(3, 1)
    >>> metric.update(x, x.sum(1, keepdim=True))
    >>> round(float(metric.compute()), 4)
    1.0
    """

    def measure(self, m: Moments) -> float:
        found = r2(m, held_out=self.folds > 1)
        return _preferred(found.held_out_mean, found.mean)


class MeanCorrelationCoefficient(MomentsMetric):
    """MCC under the best assignment (:func:`samespace.measures.mcc`), held out when ``folds`` is 2 or more.

    Examples
    --------
    >>> import torch
    >>> from samespace.metrics import MeanCorrelationCoefficient
    >>> x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> metric = MeanCorrelationCoefficient(3, 3)
    >>> metric.update(x, -x.flip(1))
    >>> round(float(metric.compute()), 4)
    1.0
    """

    def measure(self, m: Moments) -> float:
        found = mcc(m, held_out=self.folds > 1)
        return _preferred(found.held_out_mean, found.mean)


class LinearCKA(MomentsMetric):
    """Debiased linear CKA (:func:`samespace.measures.cka`): near 0 for unrelated rows; NaN where undefined.

    Examples
    --------
    >>> import torch
    >>> from samespace.metrics import LinearCKA
    >>> x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> metric = LinearCKA(3, 3)
    >>> metric.update(x, -5 * x.flip(1))
    >>> round(float(metric.compute()), 4)
    1.0
    """

    def measure(self, m: Moments) -> float:
        return _preferred(cka(m).debiased, float("nan"))


class ProcrustesSimilarity(MomentsMetric):
    """Cosine of the Procrustes angle (:func:`samespace.measures.procrustes`).

    Examples
    --------
    >>> import torch
    >>> from samespace.metrics import ProcrustesSimilarity
    >>> x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> metric = ProcrustesSimilarity(3, 3)
    >>> metric.update(x, -5 * x.flip(1))
    >>> round(float(metric.compute()), 4)
    1.0
    """

    def measure(self, m: Moments) -> float:
        return procrustes(m).similarity


def _preferred(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
