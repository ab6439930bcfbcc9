"""How many bands a set of numbers falls into, and how well known groups explain them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import DegenerateError, OptionError, TooFewRowsError

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


@dataclass(frozen=True, kw_only=True)
class Bands:
    """The gap statistic for 1, 2, ... bands, and the number of bands that it chooses.

    Attributes
    ----------
    count
        The smallest k with ``gap_k >= gap_(k+1) - error_(k+1)``; None when every band more is still better.
    gap, error
        For k = 1 to the most tried: ``E log W_k`` of evenly spread numbers minus ``log W_k`` of these, and
        the simulation error of that expectation.
    edges
        For each band of the choice its smallest and largest number; empty when `count` is None.
    """

    count: int | None
    gap: tuple[float, ...]
    error: tuple[float, ...]
    edges: tuple[tuple[float, float], ...]


def bands(
    values: Float[Array, " n"],
    *,
    most: int = 6,
    references: int = 100,
    rng: np.random.Generator,
) -> Bands:
    """Choose a number of bands by the gap statistic, with the best grouping of the line found exactly.

    ``gap_k = E* log W_k - log W_k``, W_k the sum of squares within the best k bands, E* over numbers drawn
    evenly between the smallest and the largest. Invariant to shifts and positive scales.

    Notes
    -----
    Misleads when the numbers are dense in the middle and have tails, which looks like one wide band; and a
    count says nothing about *why* there are bands: see `share_explained`.

    References
    ----------
    Tibshirani, Walther and Hastie (2001), J. R. Stat. Soc. B 63(2), section 3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> numbers = np.concatenate([rng.normal(centre, 0.1, 30) for centre in (0, 5, 9)])
    >>> bands(numbers, rng=rng).count
    3
    """
    if most < 1 or references < 2:
        raise OptionError(
            f"Try at least 1 band against 2 references; got most {most}, {references}."
        )
    if len(values) < 2 * (most + 1):
        raise TooFewRowsError(
            f"{most} bands need at least {2 * (most + 1)} numbers; got {len(values)}: lower `most`."
        )
    line = np.sort(np.asarray(values, dtype=float))
    if not line[-1] > line[0]:
        raise DegenerateError(f"Bands need numbers that differ; got {len(line)} times {line[0]:g}.")
    observed, cuts = _best_groupings(line, most + 1)
    drawn = rng.uniform(line[0], line[-1], (references, len(line)))
    logs = np.log([_best_groupings(np.sort(row), most + 1)[0] for row in drawn])
    gap = logs.mean(axis=0) - np.log(np.maximum(observed, 1e-300))
    error = logs.std(axis=0) * np.sqrt(1 + 1 / references)
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    count = int(enough[0]) + 1 if len(enough) else None
    edges = [] if count is None else np.split(line, cuts[count - 1])
    return Bands(
        count=count,
        gap=tuple(gap[:most].tolist()),
        error=tuple(error[:most].tolist()),
        edges=tuple((float(band[0]), float(band[-1])) for band in edges),
    )


def share_explained(values: Float[Array, " n"], group: Int[Array, " n"]) -> float:
    """Return the share of the variance of `values` that lies between groups: 1 - within / total.

    Invariant to shifts and scales of the values and to renaming groups. Misleads with many small groups,
    which explain (groups - 1) / (n - 1) of anything.

    Examples
    --------
    >>> share_explained(np.array([1.0, 1.0, 4.0, 4.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    total = float(((values - values.mean()) ** 2).sum())
    if not total > 0.0:
        raise DegenerateError(
            "Numbers that are all equal have no variance to explain; pass some that differ."
        )
    _, index = np.unique(group, return_inverse=True)
    means = np.bincount(index, weights=values) / np.bincount(index)
    return 1.0 - float(((values - means[index]) ** 2).sum()) / total


def _best_groupings(line: Float[Array, " n"], most: int) -> tuple[Array, list[Array]]:
    """Return, for 1 to `most` groups of a sorted line, the least sum of squares and where it cuts."""
    cost = _costs(line)
    best, last = [cost[0]], []
    for _ in range(1, most):
        # Row j: the last group starts at j; column i: the groups end at i.
        ways = np.concatenate([[np.inf], best[-1][:-1]])[:, None] + cost
        last.append(ways.argmin(axis=0))
        best.append(ways.min(axis=0))
    return np.array([row[-1] for row in best]), [_cuts(last[:k], len(line)) for k in range(most)]


def _costs(line: Array) -> Float[Array, "n n"]:
    """Sum of squares about the mean of each stretch j..i of the line, infinite where it is empty."""
    n = len(line)
    first, second = (np.concatenate([[0.0], np.cumsum(part)]) for part in (line, line**2))
    j, i = np.ogrid[:n, :n]
    size = np.maximum(i - j + 1, 1)
    squares = second[1:][None, :] - second[:-1][:, None]
    sums = first[1:][None, :] - first[:-1][:, None]
    return np.where(i >= j, np.maximum(squares - sums**2 / size, 0.0), np.inf)


def _cuts(last: list[Array], n: int) -> Int[Array, " cuts"]:
    cuts, end = [], n - 1
    for starts in reversed(last):
        cuts.append(int(starts[end]))
        end = cuts[-1] - 1
    return np.array(cuts[::-1], dtype=int)
