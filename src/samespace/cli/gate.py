"""``samespace gate``: an exit code that a pipeline can stop on."""

from __future__ import annotations

import json as json_format
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from samespace.cli.inputs import Column, Groups, New, Old, On, read_moments
from samespace.cli.options import Class, Folds, Html, Json, Level, SaveMap, Tolerance, Verbose
from samespace.cli.outputs import check_writable, save_map, show, write_page
from samespace.cli.progress import reporting

if TYPE_CHECKING:
    from samespace.migrate.gate import GateDecision


class Direction(StrEnum):
    """Which side is mapped."""

    old_to_new = "old-to-new"
    new_to_old = "new-to-old"


def gate(
    old: Old,
    new: New = None,
    require: Annotated[
        Class,
        typer.Option("--require", help="The largest class of maps that is acceptable."),
    ] = Class.affine,
    min_score: Annotated[
        float,
        typer.Option(
            "--min-score",
            metavar="SHARE",
            help="The least held-out R^2, at the lower end of its interval.",
        ),
    ] = 0.9,
    side: Annotated[
        Direction,
        typer.Option(
            "--side",
            help="old-to-new rewrites an index of old vectors; new-to-old brings new queries to it.",
        ),
    ] = Direction.old_to_new,
    on: On = None,
    column: Column = None,
    groups: Groups = None,
    json: Json = False,
    html: Html = None,
    save_map_to: SaveMap = None,
    tolerance: Tolerance = 0.01,
    level: Level = 0.95,
    folds: Folds = 10,
    verbose: Verbose = False,
) -> None:
    """Decide whether the NEW model may go live behind a map of the OLD space.

    \b
    Exit codes:
      0  the required class, or a smaller one, surely holds
      1  it surely does not
      2  it could not be decided: too few rows, bad input, wrong options

    The map is only saved when the gate passes.

    \b
    Examples:
      samespace gate old.parquet new.parquet --on id --min-score 0.98
      samespace gate old.npy new.npy --require orthogonal --save-map m.safetensors
      samespace gate old.npy new.npy --side new-to-old || echo 're-embed'
    """
    from samespace.migrate.gate import gate as run

    check_writable(html, save_map_to)
    with reporting() as progress:
        moments = read_moments(
            old, new, on=on, column=column, groups=groups, folds=folds, progress=progress
        )
        decision = run(
            moments,
            require=require.value,
            min_score=min_score,
            side=side.value,
            tolerance=tolerance,
            level=level,
            progress=progress,
        )
    show(json_format.dumps(decision.to_dict(), indent=2) if json else _sentence(decision))
    if html is not None:
        write_page(decision.comparison, html)
    if save_map_to is not None and decision.passed:
        save_map(decision.map, save_map_to)
    raise typer.Exit(decision.exit_code)


def _sentence(decision: GateDecision) -> str:
    score = "" if decision.score is None else f", held-out R^2 {decision.score:.4f}"
    return (
        f"{decision.outcome}: {decision.required} {decision.side} "
        f"(decided by {decision.deciding.name}{score})\n{decision.reason}"
    )
