"""The neural probabilistic language model (log-bilinear) is in the family (Roeder 2021, Appendix
D.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samespace.errors import ShapeError
from samespace.family.bias import with_bias, with_ones
from samespace.family.canonical import CanonicalModel

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


def nplm(
    context_vectors: Float[Array, "v m"],
    position_weights: Float[Array, ...],
    target_vectors: Float[Array, "v m"],
    bias: Float[Array, " v"] | None = None,
    *,
    name: str = "NPLM",
) -> CanonicalModel:
    """Read the log-bilinear model of Mnih & Teh (2012) as a model of the family.

    The context w_1..w_{n-1} predicts q_hat = sum over i of C_i r_{w_i}, and P(w | context) ~
    exp(q_hat'q_w + b_w). Hence f = [q_hat, 1] and g(w) = [q_w, b_w]; inputs are rows of word
    numbers, one column per position.

    Parameters
    ----------
    context_vectors
        r, one row per word.
    position_weights
        C_i of every position: (positions, M, M) full matrices or (positions, M) diagonals.
    target_vectors, bias
        q and b, per word.

    Notes
    -----
    The footnote of Appendix D.6 absorbs b_w in a way that depends on the context; see
    `samespace.family.bias`. Trained by noise-contrastive estimation the model is the same; trained
    by plain negative sampling it is outside the family (`samespace.family.membership`).

    Examples
    --------
    >>> import numpy as np
    >>> model = nplm(np.eye(2), np.ones((3, 2)), np.eye(2), np.zeros(2))
    >>> model.embed(np.array([[0, 0, 1]]))
    array([[2., 1., 1.]])
    """
    if len(position_weights.shape) not in (2, 3):
        raise ShapeError(
            "position_weights are (positions, M, M) matrices or (positions, M) diagonals; got "
            "shape "
            f"{tuple(position_weights.shape)}."
        )

    def predicted(words: Int[Array, "n p"]) -> Any:
        if len(words.shape) != 2 or words.shape[1] != position_weights.shape[0]:
            raise ShapeError(
                f"A context has {position_weights.shape[0]} words, one column each; got shape "
                f"{tuple(words.shape)}."
            )
        q = sum(_weigh(C, context_vectors[words[:, i]]) for i, C in enumerate(position_weights))
        return q if bias is None else with_ones(q)

    g = target_vectors if bias is None else with_bias(target_vectors, bias)
    return CanonicalModel(
        f=predicted,
        g=lambda labels: g[labels],
        dim=int(g.shape[1]),
        labels=slice(None),
        bias=bias is not None,
        name=name,
    )


def _weigh(C: Any, r: Any) -> Any:
    """Return C r for every row r: C is a matrix, or the diagonal of one."""
    return r * C if C.ndim == 1 else r @ C.T
