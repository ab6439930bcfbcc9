r"""How far two symbols are from equivalent, and whether that could be chance.

Everything rests on one number that a sample estimates without bias, the probability that two independent
draws agree. For distributions p and q over cells, ``a(p, q) = sum_i p_i q_i`` and the **distance** is

``D = 1 - 2 a(p, q) / (a(p, p) + a(q, q)) = |p - q|^2 / (|p|^2 + |q|^2)``,

0 exactly when p = q, 1 exactly when they have no cell in common. With strata (labels within contexts) each
sum also runs over the strata in which both symbols occur: D is then 0 exactly when the two distributions of
labels are equal in all of these. It is the complement of Morisita's index.

**The test.** In a stratum with counts x of n draws and y of m draws,

``U = sum_i (x_i)_2 / (n)_2 + (y_i)_2 / (m)_2 - 2 x_i y_i / (n m)``,  ``(k)_j = k (k-1) ... (k-j+1)``

estimates ``|p - q|^2`` without bias. If p = q, then given the pooled counts ``t = x + y`` all ways to deal
the draws to the two symbols are equally probable; over these U has mean exactly 0 and variance exactly

``kappa T^2 + (kappa_3 - 4 kappa) sum_i (t_i)_3 + (kappa_2 - 2 kappa) T``,  ``T = sum_i (t_i)_2``

with coefficients of n and m alone (`_coefficients`): no permutation is drawn. The tail is that of a
chi-square with the same mean and variance of ``sum_i (x_i/n - y_i/m)^2``.

References
----------
Morisita (1959), Mem. Fac. Sci. Kyushu Univ. E 3, 65-80. Satterthwaite (1946), Biometrics 2(6).
"Contrastive learners are semantic learners", Definitions 2.1 and 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.theory.agreement_sums import Cubes, Strata, labelled_sums, unlabelled_sums

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.theory.occurrences import Occurrences

_CHUNK = 2_000_000  # cells held at once: a few hundred megabytes


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What is known of each pair of symbols.

    Attributes
    ----------
    first, second
        Rows of the two symbols.
    shared
        Strata that decide the pair; 0 means that nothing is known of it.
    distance
        Estimate of D, which for samples may fall below 0; nan where `shared` is 0.
    error
        Its standard error; 0 where the data are exact.
    noise
        Variance of the estimate per unit of ``D (2 - D)``, were D not what it seems: an estimate that fell
        low by chance also looks more certain than it is. 0 where the data are exact.
    p_equal
        p-value of "the two are equivalent"; 1 where the data are exact or cannot tell.
    draws
        Independent observations of the scarcer symbol; for labelled data the shared contexts.
    population
        How many there are to observe: infinitely many, for labelled data the contexts of the data set.
    """

    first: Int[Array, " pairs"]
    second: Int[Array, " pairs"]
    shared: Int[Array, " pairs"]
    distance: Float[Array, " pairs"]
    error: Float[Array, " pairs"]
    noise: Float[Array, " pairs"]
    p_equal: Float[Array, " pairs"]
    draws: Float[Array, " pairs"]
    population: Float[Array, " pairs"]


def agreement(
    data: Occurrences, first: Int[Array, " pairs"], second: Int[Array, " pairs"]
) -> Agreement:
    """Return distance, standard error and p-value of the given pairs of rows.

    Parameters
    ----------
    data
        Counts or exact probabilities, with or without labels.
    first, second
        Rows of the symbols of each pair.

    Notes
    -----
    What it misleads about: D weighs cells by their probability, so it hears little of rare contexts; and it
    compares labels only in contexts in which *both* symbols were seen, for a sample at least twice.
    """
    if not data.labelled:
        return _unlabelled(data, first, second)
    work = np.diff(data.cells.indptr)[first] + np.diff(data.cells.indptr)[second]
    edges = np.searchsorted(np.cumsum(work), np.arange(_CHUNK, work.sum(), _CHUNK))
    parts = [
        _labelled(data, rows, others)
        for rows, others in zip(np.split(first, edges), np.split(second, edges), strict=True)
    ]
    names = Agreement.__dataclass_fields__
    return Agreement(**{n: np.concatenate([getattr(part, n) for part in parts]) for n in names})


