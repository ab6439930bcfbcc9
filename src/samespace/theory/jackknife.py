r"""Intervals for any statistic of a sample of inputs: leave one group out at a time.

The delete-a-group jackknife: with :math:`\theta_{(k)}` the statistic without group k of K,
:math:`\operatorname{var} \hat\theta = \frac{K-1}{K} \sum_k (\theta_{(k)} - \bar\theta)^2`. It is right
for smooth statistics; a maximum over labels is smooth only while one label stays the largest, so a maximum is
jackknifed at the label that attains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from samespace.hashing import fold_of
from samespace.inference import t_quantile

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


def groups(n: int, folds: int) -> Int[Array, " n"]:
    """Group of every row, the same as Moments puts it in: a hash of the row number."""
    return fold_of(np.arange(n, dtype=np.uint64), folds)


def group_sums(columns: Float[Array, "c n"], group: Int[Array, " n"]) -> Float[Array, "c k"]:
    """Sums over every group that is not empty, in the groups' order."""
    sums = [np.bincount(group, weights=column) for column in columns]
    return np.array(sums)[:, np.bincount(group) > 0]


def jackknife(
    estimate: float,
    without: Callable[[int], float],
    folds: Sequence[int],
    *,
    level: float,
    least: float = 0.0,
) -> tuple[float | None, float | None]:
    """Ends of the interval about `estimate`, not below `least`; (None, None) for fewer than two groups.

    Parameters
    ----------
    without
        The statistic of all rows outside group k.
    folds
        The groups that are not empty.
    """
    if len(folds) < 2:
        return None, None
    left = np.array([without(k) for k in folds])
    half = t_quantile(level, len(folds) - 1) * spread(left)
    return max(estimate - half, least), estimate + half


def spread(left: Float[Array, " k"]) -> float:
    """Return the jackknife's standard error from the leave-one-group-out values."""
    k = len(left)
    return float(np.sqrt((k - 1) / k * np.sum((left - left.mean()) ** 2)))
