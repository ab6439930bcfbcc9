"""Zimmermann et al. 2021, Tables 1 and 2, and the limit that their proofs rest on.

Each row of a table is a world (space, marginal, conditional) and a model (head, similarity) that is
trained on pairs alone. Beside it stand the same encoder trained on the latents themselves, and the
observations as they are. The rows are read from the published numbers. Deviations from the paper
are numbered in ``reproductions/zimmermann_2021/README.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from samespace.reproduce.registry import Context, Piece, Reproduction, register
from samespace.reproduce.zimmermann_2021.latents import LATENTS
from samespace.reproduce.zimmermann_2021.limit import LIMIT
from samespace.reproduce.zimmermann_2021.rows import PAPER, SCALES, pieces
from samespace.reproduce.zimmermann_2021.summary import draw, summarise
from samespace.reproduce.zimmermann_2021.widths import WIDTHS


def _run(piece: Piece, context: Context) -> Mapping[str, Any]:
    from samespace.reproduce.zimmermann_2021.experiment import run  # needs torch

    return run(piece, context)


_CLAIMS = {
    "table1": "Contrastive learning recovers the latents up to an affine map, also where the world "
    "is not the one that the theorem assumes.",
    "table2": "On a box, with a similarity other than the L2 norm's, it recovers them up to a "
    "permutation; without a bounded model space, L2-like similarities lose that.",
}

for _table, _claim in _CLAIMS.items():
    register(
        Reproduction(
            paper=PAPER,
            figure=_table,
            claim=_claim,
            scales=SCALES,
            pieces=partial(pieces, _table),
            run=_run,
            summarise=partial(summarise, _table),
            draw=draw,
        )
    )
register(LIMIT)
register(LATENTS)
register(WIDTHS)