def _unlabelled(data: Occurrences, first: Array, second: Array) -> Agreement:
    strata, sums = unlabelled_sums(data, first, second)
    shared, distance, both = _distance(strata, len(first))
    error, noise, p_equal = np.zeros(len(first)), np.zeros(len(first)), np.ones(len(first))
    totals = data.totals
    if not data.exact:
        error = _error_over_draws(totals[first], totals[second], sums, distance, both)
        noise = _noise_over_draws(totals[first], totals[second], sums, both)
        p_equal = _p_equal(strata, len(first))
    return Agreement(
        first=first,
        second=second,
        shared=shared,
        distance=distance,
        error=error,
        noise=noise,
        p_equal=p_equal,
        draws=np.minimum(totals[first], totals[second]),
        population=np.full(len(first), np.inf),
    )


def _labelled(data: Occurrences, first: Array, second: Array) -> Agreement:
    strata, pairs = labelled_sums(data, first, second), len(first)
    shared, distance, both = _distance(strata, pairs)
    error, noise, p_equal = np.zeros(pairs), np.zeros(pairs), np.ones(pairs)
    if not data.exact:
        # A mean over strata of numbers from 0 to 1 has variance at most D (1 - D) / strata.
        with np.errstate(divide="ignore"):
            noise = (1.0 - shared / data.strata) / (2.0 * shared)
        error = _error_over_strata(strata, distance, both, pairs)
        # Of a function one disagreement is proof.
        p_equal = (~(distance > 0)).astype(float) if data.deterministic else _p_equal(strata, pairs)
    return Agreement(
        first=first,
        second=second,
        shared=shared,
        distance=distance,
        error=error,
        noise=noise,
        p_equal=p_equal,
        draws=shared.astype(float),
        population=np.full(pairs, float(data.strata)),
    )


def _distance(strata: Strata, pairs: int) -> tuple[Array, Array, Array]:
    """Return of each pair how many strata it has, D, and the denominator of D."""
    both = _per_pair(strata, strata.self_x + strata.self_y, pairs)
    cross = _per_pair(strata, strata.cross, pairs)
    shared = np.bincount(strata.pair, minlength=pairs)
    with np.errstate(invalid="ignore", divide="ignore"):
        return shared, np.where(both > 0, 1.0 - 2.0 * cross / both, np.nan), both


def _per_pair(strata: Strata, values: Array, pairs: int) -> Float[Array, " pairs"]:
    return np.bincount(strata.pair, weights=values, minlength=pairs)


def _p_equal(strata: Strata, pairs: int) -> Float[Array, " pairs"]:
    """Return the upper tail of U, a sum of independent strata, as of a chi-square matched to it."""
    from scipy import special

    u = _per_pair(strata, strata.self_x + strata.self_y - 2 * strata.cross, pairs)
    variance = _per_pair(strata, permutation_variance(strata), pairs)
    total = strata.n + strata.m
    # Mean of sum_i (x_i/n - y_i/m)^2 over the permutations: what U subtracts to have mean 0.
    biased = (1 / strata.n + 1 / strata.m) * (1 - strata.pooled_2 / (total * (total - 1)))
    mean = _per_pair(strata, biased, pairs)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = 2 * mean**2 / variance
        tail = special.chdtrc(freedom, freedom * (1 + u / mean))
    return np.where(variance > 0, tail, 1.0)


