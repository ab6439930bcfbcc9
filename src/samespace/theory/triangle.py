r"""The triangle of a tall matrix that is read in blocks: R with R'R = V'V, and never V'V itself.

Forming V'V squares the condition number, so that a rank can be told only down to 1e-8. The first block is
therefore factorised by Householder's QR, V_1 = Q_1 R_1, and it preconditions the others: the columns of
:math:`V R_1^{-1}` are nearly orthogonal when later rows are like the first, so that *their* products lose
nothing, and :math:`R = \operatorname{chol}(I + \sum (V R_1^{-1})'(V R_1^{-1}))\, R_1` keeps all digits at the
speed of matrix products. A multiple of the unit matrix below rounding, factorised with the first block, does
the same for columns that depend on others: rounding, divided by it, stays small. Where later rows are unlike
the first, every block is factorised by QR on top of the triangle so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import ShapeError
from samespace.representation import Representation
from samespace.sources.source import RandomAccess
from samespace.theory.place import device_of, double, namespace, together, unit
from samespace.theory.spectra import condition_1, extremes, right_solve

if TYPE_CHECKING:
    from typing import Any as Array  # of any array library

    from jaxtyping import Float, Int

_BLOCK_VALUES, _BLOCK_VALUES_ON_GPU = 1 << 22, 1 << 26
"""Values in a block: 32 MB of float64, half a gigabyte on a GPU, which smaller ones would not keep busy."""

_FIRST, _ROWS = 2, 4
"""Rows in widths, of the part that preconditions (QR costs more than products) and of a block."""

_WORST = 100.0
"""Condition number of the preconditioned rows, up to which their products keep all but four digits."""


def block_rows(width: int, *, on_gpu: bool = False, at_least: int = 1) -> int:
    """Rows of a block of this width."""
    return max(at_least, (_BLOCK_VALUES_ON_GPU if on_gpu else _BLOCK_VALUES) // width)


@dataclass(frozen=True, eq=False)
class Triangle:
    """R of the QR factorisation of n rows, about zero and about their mean, of one pass.

    The rows are read with a leading 1, so R = [[sqrt(n), sqrt(n) mean], [0, R_centred]] up to signs. Several
    matrices on the same rows stand side by side.
    """

    n: int
    widths: tuple[int, ...]
    lifted: Float[Array, "w w"]
    dtype: str

    @classmethod
    def of(cls, *matrices: Any) -> Triangle:
        """Factorise anything the gate takes, block by block."""
        sources = [Representation.of(rows) for rows in matrices]
        _check_same_rows(sources)
        width = 1 + sum(source.d for source in sources)
        # On a GPU no more than this: a single block would be left to QR as a whole.
        rows = block_rows(width, at_least=_ROWS * width)
        r = _preconditioned(_lifted(sources, rows)) if sources[0].n > rows else None
        if r is None:
            r = _stacked(_lifted(sources, rows))
        widths = tuple(source.d for source in sources)
        return cls(sources[0].n, widths, r, sources[0].dtype)

    def leading(self, count: int) -> Triangle:
        """Return the triangle of the first `count` matrices alone, without reading them again."""
        width = 1 + sum(self.widths[:count])
        return Triangle(self.n, self.widths[:count], self.lifted[:width, :width], self.dtype)

    @property
    def mean(self) -> Float[Array, " d"]:
        """Mean of the rows."""
        return self.lifted[0, 1:] / self.lifted[0, 0]

    @property
    def centred(self) -> Float[Array, "r d"]:
        """R of the rows minus their mean."""
        return self.lifted[1:, 1:]

    def span(self, *, tolerance: float | None = None) -> Span:
        """Where the rows lie about their mean."""
        return self._span if tolerance is None else self._decomposed(tolerance)

    @cached_property
    def _span(self) -> Span:
        return self._decomposed(None)

    def _decomposed(self, tolerance: float | None) -> Span:
        magnitude = float(namespace(self.lifted).linalg.matrix_norm(self.plain))
        return Span.of(self.centred, dtype=self.dtype, tolerance=tolerance, magnitude=magnitude)

    @property
    def plain(self) -> Float[Array, "r d"]:
        """R of the rows as they are (square, though not triangular)."""
        return self.lifted[:, 1:]


def triangle_of(rows: Float[Array, "n d"]) -> Float[Array, "r d"]:
    """R of rows in memory."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.linalg.qr(rows, mode="r"))
    return namespace(rows).linalg.qr(rows, mode="r").R


def _lifted(sources: list[Representation], rows: int) -> Iterator[Float[Array, "b w"]]:
    """Blocks of the matrices side by side, a 1 in front of every row."""
    ends = np.cumsum([1, *(source.d for source in sources)]).tolist()
    for batches in zip(*(source.batches(rows) for source in sources), strict=True):
        blocks = together(*batches)
        xp = namespace(*blocks)
        shape = blocks[0].shape[0], ends[-1]
        lifted = xp.empty(shape, dtype=xp.float64, device=device_of(blocks[0]))
        lifted[:, 0] = 1.0
        for block, start, end in zip(blocks, ends, ends[1:], strict=False):
            lifted[:, start:end] = block
        yield lifted


