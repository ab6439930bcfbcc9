r"""R^2: how much of Y an affine function of X explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.measures.held_out import over_folds
from samespace.measures.result import Result
from samespace.measures.whitening import column_spread, constant, sides, whiten
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class R2(Result):
    """R^2 per dimension of Y; two means, which differ, under their own names.

    ``per_dimension`` holds NaN for a constant column of Y, of whose variance no share can be explained; the
    means leave it out. ``held_out`` is None when it was not asked for, or when there were no two folds with
    rows. ``variances`` are Y's column variances (divisor n), the weights of the second mean.
    """

    per_dimension: Float[Array, " d_y"]
    held_out: Float[Array, " d_y"] | None
    variances: Float[Array, " d_y"]
    rank_x: int
    n: int
    d_x: int
    d_y: int

    @property
    def mean(self) -> float:
        """In-sample R^2, averaged uniformly over the dimensions of Y (Zimmermann et al. 2021)."""
        return float(np.nanmean(self.per_dimension))

    @property
    def variance_weighted(self) -> float:
        """In-sample share of Y's total variance explained: the same after a rotation of Y."""
        return self._weighted(self.per_dimension)

    @property
    def held_out_mean(self) -> float | None:
        """Held-out R^2, averaged uniformly over the dimensions of Y."""
        return None if self.held_out is None else float(np.nanmean(self.held_out))

    @property
    def held_out_variance_weighted(self) -> float | None:
        """Held-out share of Y's total variance explained."""
        return None if self.held_out is None else self._weighted(self.held_out)

    def _weighted(self, shares: Float[Array, " d_y"]) -> float:
        defined = ~np.isnan(shares)
        return float(np.average(shares[defined], weights=self.variances[defined]))


def r2(x: Any, y: Any = None, *, held_out: bool = True, tolerance: float | None = None) -> R2:
    r"""Share of the variance of each dimension of Y that the best affine function of X explains.

    .. math:: R^2_j = 1 - \frac{\sum_i (y_{ij} - \hat y_{ij})^2}{\sum_i (y_{ij} - \bar y_j)^2},
              \qquad \hat y = x A + b, \quad A = S_{xx}^{+} S_{xy}.

    **Invariant to** an invertible affine map of X, and to a scale (of either sign) and a shift of each column
    of Y; the variance-weighted mean also to a rotation of Y with one scale. It is *not* symmetric: ``r2(h,
    z)`` asks how well the latents z can be read off the features h.

    **It misleads** in sample: for independent data it averages :math:`d_x / (n - 1)`, and it is 1 once
    :math:`d_x \ge n - 1`. ``held_out`` fits on nine folds and judges the tenth; it is negative where the
    fit predicts worse than the mean does, as an unpenalised fit must with n near d_x (there
    :class:`samespace.maps.Affine` chooses a ridge). The uniform mean counts a dimension with 1e-10 of the
    variance as fully as the first.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows; or a :class:`~samespace.moments.Moments` as ``x``.
    held_out
        Also fit without each fold, and judge the fit on it.
    tolerance
        Relative eigenvalue of X's correlation matrix under which a direction is absent; by default rounding.

    Returns
    -------
    R2
        Per dimension, in sample and held out, with ``.mean`` and ``.variance_weighted`` of each.

    Notes
    -----
    With rank-deficient X the minimum-norm solution (in units of X's column spreads) is taken. The held-out
    total sum of squares is about the mean of *all* rows, one number for all folds: the errors add up.

    References
    ----------
    Kornblith, Norouzi, Lee and Hinton (2019), Similarity of neural network representations revisited (linear
    regression); Zimmermann et al. (2021), whose tables report the in-sample uniform mean.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import r2
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((200, 2))
    >>> h = np.hstack([z @ [[1, 2], [3, 5]], rng.standard_normal((200, 20))])
    >>> round(r2(h, z).held_out_mean, 6)
    1.0
    >>> noise = r2(rng.standard_normal((50, 30)), rng.standard_normal((50, 2)))
    >>> noise.mean > 0.4, noise.held_out_mean < 0
    (True, True)
    """
    m = Moments.of(x, y)
    side_x, side_y = sides(m)
    total = column_spread(side_y) ** 2
    white = whiten(side_x, tolerance=tolerance)
    if white.rank == 0 or not total.any():
        raise constant("Y" if white.rank else "X", m.n)
    unexplained = np.clip(total - ((white.matrix.T @ m.Sxy) ** 2).sum(axis=0), 0.0, None)
    errors = _held_out_errors(m, tolerance) if held_out else None
    return R2(
        per_dimension=_shares(unexplained, total),
        held_out=None if errors is None else _shares(errors, total),
        variances=total / m.n,
        rank_x=white.rank,
        n=m.n,
        d_x=m.d_x,
        d_y=m.d_y,
    )


def _shares(errors: Float[Array, " d_y"], total: Float[Array, " d_y"]) -> Float[Array, " d_y"]:
    undefined = np.full_like(total, np.nan)
    return 1.0 - np.divide(errors, total, out=undefined, where=total > 0)


def _held_out_errors(m: Moments, tolerance: float | None) -> Float[Array, " d_y"] | None:
    errors = over_folds(m, lambda train, test: _squared_errors(train, test, tolerance))
    return np.sum(errors, axis=0) if errors else None


def _squared_errors(train: Moments, test: Moments, tolerance: float | None) -> Float[Array, " d_y"]:
    """Squared error per dimension on the test rows, of the fit to the training rows."""
    W = whiten(sides(train)[0], tolerance=tolerance).matrix
    A = W @ (W.T @ train.Sxy)
    offset = (test.mean_y - train.mean_y) - (test.mean_x - train.mean_x) @ A
    inside = np.diag(test.Syy) + np.einsum("ij,ij->j", A, test.Sxx @ A - 2 * test.Sxy)
    # Rounding alone can push an exact fit below zero.
    return np.clip(inside, 0.0, None) + test.n * offset**2
