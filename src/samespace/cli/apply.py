"""``samespace apply``: rewrite the vectors of a file or a folder with a saved map."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samespace.cli.errors import say
from samespace.cli.options import Verbose
from samespace.cli.outputs import show
from samespace.cli.progress import reporting

if TYPE_CHECKING:
    from samespace.migrate.apply import Applied


class Dtype(StrEnum):
    """The types that vectors are written in."""

    float16 = "float16"
    float32 = "float32"
    float64 = "float64"


def apply(
    fitted: Annotated[
        Path,
        typer.Argument(metavar="MAP", help="A map that compare or gate saved with --save-map."),
    ],
    source: Annotated[
        str,
        typer.Argument(metavar="IN", help="The vectors: a file, a folder, or a quoted glob."),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A .npy, .parquet or .safetensors file; or a folder (a name without suffix), which gets "
            "one file for each of the input.",
        ),
    ],
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            metavar="NAME",
            help="The column or tensor of vectors, where the input has several.",
        ),
    ] = None,
    dtype: Annotated[
        Dtype | None,
        typer.Option("--dtype", help="The type to write; by default the input's own."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite OUT, and drop unfinished work of other arguments."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Rewrite the vectors of IN with MAP, to OUT.

    Rows keep their order; Parquet keeps the ids and every other column. Memory
    stays small whatever the size. OUT appears when it is complete: until then
    the work lies in .OUT.partial beside it, and after Ctrl-C, or worse, the same
    command goes on where it stopped.

    \b
    Examples:
      samespace apply map.safetensors items.parquet items-new.parquet
      samespace apply map.safetensors index/ index-new
      samespace apply map.safetensors items.parquet items.npy --dtype float16
    """
    from samespace.migrate.apply import apply as run

    with reporting() as progress:
        made = run(
            fitted,
            source,
            output,
            column=column,
            dtype=None if dtype is None else dtype.value,
            force=force,
            progress=progress,
        )
    if made.dropped:
        say(f"not kept in {output.suffix or 'the output'}: {', '.join(made.dropped)}")
    show(_sentence(made))


def _sentence(made: Applied) -> str:
    fresh = made.rows - made.resumed
    rate = f", {fresh / made.seconds:,.0f} rows/s" if fresh and made.seconds > 0 else ""
    found = f" ({made.resumed:,} of them from an interrupted run)" if made.resumed else ""
    return f"wrote {made.rows:,} rows{found} to {made.output} in {made.seconds:.1f} s{rate}"
