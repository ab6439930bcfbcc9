"""The lattice as a table: plain text for ``print`` and logs, a rich rendering for a terminal.

Names come from the user's files, so control characters (a terminal obeys them) and rich's markup are
made inert before anything is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from samespace.report import words
from samespace.report.numerals import difference, interval, plain, share, stated

if TYPE_CHECKING:
    from rich.console import RenderableType

    from samespace.compare import Comparison
    from samespace.verdict import ClassResult

_WIDTH = 88
_STYLES = {"holds": "bold green", "fails": "red", "undecided": "yellow", "absent": "dim"}


def text(result: Comparison) -> str:
    """The comparison as plain ASCII text, eighty-odd columns wide: what ``print(result)`` shows."""
    saying = words.SAYINGS[result.verdict.name]
    lines = [
        title(result),
        "",
        f"verdict: {result.verdict.name.upper()}. {saying.headline}",
        *paragraph(result.verdict.reason),
        f"  {saying.action}",
        "",
        *aligned([header(result), *(cells(entry) for entry in result.classes)]),
        "",
        *wrap(footnote(result), width=_WIDTH),
        *(f"warning: {warning}" for warning in warnings(result)),
    ]
    return "\n".join(lines)


def renderable(result: Comparison) -> RenderableType:
    """The comparison for ``rich.print``: the verdict in a box, the lattice as a table."""
    # Imported here: a plain print needs no rich.
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    saying = words.SAYINGS[result.verdict.name]
    verdict = Text.assemble(
        (saying.headline, "bold"), "\n", printable(result.verdict.reason), "\n", saying.action
    )
    table = Table(box=None, pad_edge=False, header_style="dim")
    for index, heading in enumerate(header(result)):
        table.add_column(heading, justify="right" if index else "left", no_wrap=True)
    for entry in result.classes:
        state = words.status(applies=entry.applies, holds=entry.holds)
        styles = ["bold" if entry.name == result.verdict.name else "", "", "", "", "dim"]
        row = zip(cells(entry), [*styles, _STYLES[state]], strict=True)
        table.add_row(*(Text(cell, style=style) for cell, style in row))
    box = Panel(verdict, title=f"verdict: {result.verdict.name}", title_align="left")
    notes = [Text(f"warning: {warning}", style="yellow") for warning in warnings(result)]
    note = Text(footnote(result), style="dim")
    return Group(Text(title(result), style="dim"), box, table, note, *notes)


def title(result: Comparison) -> str:
    """Which two spaces were compared, and how large they are."""
    old, new = (printable(name) for name in result.names)
    return f"{old} ({result.d_x:,} wide) -> {new} ({result.d_y:,} wide), {result.n:,} paired rows"


def header(result: Comparison) -> list[str]:
    """The column headings of the lattice table."""
    level = stated(result.settings.level)
    return ["map", "unexplained", f"{level} interval", "excess", "random pairs", "holds"]


def cells(entry: ClassResult) -> list[str]:
    """One class as a row of the lattice table."""
    state = words.STATUSES[words.status(applies=entry.applies, holds=entry.holds)]
    if not entry.applies:
        return [entry.name, "-", "-", "-", "-", state]
    span, null = entry.interval, entry.null
    return [
        entry.name,
        share(entry.unexplained),
        interval(span.low, span.high) if span else plain(None),
        "-" if entry.name == "affine" else difference(entry.excess),
        interval(null.low, null.high) if null else plain(None),
        state,
    ]


def warnings(result: Comparison) -> list[str]:
    """What the diagnostics warn of."""
    return [printable(warning) for warning in result.diagnostics.warnings]


def footnote(result: Comparison) -> str:
    """What the numbers are, and what it takes to hold."""
    settings = result.settings
    return (
        "unexplained: share of new's variance that the map misses on held-out rows. "
        "excess: what it loses to the affine map. A map holds "
        f"when it loses at most {stated(settings.tolerance)} and explains at "
        f"least {stated(settings.floor)}."
    )


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines of equal columns, the first flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def paragraph(sentence: str) -> list[str]:
    """A sentence as indented lines."""
    return wrap(printable(sentence), width=_WIDTH, initial_indent="  ", subsequent_indent="  ")


def printable(name: object) -> str:
    """A name with everything a terminal might obey written out (``\\x1b`` for escape)."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in str(name)
    )
