"""Options that several commands share, spelled and explained once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from samespace.cli.progress import VERBOSE


def _remember(verbose: bool) -> bool:
    VERBOSE.set(verbose)
    return verbose


class Class(StrEnum):
    """The classes of maps."""

    identity = "identity"
    permutation = "permutation"
    orthogonal = "orthogonal"
    affine = "affine"


Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        callback=_remember,
        help="Show progress even when stderr is no terminal, and tracebacks of errors.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON, for machines, instead of a table.")
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Write the report as one page that needs no network."
    ),
]
SaveMap = Annotated[
    Path | None,
    typer.Option("--save-map", metavar="FILE", help="Write the map, for samespace apply."),
]
Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance",
        metavar="SHARE",
        help="How much more of the variance than the best affine map a smaller class may leave unexplained.",
    ),
]
Level = Annotated[float, typer.Option("--level", metavar="P", help="Confidence of the intervals.")]
Folds = Annotated[int, typer.Option("--folds", metavar="K", help="Folds of the cross-validation.")]
