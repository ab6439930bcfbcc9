"""The command line: parse, call, print. One file for each command; what is heavy loads when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from samespace.cli.align import align
from samespace.cli.apply import apply
from samespace.cli.compare import compare
from samespace.cli.demo import demo
from samespace.cli.errors import Commands
from samespace.cli.extract import extract
from samespace.cli.gate import gate
from samespace.cli.reproduce import reproduce

app = typer.Typer(
    name="samespace",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from samespace.report.recipes import versions

        typer.echo(f"samespace {versions()['samespace']}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Tell whether two models learned the same representation, up to which map, and hand you the map."""


app.command()(demo)
app.command()(compare)
app.command()(gate)
app.command()(apply)
app.command()(align)
app.command()(extract)
app.command()(reproduce)


def main() -> None:
    """Run the command line."""
    app()
