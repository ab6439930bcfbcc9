"""Occurrences from Parquet: streamed, with what repeats added up on the way.

Memory grows with the number of *distinct* observations, not with the rows of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import FormatError, OptionError
from samespace.sources.opening import find_files
from samespace.theory.occurrences import Occurrences

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[str, int, int], None]

_BATCH = 1 << 18
_COMPACT_AT = 4_000_000  # distinct rows of batches held before they are added up
_WEIGHTS = ("count", "probability")


def read_occurrences(
    path: str | Path,
    *,
    symbol: str = "symbol",
    context: str = "context",
    label: str | None = None,
    min_count: int = 1,
    max_symbols: int | None = None,
    progress: Progress | None = None,
) -> Occurrences:
    """Read columns of symbols and contexts, and of labels if asked for, from Parquet files.

    A column named "count" or "probability" weighs the rows; without one each row counts once. Symbols are
    read as text, so that two files agree on them.

    Parameters
    ----------
    path
        A file, a folder or a glob.
    symbol, context, label
        Names of the columns; None for `label` reads unlabelled data.
    min_count
        Symbols that occur less often are left out; without effect on probabilities.
    max_symbols
        Keep only so many, the most frequent ones.
    progress
        Called as ``progress("reading", rows done, rows)``.
    """
    files = find_files(path)
    names = [symbol, context] + ([] if label is None else [label])
    weight = _weight_column(files, names)
    keys = ["symbol", "context", "label"][: len(names)]
    table = _collected(files, dict(zip(keys, names, strict=True)), weight, progress)
    codes = {key: table[key].combine_chunks().dictionary_encode() for key in keys}
    numbers = {key: np.asarray(code.indices, dtype=np.int64) for key, code in codes.items()}
    data = Occurrences.from_codes(
        codes["symbol"].dictionary.to_pylist(),
        **numbers,
        **{weight or "count": table["weight"].to_numpy()},
    )
    return _frequent(data, min_count, max_symbols)


def _frequent(data: Occurrences, min_count: int, max_symbols: int | None) -> Occurrences:
    if min_count < 1 or (max_symbols is not None and max_symbols < 2):
        raise OptionError(
            f"min_count is at least 1 and max_symbols at least 2; got {min_count}, {max_symbols}."
        )
    totals = data.totals
    order = np.argsort(-totals, kind="stable")[:max_symbols]
    enough = order if data.exact else order[totals[order] >= min_count]
    return data.select([data.symbols[row] for row in np.sort(enough)])


def _weight_column(files: list[Path], names: list[str]) -> str | None:
    """Check the columns of every file and return the one that weighs the rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = set()
    for file in files:
        try:
            columns = pq.read_schema(file).names
        except (pa.ArrowException, OSError) as error:
            raise FormatError(f"{file} is not a readable Parquet file ({error}).") from error
        missing = [name for name in names if name not in columns]
        if missing:
            raise OptionError(
                f"{file} has no column {missing[0]!r}; it has {', '.join(columns)}. Name the columns to read "
                "with --symbol, --context and --label."
            )
        found.add(tuple(name for name in _WEIGHTS if name in columns))
    if len(found) > 1 or len(min(found)) > 1:
        raise OptionError(
            f"{files[0].parent}: either every file has a column 'count', or every file has 'probability', or "
            "none has either; drop the others."
        )
    weights = found.pop()
    return weights[0] if weights else None


def _collected(
    files: list[Path], names: dict[str, str], weight: str | None, progress: Progress | None
) -> pa.Table:
    """Add up the weights of equal observations, batch by batch."""
    parts: list[Any] = []
    held = 0
    for batch in _batches(files, [*names.values(), *([weight] if weight else [])], progress):
        parts.append(_added_up(_keyed(batch, names, weight)))
        held += len(parts[-1])
        if held > _COMPACT_AT:
            parts = [_merged(parts)]
            held = len(parts[0])
    if not parts:
        raise FormatError(f"{files[0]} holds no rows; needed is at least one observation.")
    return _merged(parts)


def _batches(files: list[Path], columns: list[str], progress: Progress | None) -> Iterator[Any]:
    import pyarrow.parquet as pq

    opened = [pq.ParquetFile(file) for file in files]
    total = sum(file.metadata.num_rows for file in opened)
    done = 0
    for file in opened:
        for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
            yield batch
            done += len(batch)
            if progress is not None:
                progress("reading", done, total)


def _keyed(batch: Any, names: dict[str, str], weight: str | None) -> pa.Table:
    import pyarrow as pa

    columns = {}
    for key, name in names.items():
        column = batch.column(name)
        if column.null_count:
            raise FormatError(f"column {name!r} has missing values; drop those rows or fill them.")
        # Symbols are compared across files, which may write 7 and "7"; contexts and labels are not.
        columns[key] = column.cast(pa.string()) if key == "symbol" else column
    columns["weight"] = (
        pa.array(np.ones(len(batch))) if weight is None else batch.column(weight).cast(pa.float64())
    )
    return pa.table(columns)


def _added_up(table: pa.Table) -> pa.Table:
    keys = [name for name in table.column_names if name != "weight"]
    grouped = table.group_by(keys).aggregate([("weight", "sum")])
    return grouped.rename_columns(
        [name.replace("weight_sum", "weight") for name in grouped.column_names]
    )


def _merged(parts: list[Any]) -> pa.Table:
    import pyarrow as pa

    return _added_up(pa.concat_tables(parts, promote_options="permissive"))
