r"""MCC: the mean correlation coefficient, for latents recovered up to order, sign and scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.errors import OptionError
from samespace.measures.held_out import pooled_correlations
from samespace.measures.result import Result
from samespace.measures.rows import paired_rows, ranks
from samespace.measures.whitening import column_spread, sides
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

Kind = Literal["pearson", "spearman"]


@dataclass(frozen=True, eq=False, repr=False)
class MCC(Result):
    """The mean of the matched |correlations|, with the assignment that it used.

    Column ``columns_x[i]`` is matched with column ``columns_y[i]``, at the signed ``correlations[i]``, in the
    order of Y's columns; where X is narrower, of X's, all of which are then matched.
    ``held_out_correlations`` are signed as the training folds had them, so a correlation that turns its sign
    counts negative; None when not asked for, or when there were no two folds with rows. ``constant_x`` and
    ``constant_y`` count the columns without variance: they have recovered nothing and enter with 0.
    """

    correlations: Float[Array, " r"]
    held_out_correlations: Float[Array, " r"] | None
    columns_x: Int[Array, " r"]
    columns_y: Int[Array, " r"]
    kind: str
    constant_x: int
    constant_y: int
    n: int
    d_x: int
    d_y: int

    @property
    def mean(self) -> float:
        """The MCC: mean |correlation| of the matched columns, in sample."""
        return float(np.abs(self.correlations).mean())

    @property
    def held_out_mean(self) -> float | None:
        """Mean correlation of columns matched, and signed, without the rows that judge them."""
        held_out = self.held_out_correlations
        return None if held_out is None else float(held_out.mean())


def mcc(x: Any, y: Any = None, *, kind: Kind = "pearson", held_out: bool = True) -> MCC:
    r"""Mean |correlation| of the columns of X with those of Y under the best one-to-one assignment.

    .. math:: \mathrm{MCC} = \max_{\pi} \frac1r \sum_{j=1}^{r}
              \left| \operatorname{corr}(x_{\pi(j)}, y_j) \right|, \qquad r = \min(d_x, d_y),

    the maximum over one-to-one assignments found exactly by the Hungarian algorithm.

    **Invariant to** a permutation of the columns and, per column, a shift and a scale of either sign; with
    ``kind="spearman"`` to any strictly monotone function of each column. A rotation is *not* forgiven.

    **It misleads** in sample when n is small or d large: the best of d! assignments of independent columns
    reads about :math:`\sqrt{2 \ln d / n}` and more. It also is a mean of correlations, not of shares
    explained: 0.7 leaves half the variance unexplained. And a pair of representations that mix two latents
    by 45 degrees still scores 0.71.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows; or a :class:`~samespace.moments.Moments` as ``x``.
    kind
        "pearson", from moments; or "spearman", on ranks (ties share their mean rank), which needs the rows:
        given Moments it takes the rows that they kept.
    held_out
        Also assign without each fold, and judge the assignment on it.

    Returns
    -------
    MCC
        Matched correlations and the assignment; ``.mean`` is the MCC, ``.held_out_mean`` its honest form.

    References
    ----------
    Hyvärinen and Morioka (2016), Unsupervised feature extraction by time-contrastive learning;
    Zimmermann et al. (2021), Section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import mcc
    >>> z = np.random.default_rng(0).uniform(size=(300, 3))
    >>> found = mcc(z, z[:, [2, 0, 1]] * [-1, 5, 2])
    >>> round(found.mean, 6), found.columns_x.tolist(), found.correlations.round(6).tolist()
    (1.0, [2, 0, 1], [-1.0, 1.0, 1.0])
    >>> round(mcc(z, np.exp(9 * z), kind="spearman").mean, 6)
    1.0
    """
    m = _moments(x, y, kind)
    correlations, sd_x, sd_y = _correlations(m)
    columns_x, columns_y = assign(np.abs(correlations))
    return MCC(
        correlations=correlations[columns_x, columns_y],
        held_out_correlations=_held_out(m) if held_out else None,
        columns_x=columns_x,
        columns_y=columns_y,
        kind=kind,
        constant_x=int(np.sum(sd_x == 0)),
        constant_y=int(np.sum(sd_y == 0)),
        n=m.n,
        d_x=m.d_x,
        d_y=m.d_y,
    )


def assign(gain: Float[Array, "d_x d_y"]) -> tuple[Int[Array, " r"], Int[Array, " r"]]:
    """The one-to-one assignment with the largest total gain, in the order of the narrower side's columns.

    All columns of the narrower side are matched, so that pair j means the same in every fold.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    rows, columns = linear_sum_assignment(gain, maximize=True)
    order = np.argsort(columns if gain.shape[1] <= gain.shape[0] else rows)
    return rows[order], columns[order]


def _moments(x: Any, y: Any, kind: str) -> Moments:
    if kind == "pearson":
        return Moments.of(x, y)
    if kind == "spearman":
        X, Y = paired_rows(x, y)
        return Moments.of(ranks(X), ranks(Y))
    raise OptionError(f"kind={kind!r}; write 'pearson' or 'spearman'.")


def _correlations(m: Moments) -> tuple[Array, Array, Array]:
    """Correlation matrix of X's columns with Y's, 0 where a column is constant; and the column spreads."""
    sd_x, sd_y = (column_spread(side) for side in sides(m))
    spread = np.outer(sd_x, sd_y)
    matrix = np.divide(m.Sxy, spread, out=np.zeros_like(m.Sxy), where=spread > 0)
    return np.clip(matrix, -1.0, 1.0), sd_x, sd_y


def _held_out(m: Moments) -> Float[Array, " r"] | None:
    def directions(train: Moments) -> tuple[Array, Array]:
        correlations, sd_x, sd_y = _correlations(train)
        columns_x, columns_y = assign(np.abs(correlations))
        sign = np.where(correlations[columns_x, columns_y] < 0, -1.0, 1.0)
        pairs = np.arange(len(columns_y))
        A, B = np.zeros((m.d_x, len(pairs))), np.zeros((m.d_y, len(pairs)))
        A[columns_x, pairs] = sign * _reciprocal(sd_x[columns_x])
        B[columns_y, pairs] = _reciprocal(sd_y[columns_y])
        return A, B

    return pooled_correlations(m, directions)


def _reciprocal(sd: Float[Array, " r"]) -> Float[Array, " r"]:
    """1 / sd, and 0 for a column that is constant in training: it then enters with correlation 0."""
    return np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)
