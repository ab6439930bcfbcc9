"""Quick-thought vectors are in the family as they stand (Roeder 2021, Appendix D.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samespace.family.canonical import CanonicalModel

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def quick_thought(
    sentence: Callable[[Any], Float[Array, "n m"]],
    candidate: Callable[[Any], Float[Array, "k m"]],
    *,
    dim: int,
    name: str = "Quick-Thought",
) -> CanonicalModel:
    """Read the sentence classifier of Logeswaran & Lee (2018) as a model of the family.

    log p(s_cand | s, S_cand) = f(s)'g(s_cand) - log sum over s' in S_cand of exp f(s)'g(s'): two
    encoders of their own parameters, and S_cand a set of candidates for each sentence (`PerSample`)
    or for the batch.

    Notes
    -----
    Downstream the original concatenates [f(s), g(s)]. That vector is identified up to diag(A, A^-T)
    plus a shift, not up to any linear map of the whole: compare f and g, not the concatenation.

    Examples
    --------
    >>> import numpy as np
    >>> model = quick_thought(lambda s: s, lambda s: -s, dim=1)
    >>> np.exp(model.log_prob(np.ones((1, 1)), np.zeros((4, 1))))
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    return CanonicalModel(f=sentence, g=candidate, dim=dim, name=name)
