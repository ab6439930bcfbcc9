"""Figures 2 and 4 to 8 of "Contrastive learners are semantic learners", and three studies beyond them.

A population of symbol tables is trained on CModAdd, the distances between symbols within and between
equivalence classes are followed, and classifiers of ModAdd start from the symbols or at random. A variant
with its seeds is one piece; `together` trains many pieces as few populations.
``reproductions/semantic_learners/README.md`` numbers what the paper leaves open and what was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from samespace.reproduce.registry import Context, Piece, Reproduction, Settings, register
from samespace.reproduce.semantic_learners import (
    causes,
    choices,
    curves,
    figure9,
    figures,
    misalignment,
    settings,
)

PAPER = "semantic-learners"


def together(pieces: Sequence[Piece], context: Context) -> list[dict[str, Any]]:
    """Train the populations of many variants and return their curves and final distances."""
    from samespace.reproduce.semantic_learners.populations import trained

    outcomes = trained([piece.settings for piece in pieces], context)
    return [
        curves.values(outcome, piece.settings)
        for outcome, piece in zip(outcomes, pieces, strict=True)
    ]


def _register(figure: str, claim: str, scales: Mapping[str, Settings], room: Any) -> None:
    register(
        Reproduction(
            paper=PAPER,
            figure=figure,
            claim=claim,
            scales=scales,
            pieces=room.pieces,
            together=together,
            summarise=room.summarise,
            draw=room.draw,
        )
    )


for _name, (_claim, _) in settings.FIGURES.items():
    _register(_name, _claim, settings.of_figure(_name), figures)
_register(
    "misalignment",
    "the better two data sets are aligned, the more pre-training gains (not in the paper)",
    settings.of_study(concentrations=settings.CONCENTRATIONS),
    misalignment,
)
_register(
    "choices",
    "what the paper leaves open hardly decides its claims (not in the paper)",
    settings.of_study(choices=settings.OPEN),
    choices,
)
_register(
    "causes",
    "without decay, the free constant of each symbol keeps what it was at first (not in the paper)",
    settings.of_study(causes=settings.CAUSES),
    causes,
)

register(figure9.REPRODUCTION)
