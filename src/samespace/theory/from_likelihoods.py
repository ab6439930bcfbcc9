r"""The theorems' terms from log-likelihoods and log-normalisers, without looking at the representations.

Both routes agree to rounding; the tests hold them to it. Log-odds of *labels* need no normaliser. Those of
*inputs* do, since log p(y|x_i) - log p(y|x_0) contains log Z(x_0) - log Z(x_i): a constant c for every model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from samespace.theory.choice import differences

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def epsilon_from_log_prob(
    log_prob: Float[Array, "n m+1"], log_prob_star: Float[Array, "n m+1"]
) -> Float[Array, "n m"]:
    r"""Return the error term from log-likelihoods at the anchors alone, without any representation.

    :math:`\epsilon_{y_i}(x) = \log p^*(y_i|x) - \log p(y_i|x) + \log p(y_0|x) - \log p^*(y_0|x)`. For the
    error of g pass the log-probabilities at the anchor inputs, one row per label, one column per input.

    Parameters
    ----------
    log_prob, log_prob_star
        Columns are anchors, the pivot first.

    References
    ----------
    Nielsen et al. 2024, Eq. 40.
    """
    gap = np.asarray(log_prob_star) - np.asarray(log_prob)
    return gap[:, 1:] - gap[:, :1]


def normaliser_shift(
    log_z: Float[Array, " m+1"], log_z_star: Float[Array, " m+1"]
) -> Float[Array, " m"]:
    r"""Return the constant c that turns an error of g from log-likelihoods into one from scalar products.

    :math:`c_i = \log\big[Z^*(x_i) Z(x_0) / (Z^*(x_0) Z(x_i))\big]`. Appendix C of the paper prints another
    c (Eq. 50), and adds it to an error from scalar products, where it must be 0.

    Parameters
    ----------
    log_z, log_z_star
        Log-normalisers of the two models at the anchor inputs, the pivot first.
    """
    gap = np.asarray(log_z_star) - np.asarray(log_z)
    return gap[1:] - gap[0]


def shift_from_normalisers(
    F_star_anchors: Float[Array, "m+1 m"],
    log_z: Float[Array, " m+1"],
    log_z_star: Float[Array, " m+1"],
) -> Float[Array, " m"]:
    r"""Return the shift b of g from the normalisers at the anchors x_0, ..., x_M, without looking at g.

    :math:`b = N^{*-\top} c` with :math:`c_i = \log[Z^*(x_i) Z(x_0) / (Z(x_i) Z^*(x_0))]`, Nielsen et al.
    2024, Eqs. 30-37, for models of equal likelihoods.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((3, 2)), rng.standard_normal((5, 2))
    >>> log_z, log_z_star = (np.log(np.exp(f @ h.T).sum(axis=1)) for h in (g, g + [3.0, -1.0]))
    >>> shift_from_normalisers(f, log_z, log_z_star).round(12)
    array([ 3., -1.])
    """
    gap = log_z_star - log_z
    return np.linalg.solve(differences(F_star_anchors), gap[1:] - gap[0])