def permutation_variance(strata: Strata) -> Float[Array, " strata"]:
    """Return the exact variance of U over all ways to deal the pooled draws to the two symbols."""
    kappa, kappa_3, kappa_2 = _coefficients(strata.n, strata.m)
    t2, t3 = strata.pooled_2, strata.pooled_3
    # Rounding can leave a tiny negative number where all ways are alike and the variance is 0.
    variance = kappa * t2**2 + (kappa_3 - 4 * kappa) * t3 + (kappa_2 - 2 * kappa) * t2
    return np.where(variance > 1e-12 * np.abs(kappa_2) * t2, variance, 0.0)


def _coefficients(n: Array, m: Array) -> tuple[Array, Array, Array]:
    """Collect ``E[U^2]`` by factorial moments of the pooled counts, for n and m of at least 2.

    Dealing without replacement has ``E[(x_i)_a (y_i)_b] = (t_i)_(a+b) (n)_a (m)_b / (n+m)_(a+b)``, and the
    like across two cells; U is a quadratic form with a = 1/(n)_2, b = 1/(m)_2, c = 1/(n m) as weights.
    """
    n2, m2, total = n * (n - 1), m * (m - 1), n + m
    n3, m3, n4, m4 = n2 * (n - 2), m2 * (m - 2), n2 * (n - 2) * (n - 3), m2 * (m - 2) * (m - 3)
    a, b, c = 1 / n2, 1 / m2, 1 / (n * m)
    fours = (
        a**2 * n4 + b**2 * m4 + (4 * c**2 + 2 * a * b) * n2 * m2 - 4 * c * (a * n3 * m + b * n * m3)
    )
    threes = 4 * (a**2 * n3 + b**2 * m3 + (c**2 - 2 * a * c) * n2 * m + (c**2 - 2 * b * c) * n * m2)
    twos = 2 * (a**2 * n2 + b**2 * m2 + 2 * c**2 * n * m)
    pairs = total * (total - 1)
    return (
        fours / (pairs * (total - 2) * (total - 3)),
        threes / (pairs * (total - 2)),
        twos / pairs,
    )


def _error_over_draws(
    n: Array, m: Array, sums: Cubes, distance: Array, both: Array
) -> Float[Array, " pairs"]:
    """Return the standard error of D by the delta method over the draws of both symbols.

    The influence of a draw of u in cell i is ``(2 / (a(p,p) + a(q,q))) ((1 - D) p_i - q_i)``, so its variance
    is made of ``sum p^3``, ``sum p^2 q`` and ``sum p q^2``.
    """
    keep = 1.0 - distance
    u = keep**2 * sums.ppp - 2 * keep * sums.ppq + sums.pqq - (keep * sums.pp - sums.pq) ** 2
    v = keep**2 * sums.qqq - 2 * keep * sums.pqq + sums.ppq - (keep * sums.qq - sums.pq) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (2 / both) ** 2 * (u / n + v / m)
    return np.sqrt(np.maximum(variance, 0.0))


def _noise_over_draws(n: Array, m: Array, sums: Cubes, both: Array) -> Float[Array, " pairs"]:
    """Return the variance of the estimate of D, per unit of ``D (2 - D)``.

    The squares of the influence sum to ``|(1 - D) p - q|^2 = a(q,q) D (2 - D)``; a draw meets them with the
    probability of its cell, on average ``sum p^3 / sum p^2`` if they are spread like p's own.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        u, v = sums.ppp / sums.pp * sums.qq / n, sums.qqq / sums.qq * sums.pp / m
        return (2 / both) ** 2 * (u + v)


def _error_over_strata(strata: Strata, distance: Array, both: Array, pairs: int) -> Array:
    """Return the standard error of D as a ratio of sums over strata, each stratum one draw."""
    selves = strata.self_x + strata.self_y
    residual = selves * (1.0 - distance[strata.pair]) - 2.0 * strata.cross
    count = np.bincount(strata.pair, minlength=pairs)
    with np.errstate(invalid="ignore", divide="ignore"):
        square = _per_pair(strata, residual**2, pairs) * count / (count - 1)
        error = np.sqrt(square) / both
    # One stratum says nothing of the spread over strata: no finite interval.
    return np.where(count > 1, error, np.inf)
