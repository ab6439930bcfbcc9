"""Published tables and figures, made again in pieces that may be killed and resumed.

A *reproduction* is one table or figure of one paper. It is cut into independent *pieces* (a row and a
seed, say); each piece writes its own record as soon as it is done, a piece that already has a record
with the same settings is skipped, and a summary merges the records beside the published numbers::

    reproductions/<paper>/results/<figure>/<scale>/<piece>.json     one `Record` each
    reproductions/<paper>/results/<figure>-<scale>.json             the summary
    reproductions/<paper>/results/<figure>-<scale>.svg              what `draw` made, if anything

A paper is a module of this package named after it (``zimmermann_2021.py`` for ``zimmermann-2021``),
that registers its figures when imported::

    def pieces(settings):                     # from one of `scales`: everything that sets the results
        return [Piece(name=f"seed{s}", settings={**settings, "seed": s}) for s in range(settings["seeds"])]

    def run(piece, context):                  # context.device, context.progress, context.workspace
        return {"mcca": ...}                  # JSON-able; NumPy numbers and arrays are converted

    def summarise(records, expected):         # expected: the paper's toml as a dictionary
        return {"mcca": Value.of([r.values["mcca"] for r in records], paper=expected["example"]["mcca"])}

    register(Reproduction(paper="nielsen-2024", figure="example", claim="...",
                          scales={"smoke": {"seeds": 2}, "paper": {"seeds": 200}},
                          pieces=pieces, run=run, summarise=summarise, draw=None))

`Value`s may stand anywhere inside the summary, nested in dictionaries and lists; each carries mean,
standard deviation, number of seeds, the paper's number and whether it was reproduced, with the reason.
Long pieces keep their checkpoints in ``context.workspace``, a folder of their own that is removed once
the piece is recorded.
"""

from __future__ import annotations

from samespace.reproduce.record import Record, Value
from samespace.reproduce.registry import (
    Context,
    Piece,
    Reproduction,
    available,
    expected,
    find,
    find_all,
    register,
)
from samespace.reproduce.runner import make, make_all, summarise

__all__ = [
    "Context",
    "Piece",
    "Record",
    "Reproduction",
    "Value",
    "available",
    "expected",
    "find",
    "find_all",
    "make",
    "make_all",
    "register",
    "summarise",
]
