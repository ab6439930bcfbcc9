"""Per-label biases absorbed into f and g, as the papers do, and what that does to the theorems.

A head with biases scores h(x)'w(y) + b(y). With f = [h, 1] and g = [w, b] this is f(x)'g(y): a
model of the family of width M + 1. (Roeder et al. 2021, footnote 1 of Appendix D.6, instead writes
the absorbed vector as ``q_w + b_w / q_hat``, entry by entry; that divides by the *input's*
representation, so it is no function of the label, and summed over M entries it adds b_w M times.
The constant coordinate is what the footnote must mean.)

The constant coordinate changes what is identifiable, in one way that matters: since f lies in the
hyperplane f_{M+1} = 1, two models of equal likelihoods satisfy f* = f A~ with A~ = [[A, 0], [a,
1]], that is

    h*(x) = h(x) A + a          w*(y) = w(y) A^-T + c          b*(y) = b(y) - w*(y) a' + const,

an *affine* map of h, whose shift a is paid for by the biases. Without biases no shift of f is free.
See the documentation's page on the family for the proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import ShapeError
from samespace.family.softmax import namespace

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def with_ones(h: Float[Array, "n m"]) -> Float[Array, "n m+1"]:
    """Append the constant coordinate 1 that a bias of the labels multiplies."""
    xp = namespace(h)
    return xp.concat([h, xp.ones_like(h[:, :1])], axis=1)


def with_bias(w: Float[Array, "k m"], bias: Float[Array, " k"]) -> Float[Array, "k m+1"]:
    """Append each label's bias as the last coordinate of its vector."""
    if tuple(bias.shape) != (w.shape[0],):
        raise ShapeError(
            f"There must be one bias per label: {w.shape[0]} labels, got biases of shape "
            f"{tuple(bias.shape)}."
        )
    return namespace(w).concat([w, bias[:, None]], axis=1)


def absorb_bias(
    h: Float[Array, "n m"], w: Float[Array, "k m"], bias: Float[Array, " k"]
) -> tuple[Float[Array, "n m+1"], Float[Array, "k m+1"]]:
    """Return f = [h, 1] and g = [w, b], so that f(x)'g(y) = h(x)'w(y) + b(y).

    Examples
    --------
    >>> import numpy as np
    >>> f, g = absorb_bias(np.array([[2.0]]), np.array([[1.0], [3.0]]), np.array([0.5, -1.0]))
    >>> f @ g.T
    array([[2.5, 5. ]])
    """
    return with_ones(_array(h)), with_bias(_array(w), _array(bias))


def _array(values: Any) -> Any:
    return values if hasattr(values, "dtype") else np.asarray(values, dtype=np.float64)
