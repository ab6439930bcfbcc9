"""Lance datasets: a column of vectors, read batch by batch. Needs ``samespace[lance]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samespace.errors import FormatError, MissingDependencyError, OptionError, ShapeError
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
    from jaxtyping import Float
    from numpy import ndarray as Array


class LanceSource(Source):
    """A column of equally long vectors in a Lance dataset, streamed in its own order."""

    decodes = True

    def __init__(self, dataset: Any, where: str, column: str | None, id_column: str | None) -> None:
        self._dataset, self._where, self._id_column = dataset, where, id_column
        self._column = vector_column(dataset.schema, column, where)
        if id_column is not None:
            check_column(dataset.schema, id_column, where)
        self.n = dataset.count_rows()
        if not self.n:
            raise ShapeError(f"{where} is empty; needed is at least one row.")
        self.dtype = element_name(dataset.schema.field(self._column).type)
        self.d = width_of(
            next(self._read(self._column, 0, 1)), f"column '{self._column}' of {where}"
        )

    def chunks(self, start: int, rows: int) -> Iterator[Float[Array, "k d"]]:
        """Decode batches of vectors."""
        for batch in self._read(self._column, start, rows):
            block = to_matrix(batch, self.d, f"column '{self._column}' of {self._where}", start)
            yield widen(block, self.dtype)
            start += len(block)

    def _read(self, column: str, start: int, rows: int) -> Iterator[pa.Array]:
        scanner = self._dataset.scanner(
            columns=[column], offset=start, batch_size=rows, scan_in_order=True, batch_readahead=1
        )
        for batch in scanner.to_batches():
            yield batch.column(0)

    @property
    def beside(self) -> tuple[str, ...]:
        """The other columns."""
        return tuple(name for name in self._dataset.schema.names if name != self._column)

    @property
    def has_ids(self) -> bool:
        """Whether a column was named that holds the ids."""
        return self._id_column is not None

    def id_chunks(self) -> Iterator[Array]:
        """Read the id column only."""
        if self._id_column is None:
            return
        at = 0
        for batch in self._read(self._id_column, 0, 1 << 16):
            yield from_arrow(batch, f"column '{self._id_column}' of {self._where}", at)
            at += len(batch)


def open_lance(
    paths: Sequence[Path], *, column: str | None = None, id_column: str | None = None
) -> LanceSource:
    """Open one Lance dataset, a folder whose name ends in ``.lance``."""
    if len(paths) != 1:
        raise OptionError(f"{len(paths)} Lance datasets match; needed is one. Name it.")
    try:
        import lance
    except ImportError as error:
        raise MissingDependencyError(
            f"{paths[0]} needs the package pylance. Write pip install 'samespace[lance]'."
        ) from error
    try:
        dataset = lance.dataset(str(paths[0]))
    except (ValueError, OSError) as error:
        raise FormatError(f"{paths[0]} is not a readable Lance dataset ({error}).") from error
    return LanceSource(dataset, str(paths[0]), column, id_column)
