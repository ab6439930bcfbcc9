r"""Mutual nearest neighbours: do two representations put the same rows next to each other?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import OptionError
from samespace.measures.result import Result
from samespace.measures.rows import blocks, paired_rows, squared_distances, unit_rows, widened

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

Distance = Literal["cosine", "euclidean"]


@dataclass(frozen=True, eq=False, repr=False)
class NeighbourOverlap(Result):
    """Mean share of the ``k`` nearest neighbours that two representations have in common.

    ``per_row`` is that share of every row; ``chance`` is what unrelated representations would have,
    k / (n - 1).
    """

    overlap: float
    chance: float
    per_row: Float[Array, " n"]
    k: int
    distance: str
    n: int
    d_x: int
    d_y: int

    @property
    def above_chance(self) -> float:
        """The overlap on a scale where chance is 0 and identical neighbourhoods are 1."""
        return (self.overlap - self.chance) / (1.0 - self.chance)


def neighbour_overlap(
    x: Any, y: Any = None, *, k: int = 10, distance: Distance = "cosine"
) -> NeighbourOverlap:
    r"""Share of each row's k nearest neighbours in X that are among its k nearest in Y, on average.

    .. math:: \frac1n \sum_i \frac1k \sum_{j \ne i} \min\bigl(w^x_{ij}, w^y_{ij}\bigr),

    where :math:`w_{ij}` is 1 for the k nearest neighbours of i and 0 for others. Where rows *tie* for the
    last places, each gets its share of them: with s rows strictly nearer and t tied for the remaining k - s
    places, w is (k - s) / t. So nothing depends on the order of the rows, and equal
    representations score 1, ties or not.

    **Invariant to** a rotation or reflection and one scale of either side; with "euclidean" also to a shift;
    with "cosine" instead to a scale of each *row*. To any map that keeps the order of distances; affine
    maps do not.

    **It misleads** between samples of different size: it compares neighbourhoods of radius set by k / n, and
    chance is k / (n - 1). It also says nothing of how *much* two neighbourhoods differ: near-ties that swap
    count like strangers. "cosine" depends on where the origin is.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows, held in memory; of Moments, the rows that they
        kept. All n (n - 1) distances are computed, a block of rows at a time, where the arrays are.
    k
        Neighbours compared, from 1 to n - 2. A row is never its own neighbour; its exact duplicates may be.
    distance
        "cosine" or "euclidean".

    Returns
    -------
    NeighbourOverlap
        ``.overlap``, its ``.chance`` level and the overlap ``.per_row``.

    Notes
    -----
    Distances that differ by less than their rounding error count as ties, so that duplicated rows
    tie whatever the order in which the BLAS adds. Half- and single-precision arrays are compared in single
    precision; pass float64 where a few rows are 1e4 times as long as the others, which then blur.

    References
    ----------
    Huh, Cheung, Wang and Isola (2024), The Platonic representation hypothesis, Appendix A (mutual k-NN).

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import neighbour_overlap
    >>> rng = np.random.default_rng(0)
    >>> X, Q = rng.standard_normal((200, 4)), np.linalg.qr(rng.standard_normal((4, 4)))[0]
    >>> neighbour_overlap(X, 3 * X @ Q, k=5).overlap
    1.0
    >>> found = neighbour_overlap(X, rng.standard_normal((200, 4)), k=5)
    >>> round(found.overlap, 2), round(found.chance, 2)
    (0.03, 0.03)
    """
    X, Y = paired_rows(x, y)
    n = X.shape[0]
    if not 1 <= k <= n - 2:
        raise OptionError(f"k={k} of {n} rows; write a k from 1 to {n - 2}.")
    sides = [_prepared(rows, name, distance) for name, rows in (("X", X), ("Y", Y))]
    per_row = np.concatenate([_block_overlap(sides, block, k) for block in blocks(n)])
    return NeighbourOverlap(
        overlap=float(per_row.mean()),
        chance=k / (n - 1),
        per_row=per_row,
        k=k,
        distance=distance,
        n=n,
        d_x=X.shape[1],
        d_y=Y.shape[1],
    )


def _prepared(rows: Any, name: str, distance: str) -> Any:
    """Rows whose squared Euclidean distances order the neighbours: centred, or of unit length."""
    xp, rows = widened(rows)
    if distance == "euclidean":
        # Centring does not move a distance; it keeps the norms, and so the rounding, small.
        return rows - xp.mean(rows, axis=0, keepdims=True)
    if distance == "cosine":
        return unit_rows(rows, name)
    raise OptionError(f"distance={distance!r}; write 'cosine' or 'euclidean'.")


def _block_overlap(sides: list[Any], block: slice, k: int) -> Float[Array, " b"]:
    """Overlap of the rows of one block."""
    w_x, w_y = (_membership(rows, block, k) for rows in sides)
    xp, _ = widened(w_x)
    return to_host(xp.sum(xp.minimum(w_x, w_y), axis=1)).astype(np.float64) / k


def _membership(rows: Any, block: slice, k: int) -> Any:
    """Degree to which each row is among the k nearest of the block's rows: 1, 0, or a share of a tie."""
    xp, rows = widened(rows)
    norms = xp.sum(rows * rows, axis=1)
    squared = squared_distances(xp, rows, norms, block, slice(None))
    index = xp.arange(rows.shape[0], device=_device(rows))
    squared = xp.where(index[block, None] == index[None, :], xp.inf, squared)
    kth = _kth_smallest(xp, squared, k)
    rounding = 8 * xp.finfo(rows.dtype).eps * (norms[block, None] + norms[None, :])
    nearer = xp.astype(squared < kth - rounding, rows.dtype)
    tied = xp.astype(xp.abs(squared - kth) <= rounding, rows.dtype)
    places = k - xp.sum(nearer, axis=1, keepdims=True)
    return nearer + tied * (places / xp.sum(tied, axis=1, keepdims=True))


def _device(rows: Any) -> Any:
    from array_api_compat import device

    return device(rows)


def _kth_smallest(xp: Any, values: Any, k: int) -> Any:
    """The k-th smallest of each row, as a column."""
    if hasattr(xp, "kthvalue"):  # torch
        return xp.kthvalue(values, k, dim=1, keepdim=True).values
    if hasattr(xp, "partition"):  # NumPy, CuPy, JAX
        return xp.partition(values, k - 1, axis=1)[:, k - 1 : k]
    return xp.sort(values, axis=1)[:, k - 1 : k]
