"""Texts and their ids, from a file of lines, of JSON objects, or of Parquet."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samespace.errors import (
    DtypeError,
    FormatError,
    MissingSourceError,
    PairingError,
    TooFewRowsError,
)


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts in order, each with its id."""

    texts: list[str]
    ids: list[Any]


def read_texts(path: Path, *, column: str = "text", id_column: str | None = None) -> Texts:
    """Read texts: a .txt file has one in each line, a .jsonl or .parquet file one in each row's
    `column`.

    The ids are those of `id_column`, or the row numbers from 0.
    """
    if not path.is_file():
        raise MissingSourceError(f"There is no file of texts at {path}.")
    wanted = [column] if id_column is None else [column, id_column]
    if path.suffix == ".parquet":
        columns = _from_parquet(path, wanted)
    elif path.suffix == ".jsonl":
        columns = _from_jsonl(path, wanted)
    else:
        if id_column is not None:
            raise FormatError(
                f"{path.name} has one text in each line and no ids; leave out --id-column."
            )
        columns = {column: path.read_text("utf-8").splitlines()}
    texts = columns[column]
    ids = list(range(len(texts))) if id_column is None else columns[id_column]
    _check(path, texts, ids)
    return Texts(texts, ids)


def _from_parquet(path: Path, wanted: list[str]) -> dict[str, list[Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
    except pa.ArrowInvalid as error:
        raise FormatError(f"{path} is no Parquet file ({error}).") from error
    _check_columns(path, wanted, names)
    table = pq.read_table(path, columns=wanted)
    return {name: table[name].to_pylist() for name in wanted}


def _from_jsonl(path: Path, wanted: list[str]) -> dict[str, list[Any]]:
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise FormatError(f"{path}, line {number} is no JSON object ({error}).") from error
        if not isinstance(row, dict):
            raise FormatError(f"{path}, line {number} is no JSON object, but {line[:40]!r}.")
        _check_columns(path, wanted, list(row))
        rows.append(row)
    return {name: [row[name] for row in rows] for name in wanted}


def _check_columns(path: Path, wanted: list[str], names: list[str]) -> None:
    for name in wanted:
        if name not in names:
            raise FormatError(
                f"{path} has no column {name!r}; it has {', '.join(map(repr, names))}."
            )


def _check(path: Path, texts: list[Any], ids: list[Any]) -> None:
    if not texts:
        raise TooFewRowsError(f"{path} holds no texts.")
    wrong = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise DtypeError(
            f"Row {wrong} of {path} holds {type(texts[wrong]).__name__}; a text is needed."
        )
    if len(set(ids)) != len(ids):
        raise PairingError(
            f"{path} has the same id in several rows; ids must be unique to pair by them."
        )
