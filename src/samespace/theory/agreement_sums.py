"""Sums over the cells of pairs of symbols, which distance, standard error and test are made of.

Two ways to the same sums. Without labels there is one stratum, and every sum over the union of two supports
is a sum over rows and products of sparse matrices: no pair is looked at by itself. With labels each pair has
its own strata, those in which both symbols occur, and its cells are laid side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.theory.occurrences import Occurrences

_BLOCK = 256  # rows of a product held at once


class Strata(NamedTuple):
    """Sums over the cells of every stratum of every pair in which both symbols can be judged."""

    pair: Int[Array, " strata"]
    n: Float[Array, " strata"]
    m: Float[Array, " strata"]
    self_x: Float[Array, " strata"]  # estimates of a(p, p), a(q, q), a(p, q)
    self_y: Float[Array, " strata"]
    cross: Float[Array, " strata"]
    pooled_2: Float[Array, " strata"]  # sum (t)_2, sum (t)_3
    pooled_3: Float[Array, " strata"]


class Cubes(NamedTuple):
    """Plug-in sums of an unlabelled pair, ``sum p^2``, ``sum q^2``, ``sum p^3`` and so on."""

    pp: Float[Array, " pairs"]
    qq: Float[Array, " pairs"]
    pq: Float[Array, " pairs"]
    ppp: Float[Array, " pairs"]
    qqq: Float[Array, " pairs"]
    ppq: Float[Array, " pairs"]
    pqq: Float[Array, " pairs"]


def unlabelled_sums(data: Occurrences, first: Array, second: Array) -> tuple[Strata, Cubes]:
    """Return the sums of each pair over its one stratum."""
    squares, cubes = data.cells.power(2), data.cells.power(3)
    one, two, three = (
        np.asarray(part.sum(axis=1)).ravel() for part in (data.cells, squares, cubes)
    )
    xy, xxy, xyy = _products(data.cells, squares, first, second)
    n, m = one[first], one[second]
    less = 0.0 if data.exact else 1.0
    # Falling powers from plain ones: (x)_2 = x^2 - x, (x)_3 = x^3 - 3 x^2 + 2 x.
    pairs, triples = two - one, three - 3 * two + 2 * one
    kept = np.flatnonzero((n > less) & (m > less))
    f, g = first[kept], second[kept]
    strata = Strata(
        pair=kept,
        n=n[kept],
        m=m[kept],
        self_x=(two - less * one)[f] / (n * (n - less))[kept],
        self_y=(two - less * one)[g] / (m * (m - less))[kept],
        cross=(xy / (n * m))[kept],
        pooled_2=pairs[f] + pairs[g] + 2 * xy[kept],
        pooled_3=triples[f] + triples[g] + 3 * (xxy + xyy - 2 * xy)[kept],
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        plug_in = Cubes(
            pp=two[first] / n**2,
            qq=two[second] / m**2,
            pq=xy / (n * m),
            ppp=three[first] / n**3,
            qqq=three[second] / m**3,
            ppq=xxy / (n**2 * m),
            pqq=xyy / (n * m**2),
        )
    return strata, plug_in


def _products(cells: Any, squares: Any, first: Array, second: Array) -> Float[Array, "3 pairs"]:
    """Return ``sum x y``, ``sum x^2 y`` and ``sum x y^2`` of each pair, block by block of first rows."""
    found = np.empty((3, len(first)))
    rows, place = np.unique(first, return_inverse=True)
    order = np.argsort(place, kind="stable")
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        ends = np.searchsorted(place[order], [start, start + len(block)])
        mine = order[ends[0] : ends[1]]
        where = (place[mine] - start, second[mine])
        for k, (left, right) in enumerate(((cells, cells), (squares, cells), (cells, squares))):
            found[k, mine] = (left[block] @ right.T).toarray()[where]
    return found


def labelled_sums(data: Occurrences, first: Array, second: Array) -> Strata:
    """Return the sums of each pair over the strata in which both symbols can be judged."""
    return _strata(data, _cells(data, first, second))


class Cells(NamedTuple):
    """Every cell in which either symbol of a pair occurs, ordered by pair and stratum."""

    pair: Int[Array, " cells"]
    cell: Int[Array, " cells"]
    x: Float[Array, " cells"]
    y: Float[Array, " cells"]


def _cells(data: Occurrences, first: Array, second: Array) -> Cells:
    # One complex sum keeps the union of the two supports and, in its parts, who has how much.
    union = (data.cells[first] + 1j * data.cells[second]).tocsr()
    union.sort_indices()
    pair = np.repeat(np.arange(len(first)), np.diff(union.indptr))
    return Cells(pair, union.indices, union.data.real, union.data.imag)


def _strata(data: Occurrences, cells: Cells) -> Strata:
    key = cells.pair * max(data.strata, 1) + data.stratum[cells.cell]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    x, y = cells.x, cells.y

    def total(values: Array) -> Array:
        return np.add.reduceat(values, starts) if len(starts) else np.zeros(0)

    n, m = total(x), total(y)
    # An agreement of a symbol with itself needs two draws, unless one draw tells all.
    less = 0.0 if data.known else 1.0
    kept = (n > less) & (m > less)
    n, m, pair = n[kept], m[kept], cells.pair[starts[kept]]
    t = x + y
    return Strata(
        pair=pair,
        n=n,
        m=m,
        self_x=total(x * (x - less))[kept] / (n * (n - less)),
        self_y=total(y * (y - less))[kept] / (m * (m - less)),
        cross=total(x * y)[kept] / (n * m),
        pooled_2=total(t * (t - 1))[kept],
        pooled_3=total(t * (t - 1) * (t - 2))[kept],
    )
