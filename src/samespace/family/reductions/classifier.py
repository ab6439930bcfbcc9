"""A supervised classifier is in the family: g(y) is row y of the last layer (Roeder 2021, Section
4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samespace.errors import ShapeError
from samespace.family.bias import with_bias, with_ones
from samespace.family.canonical import CanonicalModel

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def classifier(
    features: Callable[[Any], Float[Array, "n m"]],
    weight: Float[Array, "k m"],
    bias: Float[Array, " k"] | None = None,
    *,
    name: str = "classifier",
) -> CanonicalModel:
    """Read a softmax classifier as a model of the family, its set S being all K classes.

    log p(y|x) = h(x)'w_y + b_y - log sum over y' of exp(h(x)'w_y' + b_y'), hence f = [h, 1] and
    g(y) = [w_y, b_y]; without biases f = h and g(y) = w_y.

    Parameters
    ----------
    features
        Inputs -> h, what the last linear layer takes, (n, M).
    weight, bias
        The last layer's parameters as PyTorch lays them out: (K, M) and (K,).

    Notes
    -----
    The paper states W as M x M; the classes must outnumber the dimensions (K >= M + 1; with biases
    K >= M + 2), so it is M x K. With fewer classes diversity fails and features that the classes do
    not use are free.

    Examples
    --------
    >>> import numpy as np
    >>> model = classifier(np.tanh, np.eye(2), np.zeros(2))
    >>> np.exp(model.log_prob(np.zeros((1, 2))))
    array([[0.5, 0.5]])
    """
    if len(weight.shape) != 2:
        raise ShapeError(f"weight is (classes, features); got shape {tuple(weight.shape)}.")
    g = weight if bias is None else with_bias(weight, bias)
    return CanonicalModel(
        f=features if bias is None else lambda inputs: with_ones(features(inputs)),
        g=lambda labels: g[labels],
        dim=int(g.shape[1]),
        labels=slice(None),
        bias=bias is not None,
        name=name,
    )
