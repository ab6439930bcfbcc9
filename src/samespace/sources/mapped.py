"""Matrices in files, mapped into memory: the pages a pass has used are given back as it goes."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from samespace.sources.elements import widen
from samespace.sources.source import RandomAccess

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


class MappedSource(RandomAccess):
    """Matrices of one width, memory-mapped from one or more files and read as one.

    Parameters
    ----------
    parts
        The mapped matrices in order, already checked to agree in width and element type.
    dtype
        The name of their element type; ``"bfloat16"`` when the mapped integers are its bits.
    ids
        One mapped vector of ids per part, or empty.

    Notes
    -----
    A mapped page counts as this process's memory until it is given back. A pass therefore advises
    the kernel after every chunk (``MADV_DONTNEED``, harmless for a read-only mapping: a page that is
    looked at again is mapped again), and memory stays bounded whatever the size of the files.
    """

    def __init__(self, parts: Sequence[np.memmap], dtype: str, ids: Sequence[Array] = ()) -> None:
        self._parts = list(parts)
        self._ids = list(ids)
        self._ends = np.cumsum([len(part) for part in self._parts])
        self.n, self.d, self.dtype = int(self._ends[-1]), self._parts[0].shape[1], dtype

    def chunks(self, start: int, rows: int) -> Iterator[Float[Array, "k d"]]:
        """Yield mapped slices, giving each one's pages back when the next is asked for."""
        for part, end in zip(self._parts, self._ends, strict=True):
            begin = int(end) - len(part)
            for first in range(max(start - begin, 0), len(part), rows):
                yield widen(np.asarray(part[first : first + rows]), self.dtype)
                _give_back(part)

    def take(self, rows: Int[Array, " k"]) -> Float[Array, "k d"]:
        """Gather rows, copying only these."""
        out = np.empty((len(rows), self.d), self._parts[0].dtype)
        owner = np.searchsorted(self._ends, rows, side="right")
        for index in np.unique(owner):
            part = self._parts[index]
            mine = owner == index
            out[mine] = part[rows[mine] - (self._ends[index] - len(part))]
            _give_back(part)
        return widen(out, self.dtype)

    @property
    def has_ids(self) -> bool:
        """Whether the files carry ids."""
        return bool(self._ids)

    def id_chunks(self) -> Iterator[Array]:
        """Yield the ids of one file after another."""
        yield from self._ids


def _give_back(part: np.memmap) -> None:
    mapping = getattr(part, "_mmap", None)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
