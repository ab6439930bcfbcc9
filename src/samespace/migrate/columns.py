"""Mapped vectors as Parquet: in the place of the old column, beside the input's other columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from samespace.errors import FormatError
from samespace.migrate.layouts import VECTOR, Layout, Progress
from samespace.migrate.partial import Partial
from samespace.sources.parquet import ParquetSource
from samespace.sources.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

_ROW_GROUP_BYTES = 64 << 20


@dataclass(frozen=True)
class ParquetLayout(Layout):
    """A Parquet file, written from the rows when all are there: its columns need them all at once."""

    source: ParquetSource | None = None

    @classmethod
    def plan(cls, source: Source, shape: tuple[int, int], dtype: str) -> Self:
        if isinstance(source, ParquetSource):
            _check_columns(source)
            return cls(shape, dtype, source=source)
        return cls(shape, dtype, source.beside)

    def header(self) -> bytes:
        return b""

    def finish(self, partial: Partial, progress: Progress | None) -> Path:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = self._schema()
        place = schema.names.index(self._name)
        done = 0
        with (
            partial.rows_path.open("rb") as file,
            pq.ParquetWriter(partial.scratch, schema, **self._options(schema)) as writer,
        ):
            for others in self._others(schema):
                vectors = np.fromfile(file, self.dtype, len(others) * self.shape[1])
                columns = list(others.columns)
                columns.insert(place, _fixed_size_list(vectors, schema.field(place).type))
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
                done += len(others)
                if progress is not None:
                    progress("writing", done, self.shape[0])
        return partial.scratch

    @property
    def _name(self) -> str:
        return VECTOR if self.source is None else self.source.column

    def _schema(self) -> pa.Schema:
        import pyarrow as pa

        kind = pa.list_(pa.from_numpy_dtype(np.dtype(self.dtype)), self.shape[1])
        if self.source is None:
            return pa.schema([pa.field(VECTOR, kind)])
        schema = _first_schema(self.source)
        place = schema.names.index(self._name)
        return schema.set(place, pa.field(self._name, kind))

    def _others(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the other columns, a row group of the output at a time."""
        import pyarrow as pa

        rows = max(1, _ROW_GROUP_BYTES // self.row_bytes)
        names = [name for name in schema.names if name != self._name]
        if self.source is None or not names:
            for first in range(0, self.shape[0], rows):
                yield _no_columns(min(rows, self.shape[0] - first))
            return
        others = pa.schema([schema.field(name) for name in names])
        for path in self.source.paths:
            yield from _read(path, others, rows)

    def _options(self, schema: pa.Schema) -> dict[str, object]:
        """The input's compression; dictionaries and statistics for all columns but the vectors."""
        plain = [field.name for field in schema if field.name != self._name]
        codec = "snappy" if self.source is None else _codec(self.source.paths[0])
        return {"compression": codec, "use_dictionary": plain, "write_statistics": plain}


def _first_schema(source: ParquetSource) -> pa.Schema:
    import pyarrow.parquet as pq

    return pq.read_schema(source.paths[0])


def _check_columns(source: ParquetSource) -> None:
    """Refuse now, not after all the arithmetic, files whose other columns differ."""
    import pyarrow.parquet as pq

    first = _first_schema(source)
    for path in source.paths[1:]:
        schema = pq.read_schema(path)
        for name in sorted({*first.names, *schema.names} - {source.column}):
            if name not in schema.names or name not in first.names:
                differs = f"only one has column '{name}'"
            elif schema.field(name).type != first.field(name).type:
                differs = (
                    f"column '{name}' is {schema.field(name).type}, not {first.field(name).type}"
                )
            else:
                continue
            raise FormatError(
                f"{path} does not fit the first file: {differs}. Write a folder (a name without suffix), "
                "which gets one file for each, or make the columns agree."
            )


def _codec(path: Path) -> str:
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    name = metadata.row_group(0).column(0).compression if metadata.num_row_groups else "SNAPPY"
    return "none" if name == "UNCOMPRESSED" else name.lower()


def _read(path: Path, schema: pa.Schema, rows: int) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        for batch in file.iter_batches(rows, columns=schema.names):
            yield pa.Table.from_batches([batch]).select(schema.names)


def _no_columns(rows: int) -> pa.Table:
    """A table that has rows and no columns."""
    import pyarrow as pa

    return pa.table({"row": pa.nulls(rows)}).select([])


def _fixed_size_list(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(values, kind.value_type), type=kind)
