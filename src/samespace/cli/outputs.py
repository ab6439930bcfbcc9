"""What commands write: the result to stdout, files, and on stderr one line for each file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from samespace.cli.errors import say
from samespace.errors import OutputError

if TYPE_CHECKING:
    from samespace.compare import Comparison
    from samespace.maps import Map


def show(text: str) -> None:
    """Write a result to stdout."""
    print(text)  # noqa: T201


def show_comparison(result: Comparison) -> None:
    """Write a comparison to stdout: in colour where somebody watches, as plain text in a pipe."""
    if not sys.stdout.isatty():
        show(str(result))
        return
    from rich.console import Console  # a pipe needs no rich

    from samespace.report.terminal import renderable

    Console().print(renderable(result))


def write_page(result: Comparison, path: Path) -> None:
    """Write the report page, with the command that made it."""
    from samespace.report.html import write  # only who asks for a page waits for jinja2

    write(result, path, command=command_line())
    wrote("report", path)


def command_line() -> str | None:
    """The command as it was typed; None when the commands are called from other programs."""
    program = Path(sys.argv[0])
    named = program.stem if program.stem != "__main__" else program.parent.name
    return shlex.join(["samespace", *sys.argv[1:]]) if named == "samespace" else None


def wrote(what: str, path: Path) -> None:
    """Say on stderr where something is."""
    say(f"wrote {what} to {path}")


def check_writable(*paths: Path | None) -> None:
    """Refuse now what could only fail after all the work: a file in a folder that does not exist."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise OutputError(f"{path} is a folder; needed is the name of a file to write.")
        if not path.parent.is_dir():
            raise OutputError(
                f"there is no folder {path.parent} to write {path.name} to. Make it first."
            )


def save_map(fitted: Map, path: Path) -> None:
    """Write a map, and how to use it."""
    fitted.save(path)
    wrote(f"{fitted.kind} map ({fitted.d_x} -> {fitted.d_y})", path)
    say(f"apply it with: samespace apply {path} IN OUT")
