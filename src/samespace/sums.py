"""The sums of a pass under way: K lifted Gram matrices, about a pivot that follows the rows.

A batch goes to the accumulator of the place it lies in; what accumulators have summed is banked here. The
pivot is chosen at the first rows, and again, when the mean has left it by more than the spread, as the rows
double.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import Accumulator, DeviceAccumulator, HostAccumulator, Precision
from samespace.batch import mean_of
from samespace.lifted import HEAD, NORM_X, NORM_Y, ONE, translate

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


class FoldSums:
    """Lifted Gram matrices, one a fold, that take batches from the host and from devices.

    Attributes
    ----------
    pivot
        The point about which the sums are taken.
    rows
        Row pairs added so far.
    """

    def __init__(
        self,
        grams: Float[Array, "k w w"] | None,
        pivot: Float[Array, " d"],
        rows: int,
        *,
        d_x: int,
        folds: int,
        precision: Precision,
    ) -> None:
        self.pivot, self.rows = pivot, rows
        self._d_x, self._folds, self._precision = d_x, folds, precision
        self._banked = grams
        self._accumulator: Accumulator | None = None
        self._look_again_at = 0

    def add(self, X: Any, Y: Any, fold: Int[Array, " n"]) -> None:
        """Add paired rows; ``fold`` says which matrix each belongs to."""
        if self.rows >= self._look_again_at:
            self._look_again_at = 2 * max(self.rows, X.shape[0])
            self._follow(X, Y)
        self._accumulator_for(X).add(X, Y, fold)
        self.rows += X.shape[0]

    def grams(self) -> Float[Array, "k w w"]:
        """Everything added so far, on the host; more may follow."""
        if self._accumulator is not None:
            fresh = self._accumulator.drain()
            self._banked = fresh if self._banked is None else self._banked + fresh
            self._accumulator = None
        if self._banked is None:
            width = HEAD + len(self.pivot)
            self._banked = np.zeros((self._folds, width, width))
        return self._banked

    def about(self, pivot: Float[Array, " d"]) -> Float[Array, "k w w"]:
        """The same matrices about another pivot."""
        shift = self.pivot - pivot
        return np.stack([translate(gram, shift, d_x=self._d_x) for gram in self.grams()])

    def _accumulator_for(self, X: Any) -> Accumulator:
        kind = HostAccumulator if isinstance(X, np.ndarray) else DeviceAccumulator
        if self._accumulator is not None and type(self._accumulator) is not kind:
            self.grams()  # batches moved between host and device: bank what the other one holds
        if self._accumulator is None:
            like = {} if kind is HostAccumulator else {"like": X}
            self._accumulator = kind(
                self.pivot, self._d_x, folds=self._folds, precision=self._precision, **like
            )
        return self._accumulator

    def _follow(self, X: Any, Y: Any) -> None:
        if self.rows == 0:
            self.pivot = np.concatenate([_representable(mean_of(side), side) for side in (X, Y)])
            return
        row = np.zeros(HEAD + len(self.pivot))
        if self._banked is not None:
            row += self._banked[:, ONE, :].sum(axis=0)
        if self._accumulator is not None:
            row += self._accumulator.ones_row()
        drift = row[HEAD:] / row[ONE]
        spread = (row[NORM_X] + row[NORM_Y]) / row[ONE] - drift @ drift
        if drift @ drift > spread:
            pivot = self.pivot + drift
            # By what the pivot really moved, which is not the drift: far from zero it was rounded.
            self._banked, self.pivot = self.about(pivot), pivot


def _representable(mean: Float[Array, " d"], rows: Any) -> Float[Array, " d"]:
    """A point near the mean that single-precision rows hold exactly, so that they subtract it exactly."""
    if isinstance(rows, np.ndarray) and rows.dtype.itemsize <= 4:
        return mean.astype(np.float32).astype(np.float64)
    return mean
