"""Sentence encoders trained on in-batch negatives are in the family: one tower, a cosine, a
scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.family.canonical import CanonicalModel
from samespace.family.reductions.two_tower import two_tower

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def sentences(
    encoder: Any, *, scale: float = 20.0, batch_size: int = 32, name: str = "sentences"
) -> CanonicalModel:
    """Read a sentence-transformers model as a model of the family.

    Its loss of pairs (MultipleNegativesRankingLoss) is -log softmax over the batch's texts of scale
    cos(e(q), e(t)): f = scale e/|e|, g = e/|e|. Inputs are queries, labels the candidate texts; S
    comes with the data.

    Parameters
    ----------
    encoder
        Anything whose ``encode`` turns a list of texts into rows.
    scale
        The loss's scale; 20 is that loss's default. A checkpoint does not record it: it scales f
        and changes no verdict but the likelihoods'.

    Notes
    -----
    An encoder trained otherwise (on scored pairs, by distillation) has no such likelihood; its
    towers can be compared all the same, but the theorem does not speak of them.
    """

    def encode(texts: Any) -> Float[Array, "n m"]:
        return np.asarray(
            encoder.encode(list(texts), batch_size=batch_size, show_progress_bar=False)
        )

    return two_tower(
        encode, encode, dim=_width(encoder), temperature=1.0 / scale, normalise=True, name=name
    )


def _width(encoder: Any) -> int:
    """Return the encoder's width, by whichever name its version has for it."""
    ask = (
        getattr(encoder, "get_embedding_dimension", None)
        or encoder.get_sentence_embedding_dimension
    )
    return int(ask())
