"""SimCLR's NT-Xent is in the family: f = g up to the temperature, and S leaves the anchor out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import OptionError
from samespace.family.canonical import CanonicalModel, PerSample
from samespace.family.reductions.two_tower import two_tower

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def simclr(
    encode: Callable[[Any], Float[Array, "n m"]],
    *,
    dim: int,
    temperature: float = 0.5,
    name: str = "SimCLR",
) -> CanonicalModel:
    """Read NT-Xent (Chen et al. 2020) as a model of the family.

    loss(i, j) = -log exp(cos(z_i, z_j) / tau) / sum over k != i of exp(cos(z_i, z_k) / tau): unit
    vectors, and S is every other view of the batch. The anchor itself is no candidate, so S differs
    from row to row: ``others(views)``.

    Notes
    -----
    ``encode`` ends with the projection head, since the loss speaks of its output. The
    representation *before* it, which SimCLR uses downstream, is not covered by the theorem.

    Examples
    --------
    >>> import numpy as np
    >>> model, views = simclr(lambda v: v, dim=2), np.eye(2)[[0, 1, 0, 1]]
    >>> np.exp(model.log_prob(views, others(views))).round(3)[0]
    array([0.107, 0.787, 0.107])
    """
    return two_tower(encode, encode, dim=dim, temperature=temperature, normalise=True, name=name)


def others(views: Any) -> PerSample:
    """Return the candidates of each view of a batch: all the others, in order."""
    n = len(views)
    if n < 2:
        raise OptionError(f"A batch must hold two views at least; got {n}.")
    rest = np.arange(n - 1)[None, :] + (np.arange(n - 1)[None, :] >= np.arange(n)[:, None])
    return PerSample(views[rest])
