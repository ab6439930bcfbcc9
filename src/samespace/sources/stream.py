"""Streams of chunks: cut to equal batches, filtered by row, read one ahead on a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from typing import Any as Array  # of any array library

    from jaxtyping import Float, Int

T = TypeVar("T")
_END = object()


def rebatch(chunks: Iterable[Float[Array, "k d"]], rows: int) -> Iterator[Float[Array, "r d"]]:
    """Yield the same rows in batches of exactly `rows` (the last may be shorter).

    A batch that lies within one chunk is a view of it; only one that straddles chunks is copied.

    Examples
    --------
    >>> import numpy as np
    >>> [len(b) for b in rebatch([np.zeros((5, 2)), np.zeros((4, 2))], 4)]
    [4, 4, 1]
    """
    held: list[Array] = []
    missing = rows
    for chunk in chunks:
        at = 0
        while at < chunk.shape[0]:
            piece = chunk[at : min(at + missing, chunk.shape[0]), :]
            held.append(piece)
            at += piece.shape[0]
            missing -= piece.shape[0]
            if not missing:
                yield join(held)
                held, missing = [], rows
    if held:
        yield join(held)


def join(pieces: list[Float[Array, "k d"]]) -> Float[Array, "n d"]:
    """Stack pieces of one kind of array, on their own device; a single piece is returned as is."""
    if len(pieces) == 1:
        return pieces[0]
    if isinstance(pieces[0], np.ndarray):
        return np.concatenate(pieces)
    # Only arrays of other libraries need the compatibility layer, so NumPy users never load it.
    from array_api_compat import array_namespace

    return array_namespace(*pieces).concat(pieces, axis=0)


def select(
    chunks: Iterable[Float[Array, "k d"]], rows: Int[Array, " m"]
) -> Iterator[Float[Array, "j d"]]:
    """Yield only the rows with these increasing numbers; a chunk of which all are wanted is not copied."""
    first = 0
    for chunk in chunks:
        last = first + chunk.shape[0]
        low, high = np.searchsorted(rows, (first, last))
        if high - low == last - first:
            yield chunk
        elif high > low:
            yield take_rows(chunk, rows[low:high] - first)
        first = last


def take_rows(block: Float[Array, "n d"], rows: Int[Array, " k"]) -> Float[Array, "k d"]:
    """Return the rows with these numbers, on the device where the block is."""
    if isinstance(block, np.ndarray):
        return block[rows]
    from array_api_compat import array_namespace, device

    namespace = array_namespace(block)
    return namespace.take(block, namespace.asarray(rows, device=device(block)), axis=0)


def prefetch(items: Iterator[T]) -> Iterator[T]:
    """Yield the same items, always reading the next one on a thread while this one is used.

    Reading Parquet releases the interpreter's lock, so decoding and arithmetic overlap. Exactly one
    item is read ahead: memory grows by one batch.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="samespace-read") as thread:
        upcoming = thread.submit(next, items, _END)
        while (item := upcoming.result()) is not _END:
            upcoming = thread.submit(next, items, _END)
            yield item  # type: ignore[misc]
