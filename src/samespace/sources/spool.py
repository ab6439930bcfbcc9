"""Rows streamed in one order, read back in another, through a temporary file of their size."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OutputError
from samespace.sources.stream import rebatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float, Int
    from numpy import ndarray as Array

_REGION_BYTES = 32 << 20


class Spool:
    """Reorders more rows than fit in memory with sequential reads and writes only.

    The final order is cut into regions of 32 MB. Rows are appended to their region as they come;
    a region is put in order in memory when it is read. Memory is a few regions, whatever the size.

    Parameters
    ----------
    chunks
        The rows as they come.
    positions
        The final position of the first, second, ... row: a permutation of 0 .. n - 1.
    width, dtype
        The rows' width and element type.
    progress
        Called with (stage, done, total) as rows are written.

    Notes
    -----
    The file has no name from the moment it exists (on POSIX), so the operating system frees it when
    the process ends, however it ends. It lies in TMPDIR, which needs room for all rows.
    """

    def __init__(
        self,
        chunks: Iterator[Float[Array, "k d"]],
        positions: Int[Array, " n"],
        *,
        width: int,
        dtype: np.dtype,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._width, self._dtype = width, np.dtype(dtype)
        self._row_bytes = width * self._dtype.itemsize
        self._region = max(1, _REGION_BYTES // self._row_bytes)
        regions = positions // self._region
        # Within a region rows lie in the order they came; this says where each one goes.
        self._positions = positions[np.argsort(regions, kind="stable")]
        self._file = tempfile.TemporaryFile(prefix="samespace-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        try:
            self._write(chunks, regions, progress)
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError):
                raise OutputError(
                    f"sorting rows by id needs {len(positions) * self._row_bytes:,} bytes in "
                    f"{tempfile.gettempdir()} ({error}). Set TMPDIR to a larger disk, or sort one "
                    "file by id first."
                ) from error
            raise

    def _write(
        self,
        chunks: Iterator[Float[Array, "k d"]],
        regions: Int[Array, " n"],
        progress: Callable[[str, int, int], None] | None,
    ) -> None:
        ends = np.arange(regions.max() + 1) * self._region  # the next free row of each region
        first = 0
        for block in rebatch(chunks, self._region):
            region = regions[first : first + len(block)]
            order = np.argsort(region, kind="stable")
            block = np.ascontiguousarray(block[order], self._dtype)
            names, starts = np.unique(region[order], return_index=True)
            for name, piece in zip(names, np.split(block, starts[1:]), strict=True):
                self._file.seek(int(ends[name]) * self._row_bytes)
                self._file.write(piece.data)
                ends[name] += len(piece)
            first += len(block)
            if progress is not None:
                progress("sorting by id", first, len(regions))

    def chunks(self) -> Iterator[Float[Array, "k d"]]:
        """Yield all rows in their final order, region by region."""
        for first in range(0, len(self._positions), self._region):
            positions = self._positions[first : first + self._region] - first
            stored = np.empty((len(positions), self._width), self._dtype)
            self._file.seek(first * self._row_bytes)
            self._file.readinto(stored.data.cast("B"))  # type: ignore[attr-defined]
            ordered = np.empty_like(stored)
            ordered[positions] = stored
            yield ordered
