"""``samespace align``: is this contrastive data set useful for that downstream task?"""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from samespace.cli.options import Json, Verbose
from samespace.cli.outputs import show
from samespace.cli.progress import reporting

if TYPE_CHECKING:
    from samespace.theory.alignment import Alignment
    from samespace.theory.equivalence import Equivalence


def align(
    contrastive: Annotated[
        str, typer.Argument(metavar="CONTRASTIVE", help="Parquet: symbols in contexts.")
    ],
    downstream: Annotated[
        str, typer.Argument(metavar="DOWNSTREAM", help="Parquet: symbols in contexts with labels.")
    ],
    symbol: Annotated[
        str, typer.Option("--symbol", metavar="NAME", help="Column of symbols.")
    ] = "symbol",
    context: Annotated[
        str, typer.Option("--context", metavar="NAME", help="Column of contexts.")
    ] = "context",
    label: Annotated[
        str, typer.Option("--label", metavar="NAME", help="Column of labels, downstream.")
    ] = "label",
    margin: Annotated[
        float,
        typer.Option("--margin", metavar="D", help="The largest distance that counts as equal."),
    ] = 0.1,
    fdr: Annotated[
        float,
        typer.Option("--fdr", metavar="P", help="False discovery rate of either kind of finding."),
    ] = 0.05,
    min_count: Annotated[
        int, typer.Option("--min-count", metavar="N", help="Leave out rarer symbols.")
    ] = 20,
    max_symbols: Annotated[
        int, typer.Option("--max-symbols", metavar="N", help="Keep the most frequent symbols.")
    ] = 20_000,
    top: Annotated[
        int, typer.Option("--top", metavar="N", help="How many breaking symbols to list.")
    ] = 10,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Tell whether pre-training on CONTRASTIVE can help with DOWNSTREAM.

    It can when the symbols that the task treats alike are those that occur in
    the contrastive data alike. A symbol breaks this in two ways: missed (alike
    for the task, told apart by the data: no help) or confused (told apart by
    the task, alike in the data: harm).

    Columns 'count' or 'probability' weigh the rows, if there are any; with
    probabilities the answer is exact, else it is a test. Contexts should
    repeat: whole sentences never do, their neighbouring words do.

    \b
    Examples:
      samespace align neighbours.parquet reviews.parquet
      samespace align c.parquet d.parquet --symbol word --label stars --json
    """
    from samespace.theory.alignment import alignment
    from samespace.theory.occurrence_files import read_occurrences

    with reporting() as progress:
        seen = read_occurrences(
            contrastive,
            symbol=symbol,
            context=context,
            min_count=min_count,
            max_symbols=max_symbols,
            progress=progress,
        )
        task = read_occurrences(
            downstream,
            symbol=symbol,
            context=context,
            label=label,
            min_count=min_count,
            max_symbols=max_symbols,
            progress=progress,
        )
        found = alignment(seen, task, margin=margin, level=fdr, reach=3 * margin)
    if json:
        show(json_format.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        show("\n".join(_lines(found, deterministic=task.deterministic, top=top)))


def _lines(found: Alignment, *, deterministic: bool, top: int) -> Iterator[str]:
    yield f"{found.verdict}: {found.reason}"
    score = "none" if found.score is None else f"{found.score:.3f}"
    if found.interval is not None:
        score += f" [{found.interval[0]:.3f}, {found.interval[1]:.3f}]"
    yield f"score        {score}   (1: every equivalent pair is equivalent in both)"
    yield (
        f"pairs        {found.kept:,} kept, {found.missed:,} missed, {found.confused:,} confused, "
        f"{found.undecided:,} undecided"
    )
    yield (
        f"symbols      {len(found.contrastive.symbols):,} in both; only contrastive "
        f"{len(found.only_contrastive):,}, only downstream {len(found.only_downstream):,}"
    )
    yield from _classes("contrastive", found.contrastive)
    yield from _classes("downstream", found.downstream)
    if deterministic:
        yield "note         no symbol has two labels in one context: labels are taken for a function"
    yield from _broken(found, top)


def _classes(side: str, relation: Equivalence) -> Iterator[str]:
    classes = relation.classes
    yield f"{side:<12} {relation.comparable:,} comparable pairs, {len(classes):,} classes of 2 or more"
    for one in classes[:3]:
        shown = ", ".join(str(symbol) for symbol in one.symbols[:8])
        more = f", ... ({len(one.symbols)})" if len(one.symbols) > 8 else ""
        sure = "" if one.established else ", not established"
        yield f"             {shown}{more}   (diameter {one.diameter:.3f}{sure})"


def _broken(found: Alignment, top: int) -> Iterator[str]:
    if not found.broken:
        return
    width = max(6, *(len(str(one.symbol)) for one in found.broken[:top]))
    yield f"{'symbol':<{width}}  missed  confused  kept  farthest from  (distance)"
    for one in found.broken[:top]:
        yield (
            f"{one.symbol!s:<{width}}  {one.missed:>6}  {one.confused:>8}  {one.kept:>4}  "
            f"{one.example}  ({one.distance:.3f})"
        )
    if len(found.broken) > top:
        yield f"... and {len(found.broken) - top:,} more; list them with --top or --json"
