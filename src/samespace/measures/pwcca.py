r"""PWCCA: canonical correlations averaged by how much of a representation each direction accounts for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.errors import OptionError
from samespace.measures.cca import cca
from samespace.measures.result import Result
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

Weighted = Literal["x", "y", "smaller"]


@dataclass(frozen=True, eq=False, repr=False)
class PWCCA(Result):
    """The projection-weighted mean of the canonical correlations, with the weights behind it.

    ``side`` is the side, "x" or "y", whose columns gave the ``weights`` (they sum to 1).
    ``held_out_similarity`` puts the held-out correlations in the place of the in-sample ones, under the
    same weights; None when it was not asked for, or when there were no two folds with rows.
    """

    similarity: float
    held_out_similarity: float | None
    weights: Float[Array, " r"]
    correlations: Float[Array, " r"]
    side: str
    n: int
    d_x: int
    d_y: int


def pwcca(
    x: Any,
    y: Any = None,
    *,
    side: Weighted = "x",
    held_out: bool = True,
    tolerance: float | None = None,
) -> PWCCA:
    r"""Mean of the canonical correlations, weighted by how much of X each canonical variate accounts for.

    .. math:: \rho_{PW} = \frac{\sum_i \alpha_i \rho_i}{\sum_i \alpha_i}, \qquad
              \alpha_i = \sum_j |\langle h_i, x_j \rangle| = \sum_j |(S_{xx} a_i)_j|,

    with :math:`x_j` the centred columns of X and :math:`h_i = X a_i` its canonical variates of unit length.

    **Invariant to** an invertible affine map of the *other* side, and to a signed permutation, one scale and
    a shift of the weighted side. It is *not* symmetric, and not even invariant to a rotation of the weighted
    side: the sum of absolute values depends on the axes.

    **It misleads** when compared across programs: see the Notes. In-sample correlations flatter as in
    :func:`~samespace.measures.cca.cca`.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows; or a :class:`~samespace.moments.Moments` as ``x``.
    side
        Whose columns weigh: "x" (the paper's first layer), "y", or "smaller" (the side of the lower rank, X
        when equal: the choice of the authors' released program).
    held_out, tolerance
        As in :func:`~samespace.measures.cca.cca`.

    Returns
    -------
    PWCCA
        The similarity, its held-out form, weights and correlations.

    Notes
    -----
    Variants in circulation, which disagree on the same arrays:

    1. *Which side weighs.* The paper takes the first layer; its released program the side with fewer
       directions above its threshold; others the mean of both sides. Ours says which, by ``side``.
    2. *What is projected.* The released program adds the column means back to the canonical variates,
       orthonormalises the result by QR, and projects *uncentred* columns on it. For columns with means far
       from 0 its first weight is mostly the mean's, and later ones belong to no canonical variate. Ours
       follows the paper's formula on centred columns; on centred full-rank data the two agree.
    3. *Absolute or squared.* With :math:`\alpha_i = \sum_j \langle h_i, x_j\rangle^2` and
       :math:`\rho_i^2` the same average is the R^2 of the regression of X on Y (Kornblith et al. 2019): see
       :func:`~samespace.measures.r2.r2`, which is invariant to rotations too and should be preferred.

    References
    ----------
    Morcos, Raghu and Bengio (2018), Insights on representational similarity in neural networks with canonical
    correlation, Section 2; Kornblith, Norouzi, Lee and Hinton (2019), Similarity of neural network
    representations revisited, on R^2 as a projection-weighted mean.

    Examples
    --------
    A strong direction is shared, a weak one is not: CCA averages them equally, PWCCA does not.

    >>> import numpy as np
    >>> from samespace.measures import cca, pwcca
    >>> rng = np.random.default_rng(0)
    >>> shared, x, y = rng.standard_normal((3, 2000))
    >>> X, Y = np.column_stack([10 * shared, x]), np.column_stack([shared, y])
    >>> round(cca(X, Y).mean, 1), round(pwcca(X, Y).similarity, 1)
    (0.5, 0.9)
    """
    m = Moments.of(x, y)
    found = cca(m, held_out=held_out, tolerance=tolerance)
    weighted = _chosen(side, found.rank_x, found.rank_y)
    S, A = (m.Sxx, found.directions_x) if weighted == "x" else (m.Syy, found.directions_y)
    alpha = np.abs(S @ A).sum(axis=0)
    weights = alpha / alpha.sum()
    held = found.held_out_correlations
    return PWCCA(
        similarity=float(weights @ found.correlations),
        held_out_similarity=None if held is None else _weighted_mean(held, weights),
        weights=weights,
        correlations=found.correlations,
        side=weighted,
        n=m.n,
        d_x=m.d_x,
        d_y=m.d_y,
    )


def _chosen(side: str, rank_x: int, rank_y: int) -> str:
    if side not in ("x", "y", "smaller"):
        raise OptionError(f"side={side!r}; write 'x', 'y' or 'smaller'.")
    if side == "smaller":
        return "x" if rank_x <= rank_y else "y"
    return side


def _weighted_mean(held_out: Float[Array, " q"], weights: Float[Array, " r"]) -> float:
    # A training set without a fold can have fewer directions than the whole; their weights fill up to 1.
    kept = weights[: len(held_out)]
    return float(held_out @ kept / kept.sum())
