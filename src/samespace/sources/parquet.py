"""Parquet: a column of vectors in one file or many, decoded batch by batch without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from samespace.errors import FormatError, ShapeError
from samespace.sources.agreement import check_agree
from samespace.sources.elements import widen
from samespace.sources.ids import from_arrow
from samespace.sources.source import Source
from samespace.sources.vectors import (
    check_column,
    element_name,
    to_matrix,
    vector_column,
    width_of,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from jaxtyping import Float
    from numpy import ndarray as Array

# Without a read buffer Arrow holds a whole row group's pages in memory, compressed; with it, a few.
_READ_BUFFER = 1 << 20
# A batch is decoded in one piece, so that it need not be copied together, unless it is larger than this.
_DECODE_BYTES = 64 << 20


@dataclass(frozen=True)
class _Part:
    path: Path
    rows: tuple[int, ...]  # of each row group

    @property
    def n(self) -> int:
        return sum(self.rows)


class ParquetSource(Source):
    """A column of equally long vectors in Parquet files, streamed in file order.

    Parameters
    ----------
    paths
        The files, read as one in this order.
    column
        The column of vectors; by default the only list column of floating point numbers.
    id_column
        A column of integers or strings that names the rows, read only when asked for.

    Notes
    -----
    A batch is a view of Arrow's own buffer.

    Attributes
    ----------
    paths, column
        The files and the column that the vectors are read from.
    """

    decodes = True

    def __init__(
        self, paths: Sequence[Path], *, column: str | None = None, id_column: str | None = None
    ) -> None:
        files = [_open(path) for path in paths]
        self.paths = tuple(paths)
        self.column = vector_column(files[0].schema_arrow, column, str(paths[0]))
        self._id_column = id_column
        self._names = files[0].schema_arrow.names
        for path, file in zip(paths, files, strict=True):
            vector_column(file.schema_arrow, self.column, str(path))
            if id_column is not None:
                check_column(file.schema_arrow, id_column, str(path))
        self._parts = [_part(path, file) for path, file in zip(paths, files, strict=True)]
        self.n = sum(part.n for part in self._parts)
        if not self.n:
            raise ShapeError(f"{paths[0]} is empty; needed is at least one row.")
        filled = [part.path for part in self._parts if part.n]
        first = [next(_batches(path, 1, self.column, None)) for path in filled]
        widths = [width_of(v, self._where(path)) for v, path in zip(first, filled, strict=True)]
        dtypes = [element_name(vectors.type) for vectors in first]
        check_agree(filled, widths, dtypes)
        self.d, self.dtype = widths[0], dtypes[0]

    def _where(self, path: Path) -> str:
        return f"column '{self.column}' of {path}"

    def chunks(self, start: int, rows: int) -> Iterator[Float[Array, "k d"]]:
        """Decode batches of vectors."""
        rows = max(1, min(rows, _DECODE_BYTES // (8 * self.d)))
        begin = 0
        for part in self._parts:
            groups, skip = _groups_from(part, start - begin)
            at = begin + max(start - begin, 0) - skip
            for batch in _batches(part.path, rows, self.column, groups):
                block = to_matrix(batch, self.d, self._where(part.path), at - begin)
                yield widen(block[skip:], self.dtype)
                skip = max(0, skip - len(block))
                at += len(block)
            begin += part.n

    @property
    def beside(self) -> tuple[str, ...]:
        """The other columns of the first file."""
        return tuple(name for name in self._names if name != self.column)

    @property
    def has_ids(self) -> bool:
        """Whether a column was named that holds the ids."""
        return self._id_column is not None

    def id_chunks(self) -> Iterator[Array]:
        """Decode the id column only."""
        if self._id_column is None:
            return
        for part in self._parts:
            at = 0
            for batch in _batches(part.path, 1 << 16, self._id_column, None):
                yield from_arrow(batch, f"column '{self._id_column}' of {part.path}", at)
                at += len(batch)


def _open(path: Path) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ_BUFFER)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(
            f"{path} is not a readable Parquet file, or truncated ({error}). Write it again."
        ) from error


def _part(path: Path, file: pq.ParquetFile) -> _Part:
    groups = range(file.metadata.num_row_groups)
    return _Part(path, tuple(file.metadata.row_group(group).num_rows for group in groups))


def _groups_from(part: _Part, start: int) -> tuple[list[int], int]:
    """Return the row groups that hold rows from `start` on, and how many rows of them to skip."""
    first = 0
    for group, rows in enumerate(part.rows):
        if start < first + rows:
            return list(range(group, len(part.rows))), max(0, start - first)
        first += rows
    return [], 0


def _batches(path: Path, rows: int, column: str, groups: list[int] | None) -> Iterator[pa.Array]:
    import pyarrow as pa

    if groups == []:
        return
    try:
        with _open(path) as file:
            for batch in file.iter_batches(rows, row_groups=groups, columns=[column]):
                yield batch.column(0)
    except (pa.ArrowException, OSError) as error:
        raise FormatError(f"{path} is damaged: {error}. Write it again.") from error