def _stacked(blocks: Iterator[Float[Array, "b w"]]) -> Float[Array, "r w"]:
    """Factorise every block on top of the triangle of those before it."""
    r = triangle_of(next(blocks))
    for block in blocks:
        r = triangle_of(namespace(r).concat([r, block]))
    return r


def _preconditioned(blocks: Iterator[Float[Array, "b w"]]) -> Float[Array, "w w"] | None:
    """Factorise the first rows and multiply the rest; None where that would lose digits."""
    block = next(blocks)
    xp, rows = namespace(block), _FIRST * block.shape[1]
    first, gram = _regular_triangle(block[:rows, :]), unit(block, block.shape[1])
    for part in chain([block[rows:, :]], blocks):
        z = right_solve(first, part, overwrite=True)
        gram += z.T @ z
    squares = xp.linalg.diagonal(gram)
    if not xp.max(squares) < _WORST**2 * xp.min(squares):
        return None  # seen before the rounding of the largest makes the smallest negative
    upper = xp.linalg.cholesky(gram, upper=True)
    # In the 1-norm, which is cheap, it is larger: by about the root of the width.
    return upper @ first if condition_1(upper) < _WORST * len(upper) ** 0.5 else None


def _regular_triangle(block: Float[Array, "b w"]) -> Float[Array, "w w"]:
    """Triangle of the rows and of a multiple of the unit matrix, at each column's scale, below rounding."""
    xp = namespace(block)
    lengths = xp.linalg.vector_norm(block, axis=0)
    # A column that is zero so far is given the least scale that counts beside the others.
    scales = xp.maximum(lengths, 2.0**-52 * xp.max(lengths))
    width = int(block.shape[1])
    below = 2.0**-52 * width**0.5 * scales * unit(block, width)
    return triangle_of(xp.concat([block, below]))


def _check_same_rows(sources: list[Representation]) -> None:
    counts = [source.n for source in sources]
    if len(set(counts)) > 1:
        raise ShapeError(
            "two models must be given on the same rows, in the same order; got "
            f"{' and '.join(map(str, counts))} rows."
        )


@dataclass(frozen=True, eq=False)
class Span:
    """Where rows lie: orthonormal axes of the space they span, and the rows' triangle along these.

    Attributes
    ----------
    axes
        The principal axes; of rows that span all of their space, its own.
    triangle
        R with R'R the rows' products in these coordinates.
    longest, shortest
        Largest and smallest singular value *within* the span; None for a single point.
    """

    axes: Float[Array, "rank d"]
    triangle: Float[Array, "rank rank"]
    longest: float | None
    shortest: float | None

    @classmethod
    def of(
        cls,
        r: Float[Array, "r d"],
        *,
        dtype: str,
        tolerance: float | None = None,
        magnitude: float = 0.0,
    ) -> Span:
        """Decompose a triangle, or rows that are more than their width.

        Parameters
        ----------
        tolerance
            Singular values below it, relative to the largest, count as zero.
        magnitude
            Norm of the rows before their mean was subtracted: what is below its rounding is zero as well.
        """
        xp, width = namespace(r), int(r.shape[1])
        cutoff = default_tolerance(width, dtype) if tolerance is None else tolerance
        least = 8.0 * 2.0**-52 * magnitude
        if r.shape[0] > width:
            r = triangle_of(r)
        if r.shape[0] == width:
            longest, shortest = extremes(r)
            if shortest > max(cutoff * longest, least):
                return cls(unit(r, width), r, longest, shortest)
        _, singular, axes = xp.linalg.svd(r, full_matrices=False)
        longest = float(singular[0]) if singular.shape[0] else 0.0
        rank = int(xp.sum(singular > max(cutoff * longest, least)))
        triangle = singular[:rank] * unit(r, rank)
        return cls(
            axes[:rank, :],
            triangle,
            longest if rank else None,
            float(singular[rank - 1]) if rank else None,
        )

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return int(self.axes.shape[0])

    @property
    def condition(self) -> float | None:
        """Longest over shortest axis of the span; None for a single point."""
        if self.longest is None or self.shortest is None:
            return None
        return self.longest / self.shortest

    def coordinates(self, rows: Float[Array, "n d"]) -> Float[Array, "n rank"]:
        """Coordinates of rows along the axes."""
        return rows if self.rank == rows.shape[1] else rows @ self.axes.T

    def leverage(self, rows: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Squared length of rows where all those that were decomposed together are a unit ball."""
        z = right_solve(self.triangle, self.coordinates(rows))
        return namespace(z).linalg.vecdot(z, z)


def default_tolerance(width: int, dtype: str) -> float:
    """Singular values relative to the largest that rounding could have made.

    The larger of the elements' own rounding (a model in float32 says nothing below it) and that of the
    factorisation in float64.
    """
    own = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23}.get(dtype, 2.0**-52)
    return max(own, 8.0 * width * 2.0**-52)


def take(rows: Any, index: Int[Array, " k"]) -> Float[Array, "k d"]:
    """Some rows of anything the gate takes, in this order, in float64."""
    source = Representation.of(rows)
    if isinstance(source.source, RandomAccess):
        return double(source.take(index))
    taken = np.empty((len(index), source.d))
    start = 0
    for batch in source.batches(block_rows(source.d)):
        here = np.flatnonzero((index >= start) & (index < start + len(batch)))
        if here.size:
            taken[here] = batch[index[here] - start]
        start += len(batch)
    return taken
