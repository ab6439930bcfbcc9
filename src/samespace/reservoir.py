"""A bounded sample of row pairs that one pass keeps: the rows whose keys hash smallest.

Keeping the smallest hashes ("bottom-k") makes the sample a monoid like the moments beside it: the
sample of a union is the union's smallest, whatever the batches, the order or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import ShapeError
from samespace.hashing import priority_of

if TYPE_CHECKING:
    from jaxtyping import Float, UInt64
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False)
class Reservoir:
    """Up to ``keep`` paired rows, ordered by priority; immutable, merged by ``+``."""

    keep: int
    keys: UInt64[Array, " k"]
    x: Float[Array, "k d_x"]
    y: Float[Array, "k d_y"]

    @classmethod
    def empty(cls, d_x: int, d_y: int, *, keep: int) -> Reservoir:
        """The sample of no rows."""
        # float32 gives way to whatever the first rows are: joined with them it is promoted.
        x, y = (np.empty((0, d), np.float32) for d in (d_x, d_y))
        return cls(keep, np.empty(0, np.uint64), x, y)

    def __len__(self) -> int:
        return len(self.keys)

    def __add__(self, other: Reservoir) -> Reservoir:
        if self.keep != other.keep:
            raise ShapeError(
                f"samples of {self.keep} and of {other.keep} rows cannot be merged; "
                "take both with the same `keep`."
            )
        return self._smallest(
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.x, other.x]),
            np.concatenate([self.y, other.y]),
        )

    def candidates(self, keys: UInt64[Array, " n"]) -> Array:
        """Indices of the rows of a batch that might enter; all others need not be touched."""
        priority = priority_of(keys)
        if self.keep and len(self) == self.keep:
            index = np.flatnonzero(priority < priority_of(self.keys[-1:])[0])
        else:
            index = np.arange(len(keys))
        return index[np.argsort(priority[index], kind="stable")[: self.keep]]

    def _smallest(self, keys: Array, x: Array, y: Array) -> Reservoir:
        order = np.argsort(priority_of(keys), kind="stable")[: self.keep]
        return Reservoir(self.keep, keys[order], x[order], y[order])
