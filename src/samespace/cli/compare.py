"""``samespace compare``: are two representations the same space, up to which map, and how sure is that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samespace.cli.inputs import Column, Groups, New, Old, On, read_moments
from samespace.cli.options import Class, Folds, Html, Json, Level, SaveMap, Tolerance, Verbose
from samespace.cli.outputs import (
    check_writable,
    save_map,
    show,
    show_comparison,
    write_page,
    wrote,
)
from samespace.cli.progress import reporting
from samespace.errors import OutputError

if TYPE_CHECKING:
    from samespace.compare import Comparison
    from samespace.maps import Map


def compare(
    old: Old,
    new: New = None,
    on: On = None,
    column: Column = None,
    groups: Groups = None,
    json: Json = False,
    html: Html = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="FILE", help="Write the report as Markdown.", dir_okay=False
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Write the report's figures as PNG and SVG."),
    ] = None,
    save_map_to: SaveMap = None,
    map_class: Annotated[
        Class | None,
        typer.Option(
            "--map",
            help="The class of the map to save; by default the verdict's.",
        ),
    ] = None,
    save_moments: Annotated[
        Path | None,
        typer.Option(
            "--save-moments",
            metavar="FILE",
            help="Write the moments, from which every later answer comes without reading OLD and NEW.",
        ),
    ] = None,
    tolerance: Tolerance = 0.01,
    floor: Annotated[
        float,
        typer.Option(
            "--floor",
            metavar="SHARE",
            help="The least share of the variance that a class must explain on held-out rows.",
        ),
    ] = 0.9,
    level: Level = 0.95,
    folds: Folds = 10,
    verbose: Verbose = False,
) -> None:
    """Tell whether OLD and NEW are the same space, up to which map, and how sure that is.

    Row i of both files is about the same sample, or --on names the id that
    says so. The verdict is the smallest class of maps that holds on held-out
    rows: identity, permutation, orthogonal, affine, none; or undecided, when
    these rows cannot tell.

    \b
    Examples:
      samespace compare old.npy new.npy
      samespace compare old.parquet new.parquet --on item_id --html report.html
      samespace compare 'old/*.parquet' 'new/*.parquet' --save-map map.safetensors

    \b
    Read the files once, ask often:
      samespace compare old.parquet new.parquet --save-moments week.safetensors
      samespace compare week.safetensors --tolerance 0.02 --json
    """
    from samespace.compare import compare as run

    check_writable(html, markdown, save_map_to, save_moments)
    with reporting() as progress:
        moments = read_moments(
            old, new, on=on, column=column, groups=groups, folds=folds, progress=progress
        )
        result = run(moments, tolerance=tolerance, floor=floor, level=level, progress=progress)
    if json:
        show(result.to_json())
    else:
        show_comparison(result)
    if save_moments is not None:
        moments.save(save_moments)
        wrote("moments", save_moments)
    _write_reports(result, html, markdown, figures)
    if save_map_to is not None:
        save_map(_chosen(result, map_class), save_map_to)


def _write_reports(
    result: Comparison, html: Path | None, markdown: Path | None, figures: Path | None
) -> None:
    if html is not None:
        write_page(result, html)
    if markdown is not None:
        markdown.write_text(result.to_markdown(), encoding="utf-8")
        wrote("report", markdown)
    if figures is not None:
        from samespace.report.figures import save_figures

        for path in save_figures(result, figures):
            wrote("figure", path)


def _chosen(result: Comparison, wanted: Class | None) -> Map:
    """The map of the class that was named, or of the verdict."""
    name = result.verdict.name if wanted is None else wanted.value
    maps = {one.name: one.map for one in result.classes if one.map is not None}
    if name not in maps:
        why = "the verdict is " + name if wanted is None else f"the {name} class needs equal widths"
        raise OutputError(
            f"no map is saved: {why}. To save one all the same, name its class: --map "
            f"{' or '.join(maps)}."
        )
    return maps[name]
