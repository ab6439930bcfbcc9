"""Multi-class N-pair metric learning is in the family, with f = g (Roeder 2021, Appendix D.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samespace.family.canonical import CanonicalModel

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def n_pair(
    encode: Callable[[Any], Float[Array, "n m"]], *, dim: int, name: str = "N-pair"
) -> CanonicalModel:
    """Read the N-pair loss of Sohn (2016) as a model of the family.

    loss_i = log(1 + sum over j != i of exp{f(x_i)'f(y_j) - f(x_i)'f(y_i)}) = -log p(y_i | x_i, S)
    with S = {y_1, ..., y_N}, the positives of the batch, and g = f.

    Notes
    -----
    Appendix D.5 prints the final line with "1/K sum" in place of the logarithm of the sum; the
    lines above it give the log-softmax used here. The loss's penalty on the norms of f is no part
    of p.

    Since g = f, two models of equal likelihoods have f* = f A and f* = f A^-T + b at once. Where
    differences of f span the space, that forces A A' = 1 and b = 0: the class is *orthogonal*,
    smaller than the theorem's.

    Examples
    --------
    >>> import numpy as np
    >>> model = n_pair(lambda x: x, dim=2)
    >>> np.exp(model.log_prob(np.zeros((1, 2)), np.eye(2)))
    array([[0.5, 0.5]])
    """
    return CanonicalModel(f=encode, g=encode, dim=dim, name=name)
