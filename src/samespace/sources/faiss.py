"""FAISS index files: the vectors an index stores, reconstructed. Needs ``samespace[faiss]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import FormatError, MissingDependencyError, OptionError
from samespace.sources.memory import check_shape
from samespace.sources.source import RandomAccess

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


class FaissSource(RandomAccess):
    """The vectors of a FAISS index, in the order in which they were added.

    Notes
    -----
    An index that compresses (PQ, SQ) gives back what it stores, not what was added: the difference
    is part of the new "representation" and lowers every score a little.
    """

    dtype = "float32"

    def __init__(self, index: Any, where: str) -> None:
        self._index = index
        self.n, self.d = check_shape((index.ntotal, index.d), where)

    def chunks(self, start: int, rows: int) -> Iterator[Float[Array, "k d"]]:
        """Reconstruct ranges of vectors."""
        for first in range(start, self.n, rows):
            yield self._index.reconstruct_n(first, min(rows, self.n - first))

    def take(self, rows: Int[Array, " k"]) -> Float[Array, "k d"]:
        """Reconstruct these vectors."""
        return self._index.reconstruct_batch(np.ascontiguousarray(rows, np.int64))


def open_faiss(paths: Sequence[Path]) -> FaissSource:
    """Open one index file, memory-mapped where its kind allows."""
    if len(paths) != 1:
        raise OptionError(f"{len(paths)} FAISS indices match; needed is one. Name it.")
    try:
        import faiss
    except ImportError as error:
        raise MissingDependencyError(
            f"{paths[0]} needs the package faiss. Write pip install 'samespace[faiss]'."
        ) from error
    try:
        index = faiss.read_index(str(paths[0]), faiss.IO_FLAG_MMAP)
        source = FaissSource(index, str(paths[0]))
        source.take(np.zeros(1, np.int64))
    except RuntimeError as error:
        raise FormatError(
            f"{paths[0]} is not a FAISS index whose vectors can be read back ({_first_line(error)}). "
            "For an IVF index call index.make_direct_map() before writing it."
        ) from error
    return source


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
