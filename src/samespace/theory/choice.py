r"""Choosing M + 1 of K points so that the differences from one of them are well conditioned.

The theorems divide by the matrix L of differences :math:`v_i - v_0`; a bad choice multiplies every
error by its condition number. The points are the vertices of a simplex, and its barycentric coordinates
:math:`\lambda_i(v) = c_i + w_i'v` give everything at once: the rows :math:`w_i, i \ne 0` are the
inverse of L, so that the Frobenius condition number is

.. math:: \kappa_F^2 = |L|_F^2 |L^{-1}|_F^2 = \Big(\sum_i |v_i - v_0|^2\Big) \Big(\sum_{i \ne 0} |w_i|^2\Big),

and exchanging vertex k for y changes :math:`w_k \to w_k/\lambda_k(y)` and
:math:`w_i \to w_i - w_k \lambda_i(y)/\lambda_k(y)`: the gain of every exchange is known without trying it.
All rows here are coordinates *within* the points' own affine hull, so K > M and L is invertible.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from samespace.accumulate import to_host
from samespace.theory.place import beside, chosen_rows, namespace
from samespace.theory.spectra import extremes
from samespace.theory.triangle import triangle_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

_EXCHANGE_FLOPS = 2e10
"""Budget of one search by exchanges: about a second on one core, not reached below about M = 100."""

_LEAST_GAIN = 1e-3
"""Relative gain of the squared condition number below which an exchange is not worth its cost."""


_PANEL = 192
"""Points in a panel of the pivoted QR."""

_NEARLY = 0.6
"""Squared distance at which a point of the panel is far enough, of the farthest outside: with 1 the order is
plain pivoted QR's, for four times as many panels and the same condition numbers."""

_FLAT = 1e-12
"""Distance from the span of those before, of their spread, at which a point is taken to lie in it."""

_NO_VERTEX = 1e-6
"""Barycentric coordinate below which a point lies in the face opposite a vertex and cannot stand for it."""

_FALL = 1e-4
"""Fall of the squared distances within a panel, beyond which its products say too little of them."""


def differences(points: Float[Array, "m+1 d"]) -> Float[Array, "m d"]:
    """Rows v_i - v_0: the transpose of the paper's L, whose columns they are."""
    return points[1:] - points[0]


def condition(points: Float[Array, "m+1 m"]) -> float:
    """Largest over smallest singular value of the differences from the first point."""
    longest, shortest = extremes(triangle_of(differences(points)))
    return longest / shortest if shortest > 0 else float("inf")


def by_pivoted_qr(points: Float[Array, "k m"]) -> tuple[Int[Array, " m+1"], bool]:
    """Greedily, the simplex of large volume: pivoted QR of the columns (1, v), a panel of them at a time.

    Each next choice is the point farthest from the span of those chosen so far. The farthest points are a
    panel, in which products tell all distances; a distance only falls, so that a panel serves until none of
    its points is as far as `_NEARLY` times the farthest one outside was at first.

    Returns
    -------
    The choice, and whether it spans: False where the points lie in less than M dimensions.
    """
    xp = namespace(points)
    centred = points - xp.mean(points, axis=0)
    scale = xp.sqrt(xp.mean(xp.linalg.vecdot(centred, centred)))
    rest = xp.concat([scale * xp.ones_like(centred[:, :1]), centred], axis=1)
    chosen: list[int] = []
    nearest = float(scale)
    while (missing := rest.shape[1] - len(chosen)) > 0:
        panel, outside = _farthest(rest, chosen)
        rows = chosen_rows(rest, panel)
        pivots, factor, shortest = _pivoted_cholesky(
            to_host(rows @ rows.T), _NEARLY * outside, missing
        )
        chosen += panel[pivots].tolist()
        nearest = min(nearest, shortest)
        inverse = solve_triangular(factor, np.eye(len(pivots)), lower=True)
        axes = beside(rest, inverse) @ chosen_rows(rows, pivots)
        rest = rest - (rest @ axes.T) @ axes
    return np.array(chosen), nearest > _FLAT * float(scale)


def _farthest(rest: Float[Array, "k m+1"], chosen: list[int]) -> tuple[Int[Array, " panel"], float]:
    """Numbers of the longest rows, none of them chosen already, and the next squared length."""
    lengths = to_host(namespace(rest).linalg.vecdot(rest, rest)).copy()
    lengths[chosen] = -1.0
    longest_first = np.argsort(-lengths, kind="stable")[: len(lengths) - len(chosen)]
    beyond = longest_first[_PANEL:]
    return longest_first[:_PANEL], float(lengths[beyond[0]]) if beyond.size else 0.0


def _pivoted_cholesky(
    gram: Float[Array, "p p"], least: float, most: int
) -> tuple[Int[Array, " b"], Float[Array, "b b"], float]:
    """Rows picked from a panel while they are far enough, at least one; triangle; least distance."""
    least = max(least, _FALL * float(gram.diagonal().max()))
    factor, order, rank, _ = dpstrf(gram, lower=1, tol=least)
    taken = max(1, min(rank, most))
    if rank == 0:
        return order[:1] - 1, np.eye(1), 0.0
    triangle = np.tril(factor[:taken, :taken])
    return order[:taken] - 1, triangle, float(triangle.diagonal().min())


