"""A comparison as Markdown, with tables that GitHub renders: for pull requests, logs and wikis."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from samespace.report.recipes import reproduce, use_the_map, versions
from samespace.report.terminal import printable
from samespace.report.view import class_view, rows, tiles
from samespace.report.words import SAYINGS, STATUSES

if TYPE_CHECKING:
    from samespace.compare import Comparison
    from samespace.report.recipes import Recipe

_SPECIAL = re.compile(r"([\\`*_\[\]|~#$@])")


def document(result: Comparison, *, command: str | None = None) -> str:
    """The whole report: verdict, lattice, how to use the map, diagnostics, settings, versions."""
    parts = [
        summary(result),
        *section("How to use the map", use_the_map(result)),
        folded("Diagnostics", rows(result.diagnostics, without=("warnings",))),
        folded("Settings", rows(result.settings)),
        folded("Versions", versions().items()),
        *section("To get this report again", reproduce(result, command=command)),
    ]
    return "\n\n".join(parts) + "\n"


def summary(result: Comparison) -> str:
    """The verdict and the lattice: short enough for a comment on a pull request."""
    old, new = (inert(name) for name in result.names)
    saying = SAYINGS[result.verdict.name]
    return "\n\n".join(
        [
            f"## {saying.headline}",
            f"**Verdict: {result.verdict.name}** for {old} → {new}. {saying.meaning}",
            inert(result.verdict.reason),
            f"**{saying.action}**",
            "\n".join(f"- **{tile['value']}** {tile['what']}" for tile in tiles(result)),
            lattice(result),
            *(f"> **Warning:** {inert(warning)}" for warning in result.diagnostics.warnings),
        ]
    )


def lattice(result: Comparison) -> str:
    """The lattice as a table: one row per class."""
    heading = [
        "map",
        "unexplained, held out",
        "interval",
        "excess over affine",
        "in sample",
        "corrected",
        "random pairs",
        "holds",
    ]
    return table(heading, (_cells(result, place) for place in range(len(result.classes))))


def table(heading: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A GitHub table, the first column flush left and the others flush right."""
    rule = [":---", *["---:"] * (len(heading) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (heading, rule, *body))


def folded(title: str, lines: Iterable[tuple[str, str]]) -> str:
    """Labelled lines behind a fold, which GitHub opens on a click."""
    body = table([title.lower(), ""], ([inert(label), inert(value)] for label, value in lines))
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def section(title: str, recipes: Sequence[Recipe]) -> list[str]:
    """Code blocks under a heading; nothing when there is no code."""
    return [f"### {title}", *map(_block, recipes)] if recipes else []


def inert(text: object) -> str:
    r"""Text that Markdown and HTML leave alone, on one line.

    Examples
    --------
    >>> inert("a|b <script> [x](y)")
    'a\\|b &lt;script&gt; \\[x\\](y)'
    """
    return html.escape(_SPECIAL.sub(r"\\\1", printable(text)), quote=False)


def _cells(result: Comparison, place: int) -> list[str]:
    entry = class_view(result.classes[place])
    name = f"**{entry['name']}**" if entry["name"] == result.verdict.name else entry["name"]
    if entry["status"] == "absent":
        return [name, *["–"] * 6, STATUSES["absent"]]
    words = ("unexplained", "interval", "excess", "in_sample", "best", "null", "holds")
    return [name, *(entry["text"][word] for word in words)]


def _block(recipe: Recipe) -> str:
    # A fence longer than any run of backticks inside cannot be closed from inside.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", recipe.code)), default=0))
    return f"{recipe.title}:\n\n{fence}{recipe.language}\n{recipe.code}\n{fence}"
