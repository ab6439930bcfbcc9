"""The terms of d_LLV at given anchors: how far scaled log-likelihoods of two models are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samespace.errors import DegenerateError
from samespace.theory.place import namespace

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def scaled_gaps(
    root: Float[Array, "w p"],
    root_star: Float[Array, "w m"],
    anchors: tuple[Float[Array, "r p"], Float[Array, "1 p"]],
    anchors_star: tuple[Float[Array, "r m"], Float[Array, "1 m"]],
) -> tuple[Float[Array, " r"], Float[Array, " r"], Float[Array, " r"]]:
    """Return, for every anchor and the pivot, the scaled gap, the gap of scales and that of log-odds.

    Parameters
    ----------
    root, root_star
        Square roots of the joint covariance: |root a| is the sd over the sample of the combination a.
    anchors, anchors_star
        For each model the anchors' coefficients, row by row, and the pivot's.
    """
    xp = namespace(root)
    own, pivot = (root @ a.T for a in anchors)
    own_star, pivot_star = (root_star @ a.T for a in anchors_star)
    scale, scale_star = _scale(own, pivot), _scale(own_star, pivot_star)
    at_own = own / scale - own_star / scale_star
    at_pivot = pivot / scale - pivot_star / scale_star
    sd = xp.linalg.vector_norm
    gaps = xp.maximum(sd(at_own, axis=0), sd(at_pivot, axis=0))
    return gaps, xp.abs(scale - scale_star), sd(at_own - at_pivot, axis=0)


def _scale(own: Float[Array, "w r"], pivot: Float[Array, "w 1"]) -> Float[Array, " r"]:
    sd = namespace(own).linalg.vector_norm
    scale = sd(own - pivot, axis=0)
    # Below this the difference is the rounding of its two terms.
    constant = scale <= 1e-13 * (sd(own, axis=0) + sd(pivot, axis=0))
    if constant.any():
        raise DegenerateError(
            f"The log-odds of anchor {constant.tolist().index(True)} (of {len(scale)}) against the pivot "
            "are constant in one of the models, so they have no scale. Pass anchors with other vectors."
        )
    return scale
