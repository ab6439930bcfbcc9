r"""Canonical correlation analysis: how far two representations agree up to an affine map of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import svd

from samespace.measures.held_out import pooled_correlations
from samespace.measures.result import Result
from samespace.measures.whitening import sides, whiten, whiten_both
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class CCA(Result):
    """Canonical correlations, descending, with the directions behind them.

    ``X @ directions_x`` are the canonical variates of X, each of unit variance (divisor n), column j
    correlated with column j of ``Y @ directions_y`` at ``correlations[j]`` and with no other.
    ``held_out_correlations`` is None when it was not asked for, or when there were no two folds with rows.
    Conditions are of the correlation matrices within their numerical rank.
    """

    correlations: Float[Array, " r"]
    held_out_correlations: Float[Array, " q"] | None
    directions_x: Float[Array, "d_x r"]
    directions_y: Float[Array, "d_y r"]
    n: int
    d_x: int
    d_y: int
    rank_x: int
    rank_y: int
    condition_x: float
    condition_y: float

    @property
    def mean(self) -> float:
        """In-sample mean over the min(rank_x, rank_y) pairs."""
        return float(self.correlations.mean())

    @property
    def held_out_mean(self) -> float | None:
        """Mean of the held-out correlations."""
        held_out = self.held_out_correlations
        return None if held_out is None else float(held_out.mean())


def cca(x: Any, y: Any = None, *, held_out: bool = True, tolerance: float | None = None) -> CCA:
    r"""Canonical correlations of X and Y: the most that any linear functions of them correlate.

    .. math:: \rho_j = \max_{a, b}\; a' S_{xy} b \quad\text{with}\quad
              a' S_{xx} a = b' S_{yy} b = 1, \quad
              a' S_{xx} a_i = b' S_{yy} b_i = 0 \;\; (i < j),

    computed as the singular values of :math:`W_x' S_{xy} W_y`, with :math:`W'SW = I` on either side.

    **Invariant to** an invertible affine map of X and another of Y. It sees neither scale nor the variance
    that a direction carries: a direction with 1e-10 of the variance counts as much as the first.

    **It misleads** in sample: with n rows of *independent* d-dimensional data the first correlation is about
    :math:`2\sqrt{d/n}`, and 1 exactly once :math:`d_x + d_y \ge n`. Read ``held_out_correlations``, which
    are near 0 there; they are not sorted and may be slightly negative. A mean of 1 for a pair of
    representations says nothing of a *jointly* used second pair (f and g of one model).
    Data stored in a narrow type have full rank by their rounding noise alone: raise ``tolerance`` (to
    about 1e-6 for float16) when such directions should not count.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows; or a :class:`~samespace.moments.Moments` as ``x``.
    held_out
        Also fit the directions without each fold and judge them on it: one more whitening and SVD a fold.
    tolerance
        Relative eigenvalue of the correlation matrix under which a direction is absent; by default rounding.

    Returns
    -------
    CCA
        Spectrum, directions and diagnostics; ``.mean`` and ``.held_out_mean``.

    Notes
    -----
    From moments, the error of a correlation is about eps times the condition number of the *correlation
    matrix*, the square of that of the rows; :func:`~samespace.measures.cca_rows.cca_from_rows` pays only
    the latter. Both are exact for any full-rank data of the usual kind. No iteration is involved: NIPALS,
    scikit-learn's algorithm, leaves later components unordered or collapsed.

    References
    ----------
    Hotelling (1936), Relations between two sets of variates, Biometrika 28.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import cca
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 4))
    >>> print(cca(X, X @ rng.standard_normal((4, 4)) + 3).correlations.round(6))
    [1. 1. 1. 1.]
    >>> noise = cca(X[:60], rng.standard_normal((60, 4)))
    >>> bool(noise.correlations[0] > 0.3), bool(abs(noise.held_out_mean) < 0.2)
    (True, True)
    """
    m = Moments.of(x, y)
    white_x, white_y = whiten_both(m, tolerance=tolerance)
    correlations, A, B = canonical(m, white_x.matrix, white_y.matrix)
    return CCA(
        correlations=correlations,
        held_out_correlations=_held_out(m, tolerance) if held_out else None,
        directions_x=A * np.sqrt(m.n),
        directions_y=B * np.sqrt(m.n),
        n=m.n,
        d_x=m.d_x,
        d_y=m.d_y,
        rank_x=white_x.rank,
        rank_y=white_y.rank,
        condition_x=white_x.condition,
        condition_y=white_y.condition,
    )


def canonical(
    m: Moments, white_x: Float[Array, "d_x r_x"], white_y: Float[Array, "d_y r_y"]
) -> tuple[Float[Array, " r"], Float[Array, "d_x r"], Float[Array, "d_y r"]]:
    """Correlations and directions, a'Sxx a = b'Syy b = 1, of whitened moments."""
    U, correlations, Vt = svd(white_x.T @ m.Sxy @ white_y, full_matrices=False)
    # Rounding can leave a perfect correlation a few eps above 1.
    return np.minimum(correlations, 1.0), *oriented(white_x @ U, white_y @ Vt.T)


def oriented(
    A: Float[Array, "d_x r"], B: Float[Array, "d_y r"]
) -> tuple[Float[Array, "d_x r"], Float[Array, "d_y r"]]:
    """Pairs of directions with the sign for which the largest entry of each a is positive."""
    largest = np.take_along_axis(A, np.abs(A).argmax(axis=0)[None], axis=0)
    return A * np.sign(largest), B * np.sign(largest)


def _held_out(m: Moments, tolerance: float | None) -> Float[Array, " q"] | None:
    def directions(train: Moments) -> tuple[Array, Array]:
        white_x, white_y = (whiten(side, tolerance=tolerance).matrix for side in sides(train))
        return canonical(train, white_x, white_y)[1:]

    return pooled_correlations(m, directions)
