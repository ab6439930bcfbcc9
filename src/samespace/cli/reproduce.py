"""``samespace reproduce``: make a published table or figure again, in pieces that may be interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from samespace.cli.errors import say
from samespace.cli.options import Json, Verbose
from samespace.cli.outputs import show
from samespace.cli.progress import reporting
from samespace.errors import OptionError

if TYPE_CHECKING:
    from samespace.reproduce import Reproduction


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="Such as zimmermann-2021.")
    ] = None,
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIGURE...", help="Such as table1, or a pattern such as 'fig*'."),
    ] = None,
    scale: Annotated[
        str, typer.Option("--scale", metavar="SCALE", help="smoke, small or paper.")
    ] = "smoke",
    device: Annotated[
        str, typer.Option("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, ...")
    ] = "cpu",
    only: Annotated[
        str,
        typer.Option("--only", metavar="PATTERN", help="Make only the pieces of these names."),
    ] = "*",
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="PATH", help="Data that are not shipped, for figures that need some."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the records of all papers go.")
    ] = Path("reproductions"),
    captured: Annotated[
        bool,
        typer.Option(
            "--captured/--eager",
            help="Whether small models may be trained as CUDA graphs, where a figure can.",
        ),
    ] = True,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Make FIGUREs of PAPER again and put their numbers beside the published ones.

    Without arguments, list what can be made. The work is cut into pieces,
    each recorded when done and never made twice; interrupt it when you like.
    Several figures of one paper may share work.

    \b
    Examples:
      samespace reproduce
      samespace reproduce zimmermann-2021 table1 --scale smoke
      samespace reproduce zimmermann-2021 table1 --scale paper --device cuda --only 'row01-*'
      samespace reproduce semantic-learners 'fig2?' fig5 choices --scale paper --device cuda
    """
    from samespace import reproduce as room

    if paper is None:
        show("\n".join(_listed(one) for one in room.available()))
        return
    if not figures:
        known = ", ".join(one.figure for one in room.available() if one.paper == paper)
        raise OptionError(f"Name the figure of {paper} to make: {known or 'none is known'}.")
    found = room.find_all(paper, figures)
    with reporting(unit="steps") as progress:
        summaries = room.make_all(
            found,
            scale=scale,
            folder=out,
            device=device,
            only=only,
            data=data,
            captured=captured,
            progress=progress,
        )
    if json:
        show(_as_json(summaries[0] if len(summaries) == 1 else summaries))
    else:
        show("\n\n".join("\n".join(_table(summary)) for summary in summaries))
    say(f"records and summaries are in {out / paper.replace('-', '_') / 'results'}")


def _listed(one: Reproduction) -> str:
    return f"{one.paper} {one.figure} ({', '.join(one.scales)}): {one.claim}"


def _as_json(summary: dict[str, Any] | list[dict[str, Any]]) -> str:
    import json

    return json.dumps(summary, indent=2, ensure_ascii=False)


def _table(summary: dict[str, Any]) -> Iterator[str]:
    yield summary["claim"]
    yield (
        f"{summary['paper']} {summary['figure']} at scale {summary['scale']}: {summary['recorded']} of "
        f"{summary['pieces']} pieces recorded, {summary['seconds']:.0f} s of work"
    )
    for name, found in _found(summary["values"], ()):
        yield f"{name}: {_claim(found) if 'holds' in found else _number(found)}"


def _claim(found: dict[str, Any]) -> str:
    word = {True: "holds", False: "does NOT hold", None: "not decided"}[found["holds"]]
    return f"{word}; {found['reason']}"


def _number(found: dict[str, Any]) -> str:
    spread = "" if found["sd"] is None else f" +- {found['sd']:.3g}"
    ours = f"{found['mean']:.4g}{spread} (n = {found['n']})"
    if found["paper"] is None:
        return ours
    word = {True: "reproduced", False: "NOT reproduced", None: "not judged"}[found["reproduced"]]
    return f"{ours}, paper {found['paper']:.4g}: {word}; {found['reason']}"


def _found(content: Any, path: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Find the numbers and the judged claims anywhere inside a summary, named by the way to them."""
    if isinstance(content, dict) and ("reproduced" in content or {"holds", "reason"} <= {*content}):
        yield " / ".join(path), content
        return
    if isinstance(content, dict):
        entries: Any = content.items()
    elif isinstance(content, list):
        entries = enumerate(content, start=1)
    else:
        return
    for key, inner in entries:
        yield from _found(inner, (*path, str(key)))
