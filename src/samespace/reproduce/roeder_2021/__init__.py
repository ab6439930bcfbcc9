"""Roeder, Metz & Kingma 2021, "On Linear Identifiability of Learned Representations": Figure 2.

Pairs of classifiers of the radial world are trained from different seeds; over training, the mean
canonical correlation between their embeddings f, and between their unembeddings g, is said to rise
to one. Beside the paper's setting stand two that the theory speaks of: two classes, where diversity
fails, and a wide start of g, where training ends in local minima of unequal likelihoods.

`study` trains and measures, `findings` merges the records and judges, `drawing` draws.
"""

from __future__ import annotations

from typing import Any

from samespace.reproduce.registry import Piece, Reproduction, Settings, register
from samespace.reproduce.roeder_2021.drawing import draw
from samespace.reproduce.roeder_2021.findings import summarise
from samespace.reproduce.roeder_2021.study import run

# The paper gives both rates for this study (Appendix A.2), and no start of g: "near zero" is this
# package's (see `samespace.learn.encoders.Classifier`), "wide" is Glorot's for two inputs and 18 outputs.
CONDITIONS: dict[str, dict[str, Any]] = {
    "paper-1e-4": {"classes": 18, "learning_rate": 1e-4, "start": 0.01},
    "paper-3e-4": {"classes": 18, "learning_rate": 3e-4, "start": 0.01},
    "two-classes": {"classes": 2, "learning_rate": 3e-4, "start": 0.01},
    "wide-start": {"classes": 18, "learning_rate": 3e-4, "start": 0.316},
}
SHARED = {"noise": 20, "sd": 3.0, "widths": [64, 64], "dim": 2, "batch": 256}


def pieces(settings: Settings) -> list[Piece]:
    """Make one piece per condition: all its pairs are trained as one population."""
    return [
        Piece(name=name, settings={**SHARED, **settings, **own}) for name, own in CONDITIONS.items()
    ]


register(
    Reproduction(
        paper="roeder-2021",
        figure="fig2",
        claim="K = 18 > M + 1: mean CCA between two classifiers rises to about 1, for f and for g, after "
        "about 4000 iterations; their first dimensions plot as a line after the optimal map",
        scales={
            "smoke": {"steps": 400, "pairs": 2, "every": 100, "held_out": 256},
            "small": {"steps": 6_000, "pairs": 5, "every": 200, "held_out": 2048},
            "paper": {"steps": 50_000, "pairs": 5, "every": 250, "held_out": 4096},
        },
        pieces=pieces,
        run=run,
        summarise=summarise,
        draw=draw,
    )
)
