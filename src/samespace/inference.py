r"""How sure a held-out share is: intervals over folds, and what random pairing would read.

All of it works on fold sums. A share is a ratio :math:`u = \sum_k e_k / \sum_k t_k` of two sums over folds;
its standard error linearises the ratio, so that folds which drew more variance in Y do not count as noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError
from samespace.maps.base import offset_error

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.maps.base import Map
    from samespace.moments import Moments


@dataclass(frozen=True)
class Interval:
    """A confidence interval; open ends are not used."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Null:
    """The same statistic when rows are re-paired at random: its mean and its range over the draws."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: list[float]) -> Null:
        """Summary of the draws."""
        return cls(float(np.mean(draws)), min(draws), max(draws))


@dataclass(frozen=True)
class Share:
    """An estimated ratio of sums with its standard error and interval."""

    estimate: float
    error: float
    interval: Interval

    def at_least_zero(self) -> Share:
        """The same, cut at zero: a share of squares cannot be negative, its estimate can."""
        low, high = max(self.interval.low, 0.0), max(self.interval.high, 0.0)
        return Share(max(self.estimate, 0.0), self.error, Interval(low, high))


def share_over_folds(
    parts: Float[Array, " k"], totals: Float[Array, " k"], correction: float = 0.0, *, level: float
) -> Share:
    r"""Ratio of two sums over folds with a t interval, by the jackknife over folds.

    ``correction`` is added to the sum of the parts: Burman's (1989) estimate of how much less a map fitted to
    all rows errs than maps fitted without a fold,
    :math:`e(\text{map on all}) - \frac1K \sum_k e(\text{map}_{-k} \text{ on all})`.
    The estimate is the mean of the pseudo-values :math:`K u - (K-1) u_{(-k)}`, which takes out the bias of
    order 1/n that a ratio has; their spread gives the standard error. The correction itself is added to the
    interval, since it extrapolates: to more rows than any fit has seen.
    """
    k, total = len(parts), float(totals.sum())
    whole = float(parts.sum()) / total
    without = (parts.sum() - parts) / (total - totals)
    pseudo = k * whole - (k - 1) * without
    shift = correction / total
    estimate = float(pseudo.mean()) + shift
    error = float(pseudo.std(ddof=1) / np.sqrt(k))
    half = t_quantile(level, k - 1) * error + abs(shift)
    return Share(estimate, error, Interval(estimate - half, estimate + half))


def t_quantile(level: float, degrees: int) -> float:
    """Two-sided Student quantile: K folds give K - 1 degrees of freedom."""
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise OptionError(f"level={level}; a confidence between 0 and 1 is needed, such as 0.95.")
    return float(stdtrit(degrees, 0.5 + level / 2))


def repaired_cross_moment(
    root_x: Float[Array, "d_x r"], root_y: Float[Array, "d_y s"], n: int, rng: np.random.Generator
) -> Float[Array, "d_x d_y"]:
    r"""A draw of S_xy for rows paired at random, from square roots of Sxx and Syy.

    For a random permutation P the matrix X'PY of centred rows has mean zero and covariance
    :math:`S_{xx} \otimes S_{yy} / (n-1)`, and is asymptotically normal (the combinatorial central limit
    theorem of Hoeffding 1951); this draws from that limit, so re-pairing costs no pass over the rows.
    """
    noise = rng.standard_normal((root_x.shape[1], root_y.shape[1]))
    drawn: Array = root_x @ noise @ root_y.T / np.sqrt(n - 1)
    return drawn


def repaired_error(test: Moments, fitted: Map, rng: np.random.Generator) -> float:
    """Squared error of a map on test rows whose partners are drawn at random."""
    mapped = fitted.push(test.Sxx)
    spread = float(np.trace(test.Syy)) + float(np.trace(mapped))
    wobble = np.sqrt(max(float(np.vdot(mapped, test.Syy)), 0.0) / max(test.n - 1, 1))
    error = spread - 2 * wobble * rng.standard_normal()
    return max(error, 0.0) + offset_error(test, fitted)
