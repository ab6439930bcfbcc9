"""A bounded sample of row pairs that one pass keeps: the rows whose keys hash smallest.

Keeping the smallest hashes ("bottom-k") makes the sample a monoid like the moments beside it: the
sample of a union is the union's smallest, whatever the batches, the order or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.batch import at_least_single
from samespace.errors import ShapeError
from samespace.hashing import priority_of

if TYPE_CHECKING:
    from jaxtyping import Float, UInt64
    from numpy import ndarray as Array

_WAITING = 2
"""How many times over a sample may wait to be sorted."""


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

    def _smallest(self, keys: Array, x: Array, y: Array) -> Reservoir:
        order = np.argsort(priority_of(keys), kind="stable")[: self.keep]
        return Reservoir(self.keep, keys[order], x[order], y[order])


class Sampling:
    """A sample under way: rows that may enter wait where they lie until there are many or it is asked for.

    So a pass on a device fetches rows once in a while rather than with every batch.
    """

    def __init__(self, reservoir: Reservoir) -> None:
        self._settled = reservoir
        self._keys = reservoir.keys
        self._waiting: list[tuple[Array, Any, Any]] = []

    def offer(self, X: Any, Y: Any, keys: UInt64[Array, " n"]) -> None:
        """Let the rows of a batch wait that might be kept."""
        keep = self._settled.keep
        index = _candidates(keys, self._keys, keep)
        if len(index) == 0:
            return
        self._waiting.append((keys[index], X[index], Y[index]))
        known = np.concatenate([self._keys, keys[index]])
        self._keys = known[_first(priority_of(known), keep)]
        if sum(len(waiting) for waiting, _, _ in self._waiting) > _WAITING * keep:
            self.settled()

    def settled(self) -> Reservoir:
        """The sample of all rows offered so far."""
        if self._waiting:
            keys, x, y = zip(*self._waiting, strict=True)
            fresh = [np.concatenate([at_least_single(part) for part in side]) for side in (x, y)]
            self._settled += Reservoir(self._settled.keep, np.concatenate(keys), *fresh)
            self._waiting = []
        return self._settled


def _candidates(keys: UInt64[Array, " n"], kept: UInt64[Array, " k"], keep: int) -> Array:
    """Indices of the keys that might enter beside those kept, which are in order."""
    priority = priority_of(keys)
    if len(kept) < keep:
        return _first(priority, keep)
    index = np.flatnonzero(priority < priority_of(kept[-1:])) if keep else np.empty(0, np.intp)
    return index[_first(priority[index], keep)]


def _first(priority: UInt64[Array, " n"], keep: int) -> Array:
    """Indices of the ``keep`` smallest, in order; partitioned first, since a batch has many more."""
    if keep >= len(priority):
        return np.argsort(priority, kind="stable")
    index = np.argpartition(priority, keep)[:keep]
    return index[np.argsort(priority[index], kind="stable")]
