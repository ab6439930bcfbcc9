"""One offline HTML page: verdict, lattice, spectrum, points; everything it needs inside one file.

Names come from the user's files, so jinja2 escapes every text, the data blob is escaped for its place
inside a script element, and a content security policy admits only the page's own script and style by
their hashes: whatever else reaches the page cannot run, and nothing can be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samespace.errors import OutputError
from samespace.report.recipes import reproduce, use_the_map, versions
from samespace.report.view import view

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from samespace.compare import Comparison
    from samespace.report.recipes import Recipe

_SCRIPTS = ("draw", "lattice", "intervals", "curves", "points", "main")
_HOSTILE = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@dataclass(frozen=True)
class Section:
    """More to say on the page, from another room.

    Attributes
    ----------
    title
        Plain text; escaped like every other.
    body
        HTML that is safe already: what `fragment` returned, or escaped by whoever wrote it.
    first
        Whether it stands before the comparisons, else after them.
    """

    title: str
    body: Markup
    first: bool = False


def page(
    result: Comparison,
    *,
    command: str | None = None,
    sections: Sequence[Section] = (),
    written: datetime | None = None,
) -> str:
    """The page of one comparison.

    Parameters
    ----------
    result
        The comparison.
    command
        The command line that made it, if there was one; the page shows it.
    sections
        More sections, in order.
    written
        The date to print; now by default.
    """
    return assemble(
        [page_view(result) | {"use": use_the_map(result)}],
        title=" -> ".join(str(name) for name in result.names),
        recipes=reproduce(result, command=command),
        sections=sections,
        written=written,
    )


def write(result: Comparison, path: str | os.PathLike[str], **options: Any) -> Path:
    """Writes the page (options as in `page`) and returns where; whole or not at all."""
    return save(page(result, **options), path)


def save(text: str, path: str | os.PathLike[str]) -> Path:
    """Writes text to a file by way of a neighbour, so that a reader never sees half a page."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(
            f"the report cannot be written to {target}: {error.strerror}; "
            "name a file in a folder that exists and may be written."
        ) from error
    return target


def page_view(result: Comparison, *, part: str = "") -> dict[str, Any]:
    """A comparison's view with what the template adds: its part's name, and code to use the map."""
    return {**view(result), "part": part, "use": []}


def assemble(
    views: Sequence[Mapping[str, Any]],
    *,
    title: str,
    recipes: Sequence[Recipe],
    sections: Sequence[Section],
    written: datetime | None,
    headline: Mapping[str, Any] | None = None,
) -> str:
    """A page of one or several comparisons (their `page_view`), with or without a headline above."""
    style, script = _style(), _script()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            headline=headline,
            views=views,
            sections=sections,
            recipes=recipes,
            versions=versions(),
            written=(written or datetime.now(UTC)).strftime("%Y-%m-%d"),
            style=_trusted(style),
            style_hash=_hash(style),
            script=_trusted(script),
            script_hash=_hash(script),
            data=_trusted(script_safe([_charted(view) for view in views])),
        )
    )


def fragment(template: str, **values: Any) -> Markup:
    """A template of this package rendered to safe HTML, for a `Section`'s body."""
    return _trusted(_environment().get_template(template).render(**values))


def script_safe(value: Any) -> str:
    r"""JSON that may stand inside a script element: nothing in it can end the element.

    Examples
    --------
    >>> script_safe(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "".join(_HOSTILE.get(char, char) for char in text)


def _charted(view: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a view that the drawings need; words are in the page already."""
    return {key: view[key] for key in ("classes", "bounds", "spectrum", "r2", "points")}


@cache
def _environment() -> Environment:
    # Imported here: the terminal needs no jinja2.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("samespace.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style() -> str:
    return _environment().get_template("page.css").render()


@cache
def _script() -> str:
    folder = files("samespace.report") / "templates" / "js"
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def _trusted(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)  # only ever this package's own text, or text escaped just before


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
