r"""The triangle of a tall matrix that is read in blocks: R with R'R = V'V, and never V'V itself.

Forming V'V squares the condition number, so that a rank can be told only down to 1e-8. The first block is
therefore factorised by Householder's QR, V_1 = Q_1 R_1, and it preconditions the others: the columns of
:math:`V R_1^{-1}` are nearly orthogonal when later rows are like the first, so that *their* products lose
nothing, and :math:`R = \operatorname{chol}(I + \sum (V R_1^{-1})'(V R_1^{-1}))\, R_1` keeps all digits at the
speed of matrix products. Where that does not apply (dependent columns, a first block unlike the rest), every
block is factorised by QR on top of the triangle so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrcon

from samespace.accumulate import to_host
from samespace.errors import ShapeError
from samespace.representation import Representation
from samespace.sources.source import RandomAccess

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

_BLOCK_VALUES = 1 << 22
"""Values in a block: 32 MB of float64."""

_WORST_FIRST, _WORST_GRAM = 1e8, 1e4
"""Condition numbers, in the 1-norm, up to which preconditioning keeps all but a few digits."""


def block_rows(width: int, *, at_least: int = 1) -> int:
    """Rows of a block of this width."""
    return max(at_least, _BLOCK_VALUES // width)


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
        # A block of four times the width: what is done per triangle then costs little beside the rows.
        rows = block_rows(width, at_least=4 * width)
        r = _preconditioned(_lifted(sources, rows))
        if r is None:
            r = _stacked(_lifted(sources, rows), width)
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
        magnitude = float(np.linalg.norm(self.lifted[:, 1:]))
        return Span.of(self.centred, dtype=self.dtype, tolerance=tolerance, magnitude=magnitude)

    @property
    def plain(self) -> Float[Array, "r d"]:
        """R of the rows as they are (square, though not triangular)."""
        return self.lifted[:, 1:]


def triangle_of(rows: Float[Array, "n d"]) -> Float[Array, "r d"]:
    """R of rows in memory."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _lifted(sources: list[Representation], rows: int) -> Iterator[Float[Array, "b w"]]:
    """Blocks of the matrices side by side, a 1 in front of every row."""
    for batches in zip(*(source.batches(rows) for source in sources), strict=True):
        blocks = [to_host(batch) for batch in batches]
        yield np.column_stack([np.ones(len(blocks[0])), *blocks])


def _stacked(blocks: Iterator[Float[Array, "b w"]], width: int) -> Float[Array, "r w"]:
    """Factorise every block on top of the triangle of those before it."""
    r = np.zeros((0, width))
    for block in blocks:
        r = triangle_of(np.concatenate([r, block]))
    return r


def _preconditioned(blocks: Iterator[Float[Array, "b w"]]) -> Float[Array, "w w"] | None:
    """Factorise the first block and multiply the rest; None where that would lose digits."""
    first = triangle_of(next(blocks))
    if first.shape[0] < first.shape[1] or not _is_regular(first):
        return None
    gram = np.eye(len(first))
    for block in blocks:
        # R_1' Z = V', so that Z' = V R_1^-1; the transposed block is laid out as LAPACK wants it.
        z = solve_triangular(first, block.T, trans="T", overwrite_b=True, check_finite=False)
        gram += z @ z.T
    upper = np.linalg.cholesky(gram, upper=True)
    return np.asarray(upper @ first) if _condition(upper) ** 2 < _WORST_GRAM else None


def _is_regular(r: Float[Array, "w w"]) -> bool:
    """Whether the columns, each at its own scale, are clearly independent."""
    lengths = np.linalg.norm(r, axis=0)
    return bool(lengths.min() > 0 and _condition(r / lengths) < _WORST_FIRST)


def _condition(r: Float[Array, "w w"]) -> float:
    """Condition number of a triangle in the 1-norm, by LAPACK's estimate, which costs next to nothing."""
    reciprocal, _ = dtrcon(r, norm="1", uplo="U")
    return 1.0 / reciprocal if reciprocal > 0 else float("inf")


def _check_same_rows(sources: list[Representation]) -> None:
    counts = [source.n for source in sources]
    if len(set(counts)) > 1:
        raise ShapeError(
            "two models must be given on the same rows, in the same order; got "
            f"{' and '.join(map(str, counts))} rows."
        )


@dataclass(frozen=True, eq=False)
class Span:
    """Where rows lie: the directions and lengths of their principal axes, and how many there are."""

    axes: Float[Array, "rank d"]
    singular: Float[Array, " r"]
    rank: int

    @classmethod
    def of(
        cls,
        r: Float[Array, "r d"],
        *,
        dtype: str,
        tolerance: float | None = None,
        magnitude: float = 0.0,
    ) -> Span:
        """Decompose a triangle.

        Parameters
        ----------
        tolerance
            Singular values below it, relative to the largest, count as zero.
        magnitude
            Norm of the rows before their mean was subtracted: what is below its rounding is zero as well.
        """
        _, singular, axes = np.linalg.svd(r, full_matrices=False)
        cutoff = default_tolerance(r.shape[1], dtype) if tolerance is None else tolerance
        least = max(cutoff * singular[0], 8.0 * 2.0**-52 * magnitude) if singular.size else 0.0
        rank = int(np.sum(singular > least))
        return cls(axes[:rank], singular, rank)

    @property
    def condition(self) -> float | None:
        """Longest over shortest axis of the span; None for a single point."""
        return float(self.singular[0] / self.singular[self.rank - 1]) if self.rank else None


def default_tolerance(width: int, dtype: str) -> float:
    """Singular values relative to the largest that rounding could have made.

    The larger of the elements' own rounding (a model in float32 says nothing below it) and that of the
    factorisation in float64.
    """
    own = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23}.get(dtype, 2.0**-52)
    return max(own, 8.0 * width * 2.0**-52)


def take(rows: Any, index: Int[Array, " k"]) -> Float[Array, "k d"]:
    """Some rows of anything the gate takes, in this order, in float64 on the host."""
    source = Representation.of(rows)
    if isinstance(source.source, RandomAccess):
        return np.asarray(to_host(source.take(index)), dtype=np.float64)
    taken = np.empty((len(index), source.d))
    start = 0
    for batch in source.batches(block_rows(source.d)):
        here = np.flatnonzero((index >= start) & (index < start + len(batch)))
        if here.size:
            taken[here] = to_host(batch)[index[here] - start]
        start += len(batch)
    return taken
