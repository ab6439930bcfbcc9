"""Docstrings write norms as in mathematics, |x|; reStructuredText would read a substitution there."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE_BACKTICKS = re.compile(r"(`+[^`]*`+)")
_VERBATIM = re.compile(r"^(\s*)(?:\.\. (?:math|code-block)::.*|.*::|>>> .*|\.\.\. .*)$")


def escape_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape vertical bars in prose: not in backticks, formulas, examples or literal blocks."""
    verbatim_indent: int | None = None
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if verbatim_indent is not None and line.strip() and indent <= verbatim_indent:
            verbatim_indent = None
        starts = _VERBATIM.match(line)
        if verbatim_indent is None and starts:
            verbatim_indent = indent
        elif verbatim_indent is None:
            parts = _OUTSIDE_BACKTICKS.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "".join(parts)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
