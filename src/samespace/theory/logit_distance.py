r"""The logit distance: how far two models' centred logits are apart, and the dissimilarity that it bounds.

The logits of K labels, centred over labels, are :math:`u(x) = G_c f(x)`, and only M x M products of g enter
their lengths. With R the triangle of the joint rows (g*, g), the distance of one input's logits is the length
of :math:`R\,(-f^*(x), f(x))`: K never appears, and nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.inference import t_quantile
from samespace.measures.result import Result
from samespace.theory.model_pair import ModelPair
from samespace.theory.place import namespace
from samespace.theory.spectra import condition_1, right_solve, singular_values
from samespace.theory.triangle import triangle_of

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


_REGULAR = 1e5
"""Condition number up to which columns divided by their triangle are orthonormal to 1e-11."""


@dataclass(frozen=True, eq=False, repr=False)
class LogitDistance(Result):
    r"""The distance with its interval, and what it says of the representations.

    Attributes
    ----------
    value, low, high
        :math:`d_{logit}` and its interval over inputs.
    share, share_star
        Squared distance over the mean squared length of the first, and of the starred model's centred logits.
    unexplained
        Part of the *starred* model's squared logits that the best linear map from f leaves; at most value^2.
    canonical_bound
        :math:`\sum_i (1 - \rho_i^2) \lambda_i`, at most value^2 and at most `unexplained`.
    rho
        Uncentred canonical correlations of f and f*, descending.
    spectrum
        Descending eigenvalues lambda of :math:`E[u u']` of the starred model's centred logits.
    """

    value: float
    low: float
    high: float
    share: float
    share_star: float
    unexplained: float
    canonical_bound: float
    rho: Float[Array, " r"]
    spectrum: Float[Array, " m"]


def logit_distance(
    f: Any, g: Any = None, f_star: Any = None, g_star: Any = None, *, level: float = 0.95
) -> LogitDistance:
    r"""Measure the root mean squared distance of two models' logits, each centred over the labels.

    .. math:: d_{logit}^2 = E_x \big\| (G - \bar g) f(x) - (G^* - \bar g^*) f^*(x) \big\|^2
              \;\ge\; \sum_i (1 - \rho_i^2)\, \lambda_i

    with :math:`\lambda` the descending eigenvalues of :math:`E[u^* u^{*\prime}]` and rho the descending
    uncentred canonical correlations of f and f*. It is zero exactly when the distributions are equal.

    Depends on the distributions alone: invariant to :math:`f \to Af,\ g \to A^{-\top}g + b` of either model.

    Parameters
    ----------
    f, g, f_star, g_star
        Values of the two models on the same inputs and labels, or a `ModelPair` in place of all four.
    level
        Confidence of the interval (normal, over inputs).

    Notes
    -----
    The bound is proved in the documentation; exchanging the models gives another, with the other spectrum.
    It misleads when logits are on different scales: a model that is merely more confident is far away. d_LLV
    forgives one scale per label.

    References
    ----------
    The logit distance and its bound are of the 2026 follow-up of Nielsen et al. 2025.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((100, 2)), rng.standard_normal((5, 2))
    >>> far = logit_distance(f, g, f**3, g)
    >>> bool(far.canonical_bound <= far.unexplained <= far.value**2)
    True
    """
    pair = ModelPair.of(f, g, f_star, g_star)
    squared, own2, star2 = _squared_lengths(pair)
    mean = float(squared.mean())
    half = t_quantile(level, max(len(squared) - 1, 1)) * float(
        np.std(squared) / np.sqrt(len(squared))
    )
    rho, spectrum, unexplained = _linear_bounds(pair)
    return LogitDistance(
        value=float(np.sqrt(mean)),
        low=float(np.sqrt(max(mean - half, 0.0))),
        high=float(np.sqrt(mean + half)),
        share=mean / own2,
        share_star=mean / star2,
        unexplained=unexplained,
        canonical_bound=float(
            np.sum((1.0 - rho**2) * spectrum[: len(rho)]) + spectrum[len(rho) :].sum()
        ),
        rho=rho,
        spectrum=spectrum,
    )


def _squared_lengths(pair: ModelPair) -> tuple[Float[Array, " n"], float, float]:
    """Squared distance of every input's logits, and the mean squared lengths of both models' logits."""
    width, joint = pair.g_star.d, pair.joint_labels.centred
    # Below row d* the starred side of the triangle is zero.
    star, own = joint[:width, :width], joint[:, width:]
    squared, plain = [], pair.second_f.about_zero()
    for rows, rows_star, _ in pair.paired_blocks():
        gap = rows @ own.T
        gap[:, : len(star)] -= rows_star @ star.T
        squared.append(to_host(namespace(gap).linalg.vecdot(gap, gap)))
    own2, star2 = (
        float(((r.T @ r) * second).sum()) for r, second in ((own, plain.own), (star, plain.star))
    )
    return np.concatenate(squared), own2, star2


def _linear_bounds(pair: ModelPair) -> tuple[Float[Array, " r"], Float[Array, " m"], float]:
    """Uncentred canonical correlations, the starred logits' spectrum, and what no linear map of f explains.

    With f* = Q* R* and f = Q R over the inputs, rho are the singular values of C = Q*'Q, and the starred
    logits are Q* Gamma' with Gamma = G*_c R*': the unexplained part is tr Gamma (1 - C C') Gamma'.
    """
    width = pair.f_star.d
    joint = pair.joint_inputs.plain / pair.f.n**0.5
    basis_star, basis = _orthonormal(joint[:, :width]), _orthonormal(joint[:, width:])
    gamma = pair.joint_labels.centred[:width, :width] @ joint[:, :width].T @ basis_star
    cross = basis_star.T @ basis
    rho = np.minimum(singular_values(cross), 1.0)
    squares = singular_values(gamma) ** 2
    # K labels give K - 1 at most.
    spectrum = np.concatenate([squares, np.zeros(width - len(squares))])
    rest = gamma - (gamma @ cross) @ cross.T
    return rho, spectrum, max(float((gamma * rest).sum()), 0.0)


def _orthonormal(columns: Float[Array, "w p"]) -> Float[Array, "w r"]:
    if columns.shape[0] >= columns.shape[1]:
        r = triangle_of(columns)
        if condition_1(r) < _REGULAR:
            return right_solve(r, columns)
    left, singular, _ = namespace(columns).linalg.svd(columns, full_matrices=False)
    return left[:, singular > 1e-12 * singular[0]]
