"""Two towers, InfoNCE and CLIP are in the family: temperature and normalisation belong to the
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samespace.errors import OptionError
from samespace.family.canonical import CanonicalModel
from samespace.family.softmax import namespace

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def two_tower(
    query: Callable[[Any], Float[Array, "n m"]],
    item: Callable[[Any], Float[Array, "k m"]],
    *,
    dim: int,
    temperature: float = 1.0,
    normalise: bool = False,
    name: str = "two-tower",
) -> CanonicalModel:
    """Read a contrastive model of queries and items as a model of the family.

    InfoNCE's loss is -log softmax over the batch's items of sim(q, i) / tau, with the inner product
    or, normalised, the cosine as sim. Hence f(x) = q(x) / tau (of unit q if normalised) and g(y) =
    i(y); S is the batch's items, or a set of negatives per query (`PerSample`).

    Parameters
    ----------
    temperature
        tau; for a learnt scale such as CLIP's, 1 / exp(logit_scale). It is part of f, so two models
        that differ in temperature alone differ by a scale of f.
    normalise
        Whether both towers end on the unit sphere.

    Notes
    -----
    For a *loss* over both directions (CLIP's) there are two models, (f, g, items) and (g, f,
    queries): both log-probabilities are needed for the loss, either for the theorem.

    Normalised towers can only be linked by maps that keep the sphere: an admissible A is a rotation
    or reflection times the ratio of the temperatures.

    Examples
    --------
    >>> import numpy as np
    >>> model = two_tower(lambda q: q, lambda i: i, dim=2, temperature=0.5, normalise=True)
    >>> model.embed(np.array([[3.0, 4.0]]))
    array([[1.2, 1.6]])
    """
    if not temperature > 0:
        raise OptionError(
            f"temperature must be positive; got {temperature}. For a learnt scale s, pass 1 / s."
        )
    onto = unit if normalise else _as_is
    return CanonicalModel(
        f=lambda inputs: onto(query(inputs)) / temperature,
        g=lambda labels: onto(item(labels)),
        dim=dim,
        name=name,
    )


def unit(rows: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Return the rows scaled to length one; a zero row stays zero, as in PyTorch's normalize."""
    xp = namespace(rows)
    return rows / xp.clip(xp.linalg.vector_norm(rows, axis=-1, keepdims=True), 1e-12, None)


def _as_is(rows: Float[Array, "n m"]) -> Float[Array, "n m"]:
    return rows
