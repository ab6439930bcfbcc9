"""When does closeness in distribution pay? Trained pairs at many stages, with the proven bounds drawn in.

No paper's figure: the study closes the circle between Nielsen et al. 2024 and 2025. Pairs of classifiers
of the radial world are compared over training by d_LLV, d_SVD, the held-out error of the best affine map,
the divergence and the loss. In the "soft" world labels are *drawn* from a model of the family, so one
distribution is right and training leads every model to it; in the "sectors" world labels are certain, the
likelihood grows without end, and nothing says which of many distributions a model is to take.
"""

from __future__ import annotations

from typing import Any

from samespace.reproduce.closeness.drawing import draw
from samespace.reproduce.closeness.findings import summarise
from samespace.reproduce.closeness.study import run
from samespace.reproduce.registry import Piece, Reproduction, Settings, register

CONDITIONS: dict[str, dict[str, Any]] = {
    "soft-wide": {"world": "soft", "classes": 18, "widths": [128, 128]},
    "soft-narrow": {"world": "soft", "classes": 18, "widths": [16, 16]},
    "soft-few-labels": {"world": "soft", "classes": 4, "widths": [64, 64]},
    "sectors-wide": {"world": "sectors", "classes": 18, "widths": [128, 128]},
    "sectors-narrow": {"world": "sectors", "classes": 18, "widths": [16, 16]},
}
SHARED = {"noise": 3, "sd": 3.0, "dim": 2, "batch": 256, "learning_rate": 1e-3, "sharpness": 3.0}


def pieces(settings: Settings) -> list[Piece]:
    """One piece per condition: all its pairs are trained as one population."""
    return [
        Piece(name=name, settings={**SHARED, **settings, **own}) for name, own in CONDITIONS.items()
    ]


register(
    Reproduction(
        paper="closeness",
        figure="training",
        claim="d_SVD stays below 2 d_LLV^2 at every stage of training, and divergence alone bounds nothing.",
        scales={
            "smoke": {"steps": 200, "pairs": 1, "every": 100, "held_out": 256},
            "small": {"steps": 4_000, "pairs": 3, "every": 200, "held_out": 2048},
            "paper": {"steps": 20_000, "pairs": 5, "every": 200, "held_out": 4096},
        },
        pieces=pieces,
        run=run,
        summarise=summarise,
        draw=draw,
    )
)
