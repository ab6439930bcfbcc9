"""What OLD and NEW, --on and --column mean: a pair of files, or the moments of one saved earlier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from samespace.errors import FormatError, MissingSourceError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from samespace.moments import Moments

Old = Annotated[
    str,
    typer.Argument(
        metavar="OLD",
        help="The old representation: a file (.npy, .parquet, .safetensors, .lance, .faiss), a folder or "
        "a quoted glob; or moments saved with --save-moments, and then no NEW.",
        show_default=False,
    ),
]
New = Annotated[
    str | None,
    typer.Argument(
        metavar="NEW",
        help="The new representation of the same samples, in any of these forms.",
        show_default=False,
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="ID[,ID]",
        help="Pair rows by this id column instead of by order; two names, with a comma, if they differ.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="NAME",
        help="A column of OLD that says which rows are kin (near-copies, one document): they share a fold.",
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="NAME[,NAME]",
        help="The column or tensor of vectors, where a file has several.",
    ),
]


def read_moments(
    old: str,
    new: str | None,
    *,
    on: str | None,
    column: str | None,
    groups: str | None,
    folds: int,
    progress: Callable[[str, int, int], None],
) -> Moments:
    """Return the moments of two files in one pass, or those saved in one file."""
    from samespace.moments import Moments
    from samespace.representation import Pair

    if new is None:
        return _load(old, on, column, groups)
    pair = Pair.of(
        old,
        new,
        on=_for_both(on),
        column=_for_each(column),
        groups=groups,
        progress=progress,
    )
    return Moments.of(pair, folds=folds, progress=progress)


def _load(path: str, on: str | None, column: str | None, groups: str | None) -> Moments:
    from samespace.moments import Moments

    if on is not None or column is not None or groups is not None:
        raise OptionError(
            "--on, --column and --groups need OLD and NEW; saved moments are paired already."
        )
    try:
        return Moments.load(path)
    except (FormatError, MissingSourceError) as error:
        raise OptionError(
            f"NEW is missing, and {path} is not moments saved with --save-moments ({error}) "
            "Write samespace compare OLD NEW."
        ) from error


def _for_both(names: str | None) -> str | tuple[str, str] | None:
    """Return one name for both sides, or one for each."""
    if names is None or "," not in names:
        return names
    old, new = _split(names)
    return old, new


def _for_each(names: str | None) -> str | tuple[str | None, str | None] | None:
    if names is None or "," not in names:
        return names
    old, new = _split(names)
    return old or None, new or None


def _split(names: str) -> tuple[str, str]:
    parts = [part.strip() for part in names.split(",")]
    if len(parts) != 2:
        raise OptionError(f"'{names}' names {len(parts)} columns; needed is one for each side.")
    return parts[0], parts[1]
