"""The terms of d_LLV at given anchors: how far scaled log-likelihoods of two models are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import DegenerateError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def scaled_gaps(
    root: Float[Array, "w p"],
    root_star: Float[Array, "w m"],
    anchors: tuple[Float[Array, "r p"], Float[Array, "r p"]],
    anchors_star: tuple[Float[Array, "r m"], Float[Array, "r m"]],
) -> tuple[Float[Array, " r"], Float[Array, " r"], Float[Array, " r"]]:
    """Return, for every anchor and its pivot, the scaled gap, the gap of scales and that of log-odds.

    Parameters
    ----------
    root, root_star
        Square roots of the joint covariance: |root a| is the sd over the sample of the combination a.
    anchors, anchors_star
        For each model the anchors' coefficients and their pivots', row by row.
    """
    own, pivot = (root @ a.T for a in anchors)
    own_star, pivot_star = (root_star @ a.T for a in anchors_star)
    scale, scale_star = _scale(own, pivot), _scale(own_star, pivot_star)
    at_own = own / scale - own_star / scale_star
    at_pivot = pivot / scale - pivot_star / scale_star
    gaps = np.maximum(np.linalg.norm(at_own, axis=0), np.linalg.norm(at_pivot, axis=0))
    return gaps, np.abs(scale - scale_star), np.linalg.norm(at_own - at_pivot, axis=0)


def _scale(own: Float[Array, "w r"], pivot: Float[Array, "w r"]) -> Float[Array, " r"]:
    scale = np.linalg.norm(own - pivot, axis=0)
    # Below this the difference is the rounding of its two terms.
    floor = 1e-13 * (np.linalg.norm(own, axis=0) + np.linalg.norm(pivot, axis=0))
    if np.any(scale <= floor):
        raise DegenerateError(
            f"The log-odds of anchor {int(np.argmax(scale <= floor))} (of {len(scale)}) against the pivot "
            "are constant in one of the models, so they have no scale. Pass anchors with other vectors."
        )
    return scale
