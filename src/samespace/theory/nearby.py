"""All pairs of a vocabulary at once: which are near enough to be worth a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import OptionError

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array

    from samespace.theory.occurrences import Occurrences

MOST_PAIRS = 2_000_000  # each costs as much work as its two symbols have contexts


def nearby(
    data: Occurrences, *, reach: float, most: int = MOST_PAIRS, block: int = 512
) -> tuple[Int[Array, " pairs"], Int[Array, " pairs"], int]:
    """Return every pair whose estimated distance is at most `reach`, and how many pairs can be judged.

    All pairs are looked at, `block` rows against all at a time: with R the rows normalised within strata,
    S the agreements with themselves and M the strata they occur in, ``D = 1 - 2 R R' / (S M' + M S')``.
    """
    rates, selves, seen = _profiles(data)
    first, second, judged, found = [], [], 0, 0
    columns = np.arange(len(data.symbols))
    for start in range(0, len(columns), block):
        rows = slice(start, start + block)
        both = (selves[rows] @ seen.T + seen[rows] @ selves.T).toarray()
        cross = (rates[rows] @ rates.T).toarray()
        above = columns > columns[rows, None]
        judged += int((above & (both > 0)).sum())
        i, j = np.nonzero(above & (both > 0) & (2.0 * cross >= (1.0 - reach) * both))
        first.append(i + start)
        second.append(j)
        found += len(i)
        if found > most:
            raise OptionError(
                f"More than {most:,} pairs of {len(columns):,} symbols are within {reach:g} of each other: "
                "at this margin most symbols are alike. Take fewer symbols, or a smaller margin and reach."
            )
    return np.concatenate(first), np.concatenate(second), judged


def _profiles(data: Occurrences) -> tuple[Any, Any, Any]:
    from scipy import sparse

    less = 0.0 if data.known else 1.0
    rows = np.repeat(np.arange(len(data.symbols)), np.diff(data.cells.indptr))
    column, x = data.stratum[data.cells.indices], data.cells.data
    key = rows * max(data.strata, 1) + column
    unique, inverse = np.unique(key, return_inverse=True)
    n = np.bincount(inverse, weights=x)
    pairs = np.bincount(inverse, weights=x * (x - less))
    usable = n > less
    where = np.divmod(unique[usable], max(data.strata, 1))
    shape = (len(data.symbols), data.strata)
    selves = pairs[usable] / (n * (n - less))[usable]
    rates = data.cells.copy()
    rates.data = np.where(usable[inverse], x / n[inverse], 0.0)
    return (
        rates,
        sparse.coo_array((selves, where), shape=shape).tocsr(),
        sparse.coo_array((np.ones(len(selves)), where), shape=shape).tocsr(),
    )