def by_exchanges(
    points: Float[Array, "k m"], start: Int[Array, " m+1"]
) -> tuple[Int[Array, " m+1"], int]:
    """Exchange vertices, the best first, while that lowers the condition number.

    Minimises (sum of |v_i - mean|^2) (sum of |w_i|^2), the Frobenius condition number up to the
    choice of the pivot, over all single exchanges; ends at a local minimum or at the budget.

    Returns
    -------
    The choice, pivot first, and the number of exchanges made.
    """
    chosen = start.copy()
    k, m = map(int, points.shape)
    allowed = max(2, int(_EXCHANGE_FLOPS / (6.0 * k * (m + 1) ** 2)))
    for made in range(allowed):
        now, after = _exchange_costs(points, chosen)
        new, old = divmod(int(namespace(after).argmin(after)), m + 1)
        if not after[new, old] < now * (1.0 - _LEAST_GAIN):
            return best_pivot_first(points, chosen), made
        chosen[old] = new
    return best_pivot_first(points, chosen), allowed


def _exchange_costs(
    points: Float[Array, "k m"], chosen: Int[Array, " m+1"]
) -> tuple[float, Float[Array, "k m+1"]]:
    """Squared cost now, and after exchanging vertex (column) for point (row)."""
    xp = namespace(points)
    vertices = chosen_rows(points, chosen)
    c, w = _barycentric(vertices)
    inner = w @ w.T
    w2 = xp.linalg.diagonal(inner)
    at = c + points @ w.T  # lambda_i(y)
    cross = at @ inner - at * w2  # sum over i != k of lambda_i w_i'w_k
    at2 = at**2
    others = xp.sum(at2, axis=1, keepdims=True) - at2
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = 1.0 / at
        inverse = xp.sum(w2) - w2 - 2.0 * ratio * cross + ratio**2 * w2 * (others + 1.0)
        after = inverse * _spread_after(points, vertices)
    after = xp.where(xp.isfinite(after) & (xp.abs(at) > _NO_VERTEX), after, xp.inf)
    return float(xp.sum(w2) * _spread(vertices)), after


def _barycentric(vertices: Float[Array, "m+1 m"]) -> tuple[Array, Array]:
    """Return c and w of the barycentric coordinates lambda(v) = c + w v."""
    xp = namespace(vertices)
    inverse = xp.linalg.inv(xp.concat([xp.ones_like(vertices[:, :1]), vertices], axis=1))
    return inverse[0, :], inverse[1:, :].T


def _spread(vertices: Float[Array, "m+1 m"]) -> Float[Array, ""]:
    xp = namespace(vertices)
    return xp.sum((vertices - xp.mean(vertices, axis=0)) ** 2)


def _spread_after(
    points: Float[Array, "k m"], vertices: Float[Array, "m+1 m"]
) -> Float[Array, "k m+1"]:
    """Spread of the vertices about their mean once the column's vertex is the row's point."""
    xp = namespace(points)
    vecdot = xp.linalg.vecdot
    total, old2, new2 = xp.sum(vertices, axis=0), vecdot(vertices, vertices), vecdot(points, points)
    step2 = new2[:, None] + old2 - 2.0 * points @ vertices.T
    moved2 = total @ total + step2 + 2.0 * ((points @ total)[:, None] - vertices @ total)
    return xp.sum(old2) - old2 + new2[:, None] - moved2 / vertices.shape[0]


def best_pivot_first(points: Float[Array, "k m"], chosen: Int[Array, " m+1"]) -> Int[Array, " m+1"]:
    """Move to the front the vertex from which the differences are best conditioned."""
    xp = namespace(points)
    vertices = chosen_rows(points, chosen)
    _, w = _barycentric(vertices)
    norm2, w2 = xp.linalg.vecdot(vertices, vertices), xp.linalg.vecdot(w, w)
    lengths = len(chosen) * norm2 + xp.sum(norm2) - 2.0 * vertices @ xp.sum(vertices, axis=0)
    first = int(xp.argmin(lengths * (xp.sum(w2) - w2)))
    return np.concatenate([chosen[first : first + 1], np.delete(chosen, first)])


def number_of_sets(count: int, dim: int) -> int:
    """How many choices there are, each with each of its points as pivot."""
    return comb(count, dim + 1) * (dim + 1)


def by_enumeration(points: Float[Array, "k m"]) -> Int[Array, " m+1"]:
    """Return the choice of smallest condition number among all, each point tried as pivot."""
    points = to_host(points)
    k, m = points.shape
    sets = np.array(list(combinations(range(k), m + 1)))
    orders = [np.r_[p, np.delete(np.arange(m + 1), p)] for p in range(m + 1)]
    ordered = np.concatenate([sets[:, order] for order in orders])
    singular = np.linalg.svd(points[ordered[:, 1:]] - points[ordered[:, :1]], compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        return ordered[int(np.nanargmin(singular[:, 0] / singular[:, -1]))]


def by_resampling(
    count: int,
    size: int,
    rng: np.random.Generator,
    judge: Callable[[Int[Array, " size"]], float],
    *,
    tries: int,
    enough: float,
) -> tuple[Int[Array, " size"], int]:
    """Draw sets at random until one's condition number is `enough`; else return the best of `tries`.

    The remedy of Roeder et al. 2021, Section 3.4 ("resampling different data points until the condition
    number of the matrices is satisfactory").
    """
    best = rng.choice(count, size, replace=False)
    least = judge(best)
    for made in range(1, tries):
        if least <= enough:
            return best, made
        drawn = rng.choice(count, size, replace=False)
        found = judge(drawn)
        if found < least:
            best, least = drawn, found
    return best, tries
