"""A bounded sample of row pairs that one pass keeps: the rows whose keys hash smallest.

Keeping the smallest hashes ("bottom-k") makes the sample a monoid like the moments beside it: the
sample of a union is the union's smallest, whatever the batches, the order or the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import put
from samespace.batch import at_least_single
from samespace.errors import ShapeError
from samespace.hashing import priority_of
from samespace.sources.memory import lies_on_gpu

if TYPE_CHECKING:
    from jaxtyping import Float, Int, UInt64
    from numpy import ndarray as Array

_WAITING, _WAITING_ON_GPU = 2, 16
"""How many times over a sample may wait to be sorted; on a GPU longer, since fetching interrupts it."""


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
        return _smallest(self.keep, [(r.keys, r.x, r.y) for r in (self, other)])


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
        self._waiting.append((keys[index], _rows(X, index), _rows(Y, index)))
        known = np.concatenate([self._keys, keys[index]])
        self._keys = known[_first(priority_of(known), keep)]
        most = (_WAITING_ON_GPU if lies_on_gpu(X) else _WAITING) * keep
        if sum(len(waiting) for waiting, _, _ in self._waiting) > most:
            self.settled()

    def settled(self) -> Reservoir:
        """The sample of all rows offered so far."""
        if self._waiting:
            settled = self._settled
            waiting = [
                (keys, at_least_single(x), at_least_single(y)) for keys, x, y in self._waiting
            ]
            self._settled = _smallest(
                settled.keep, [(settled.keys, settled.x, settled.y), *waiting]
            )
            self._waiting = []
        return self._settled


def _rows(side: Any, index: Array) -> Any:
    return side[put(index, like=side) if lies_on_gpu(side) else index]


def _smallest(keep: int, parts: list[tuple[Array, Array, Array]]) -> Reservoir:
    """The sample of all these keys and rows."""
    keys = np.concatenate([keys for keys, _, _ in parts])
    order = np.argsort(priority_of(keys), kind="stable")[:keep]
    x, y = (_rows_of([part[side] for part in parts], order) for side in (1, 2))
    return Reservoir(keep, keys[order], x, y)


def _rows_of(pieces: list[Float[Array, "k d"]], rows: Int[Array, " m"]) -> Float[Array, "m d"]:
    """These rows of pieces laid end to end, of which most are not wanted and never copied."""
    found = np.empty((len(rows), pieces[0].shape[1]), np.result_type(*pieces))
    first = 0
    for piece in pieces:
        mine = (first <= rows) & (rows < first + len(piece))
        found[mine] = piece[rows[mine] - first]
        first += len(piece)
    return found


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
