"""Rows of one side in any order asked for: streamed, gathered or sorted through a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from samespace.sources.matching import increasing
from samespace.sources.source import RandomAccess, Source
from samespace.sources.spool import Spool
from samespace.sources.stream import rebatch, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float, Int
    from numpy import ndarray as Array

_READ_ROWS = 4096


class Side(Protocol):
    """What is asked of a side: rows in order, and, of some, any rows."""

    @property
    def source(self) -> Source:
        """Where the rows come from."""

    def batches(self, rows: int, start: int = 0) -> Iterator[Float[Array, "k d"]]:
        """Yield the rows in order."""

    def take(self, rows: Int[Array, " k"]) -> Float[Array, "k d"]:
        """Return these rows."""


def needs_sorting(side: Side, rows: Int[Array, " n"]) -> bool:
    """Whether the side can neither be streamed nor gathered in this order."""
    return not isinstance(side.source, RandomAccess) and not increasing(rows)


def in_order(side: Side, rows: Int[Array, " n"] | None, size: int) -> Iterator[Float[Array, "k d"]]:
    """Yield these rows in batches of `size`; None means all of them, in their own order."""
    if rows is None:
        return side.batches(size)
    if increasing(rows):
        return rebatch(select(side.batches(size), rows), size)
    return (side.take(rows[first : first + size]) for first in range(0, len(rows), size))


def sort_rows(
    side: Side,
    rows: Int[Array, " n"],
    progress: Callable[[str, int, int], None] | None,
) -> Spool:
    """Put these rows of a side in this order in a temporary file, in one pass over the side."""
    positions = np.argsort(rows)  # where the first, second, ... of them that streams by belongs
    chunks = select(side.batches(_READ_ROWS), rows[positions])
    like = next(side.batches(1))
    return Spool(chunks, positions, width=like.shape[1], dtype=like.dtype, progress=progress)
