"""``samespace demo``: two models that are the same up to a map, and two that only look so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from samespace.cli.errors import say
from samespace.cli.options import Verbose
from samespace.cli.outputs import show, wrote
from samespace.cli.progress import reporting

if TYPE_CHECKING:
    from samespace.demo import Shown

_FIRST = """\
1. Two classifiers, trained apart on the same 18 classes of points in the plane.
   They share the data's law, the layout and nothing else: other weights, other samples."""
_SECOND = """\
2. Two models written down by hand, both all but certain of every label."""


def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where reports and representations go.")
    ] = Path("samespace-demo"),
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", help="Training steps of the two classifiers.")
    ] = 10_000,
    verbose: Verbose = False,
) -> None:
    """Train two models, compare them, print the verdict and write the report; in about a minute.

    Then two models whose losses are equally good, and whose representations
    are not the same space. Interrupted, it goes on where it was when called
    again; finished, it starts anew and writes the same files.

    \b
    Example:
      samespace demo --out samespace-demo
    """
    from samespace.demo import close_losses, trained_pair

    show(_FIRST)
    with reporting(unit="steps") as progress:
        same = trained_pair(out, steps=steps, progress=progress)
    _print(same)
    show(_SECOND)
    different = close_losses(out)
    _print(different)
    for shown in (same, different):
        wrote("report", shown.report)
    old, new = same.representations
    say(f"try next: samespace compare {old} {new}")


def _print(shown: Shown) -> None:
    old, new = shown.losses
    show(
        f"   Losses on held-out points: {old:.2g} and {new:.2g} nats. Mean CCA {shown.mean_cca:.2f}."
    )
    show(f"\n{shown.comparison}\n")
