"""``samespace extract``: write a transformer's hidden states of many texts, to be compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from samespace.cli.options import Verbose
from samespace.cli.outputs import show
from samespace.cli.progress import reporting
from samespace.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from samespace.cli.texts import Texts
    from samespace.family.hidden import Reader, States

    Progress = Callable[[str, int, int], None]

_TEXTS_PER_PART = 512
"""Texts whose states are written at once: what an interruption can cost, and what memory holds."""


class Pooling(StrEnum):
    """What a row stands for."""

    mean = "mean"
    last = "last"
    first = "first"
    tokens = "tokens"


def extract(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A checkpoint: a folder, or a name that the hub knows."
        ),
    ],
    texts: Annotated[
        Path,
        typer.Argument(
            metavar="TEXTS",
            help="A .txt file, one text a line; or .jsonl or .parquet with a column of texts.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The .parquet file to write.")
    ],
    layers: Annotated[
        str,
        typer.Option(
            "--layers",
            metavar="LIST",
            help="Hidden states, by comma; 0 is the embeddings, -1 the last.",
        ),
    ] = "-1",
    pooling: Annotated[
        Pooling,
        typer.Option(
            "--pooling", help="One row per text: the mean, last or first token; or one per token."
        ),
    ] = Pooling.mean,
    column: Annotated[
        str, typer.Option("--column", metavar="NAME", help="The column of texts.")
    ] = "text",
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id-column", metavar="NAME", help="The column of ids; by default the row number."
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option("--batch-size", metavar="N", help="Texts at once.")
    ] = 16,
    max_length: Annotated[
        int | None,
        typer.Option("--max-length", metavar="N", help="Tokens beyond this are cut off."),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", help="Where the model runs, such as cuda.")
    ] = "cpu",
    dtype: Annotated[
        str, typer.Option("--dtype", help="The type that the model runs in.")
    ] = "float32",
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite OUT, and drop unfinished work of other arguments."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Write the hidden states of MODEL for all TEXTS, to OUT.

    OUT has a column id and, for each layer, a column of vectors (layer_-1 and
    so on) that compare and gate read with --column. Memory stays small. OUT
    appears when it is complete; until then the work lies in .OUT.partial beside
    it, and after Ctrl-C the same command goes on where it stopped.

    \b
    Examples:
      samespace extract ./monday texts.txt -o monday.parquet --layers -1,-4
      samespace extract ./monday docs.parquet -o d.parquet --id-column id
    """
    from samespace.cli.texts import read_texts

    wanted = _layers(layers)
    job = {
        "model": str(model),
        "texts": str(texts.resolve()),
        "layers": wanted,
        "pooling": pooling.value,
        "column": column,
        "id_column": id_column,
        "max_length": max_length,
        "dtype": dtype,
    }
    source = read_texts(texts, column=column, id_column=id_column)
    with reporting(unit="texts") as progress:
        from samespace.family.hidden import Reader  # needs transformers, and torch

        reader = Reader.load(
            model, device=device, dtype=dtype, batch_size=batch_size, max_length=max_length
        )
        reader.check(wanted, pooling.value)
        made = _Extraction(reader, source, wanted, pooling.value).run(
            output, job, force=force, progress=progress
        )
    show(f"wrote {made:,} rows of {len(source.texts):,} texts to {output}")


def _layers(listed: str) -> list[int]:
    try:
        found = [int(part) for part in listed.split(",")]
    except ValueError as error:
        raise OptionError(
            f"--layers takes whole numbers by comma, such as -1,-4; got {listed!r}."
        ) from error
    if len(set(found)) != len(found):
        raise OptionError(f"--layers names a layer twice: {listed!r}.")
    return found


@dataclass(frozen=True, eq=False)
class _Extraction:
    """The texts in parts, each written whole as soon as it is done; then all of them as one
    file.
    """

    reader: Reader
    source: Texts
    layers: list[int]
    pooling: Any

    def run(self, output: Path, job: dict[str, Any], *, force: bool, progress: Progress) -> int:
        """Do what is not done yet, publish, and return the number of rows."""
        from samespace.migrate.partial import check_free, partial_folder, prepare, publish

        if output.suffix != ".parquet":
            raise OptionError(f"OUT is a .parquet file; got {output.name!r}.")
        check_free(output, force=force)
        folder = partial_folder(output)
        prepare(folder, job | {"count": len(self.source.texts)}, force=force)
        parts = []
        for start in range(0, len(self.source.texts), _TEXTS_PER_PART):
            parts.append(folder / f"part-{start:012d}.parquet")
            if not parts[-1].exists():
                self._write(parts[-1], start)
            progress(
                "extracting",
                min(start + _TEXTS_PER_PART, len(self.source.texts)),
                len(self.source.texts),
            )
        rows = _join(parts, folder / "finished")
        publish(folder / "finished", output)
        return rows

    def _write(self, path: Path, start: int) -> None:
        import pyarrow.parquet as pq

        texts = self.source.texts[start : start + _TEXTS_PER_PART]
        states = self.reader.states(texts, layers=self.layers, pooling=self.pooling)
        draft = path.with_suffix(".new")
        pq.write_table(self._table(states, start), draft)
        draft.replace(path)

    def _table(self, states: States, start: int) -> Any:
        import pyarrow as pa

        columns = {"id": pa.array(self._ids(states, start))}
        for layer in self.layers:
            rows = states.layers[layer]
            flat = pa.array(rows.reshape(-1))
            columns[f"layer_{layer}"] = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
        return pa.table(columns)

    def _ids(self, states: States, start: int) -> list[Any]:
        ids = [self.source.ids[start + int(text)] for text in states.text]
        if self.pooling != Pooling.tokens:
            return ids
        return [f"{key}:{token}" for key, token in zip(ids, states.token, strict=True)]


def _join(parts: list[Path], finished: Path) -> int:
    """Write all parts as one file, a part at a time, and return its number of rows."""
    import pyarrow.parquet as pq

    rows = 0
    with pq.ParquetWriter(finished, pq.read_schema(parts[0])) as writer:
        for part in parts:
            table = pq.read_table(part)
            writer.write_table(table)
            rows += table.num_rows
    return rows
