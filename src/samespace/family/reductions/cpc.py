"""Contrastive predictive coding is in the family: its bilinear matrix belongs to f (Roeder 2021,
D.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samespace.errors import ShapeError
from samespace.family.canonical import CanonicalModel

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def cpc(
    context: Callable[[Any], Float[Array, "n c"]],
    encode: Callable[[Any], Float[Array, "k m"]],
    W: Float[Array, "m c"],
    *,
    name: str = "CPC",
) -> CanonicalModel:
    """Read CPC's k-step predictor as a model of the family.

    l_k(x_{t+k}, c_t) = exp(z_{t+k}' W_k c_t) and the loss is -log l_k over its sum in X, one
    positive among N - 1 others (Eq. 24). Hence f(x) = W_k c(x) and g(y) = z(y); S is the minibatch
    X.

    Parameters
    ----------
    context
        Inputs -> context vectors c_t, (n, c).
    encode
        Candidates -> latents z, (K, M).
    W
        W_k of the step k that is predicted, (M, c). Each k is its own task and its own model: they
        share z, not f.

    Notes
    -----
    Compare the products W c, never c alone: c is identified only as far as W is (if c is wider than
    z, not at all).

    Examples
    --------
    >>> import numpy as np
    >>> model = cpc(lambda c: c, lambda z: z, np.array([[1.0, 1.0]]))
    >>> model.embed(np.array([[2.0, 3.0]]))
    array([[5.]])
    """
    if len(W.shape) != 2:
        raise ShapeError(f"W is (width of z, width of c); got shape {tuple(W.shape)}.")
    return CanonicalModel(
        f=lambda inputs: context(inputs) @ W.T, g=encode, dim=int(W.shape[0]), name=name
    )
