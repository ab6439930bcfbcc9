r"""How sure a held-out share is: intervals over folds, and what random pairing would read.

All of it works on fold sums. A share is a ratio :math:`u = \sum_k e_k / \sum_k t_k` of two sums over folds;
its standard error linearises the ratio, so that folds which drew more variance in Y do not count as noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError

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

    def shifted(self, by: float) -> Interval:
        """The same width elsewhere."""
        return Interval(self.low + by, self.high + by)


@dataclass(frozen=True)
class Null:
    """The same statistic when rows are re-paired at random: its mean and its range over the draws."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Share:
    """An estimated ratio of sums with its standard error and interval."""

    estimate: float
    error: float
    interval: Interval


def share_over_folds(
    parts: Float[Array, " k"], totals: Float[Array, " k"], *, level: float
) -> Share:
    r"""Ratio of two sums over folds, with a t interval from the folds' own departures from it.

    With :math:`r_k = e_k - u t_k`, the variance of u is :math:`\frac{K}{K-1}\sum_k r_k^2 / (\sum_k t_k)^2`
    (the linearised, or infinitesimal-jackknife, variance of a ratio).
    """
    total = float(totals.sum())
    estimate = float(parts.sum()) / total
    residuals = parts - estimate * totals
    k = len(parts)
    error = float(np.sqrt(k / (k - 1) * np.sum(residuals**2))) / total
    half = t_quantile(level, k - 1) * error
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
    A = fitted.matrix
    mapped = A.T @ test.Sxx @ A
    spread = float(np.trace(test.Syy)) + float(np.trace(mapped))
    wobble = np.sqrt(max(float(np.vdot(mapped, test.Syy)), 0.0) / max(test.n - 1, 1))
    offset = test.mean_y - test.mean_x @ A - fitted.bias
    error = spread - 2 * wobble * rng.standard_normal() + test.n * float(offset @ offset)
    return max(error, 0.0)
