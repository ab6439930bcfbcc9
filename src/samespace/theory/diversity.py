r"""Diversity: whether a model's labels (or inputs) span its space, and which of them span it best.

Every theorem about the canonical family needs :math:`y_0, \dots, y_M` such that the M differences
:math:`g(y_i) - g(y_0)` are linearly independent, and the same of f. Whether they exist is a matter of rank;
which to take is a matter of rounding, since the theorems divide by the matrix L of these differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import DiversityError, OptionError
from samespace.measures.result import Result
from samespace.representation import Representation
from samespace.theory import choice
from samespace.theory.place import chosen_rows, double, namespace
from samespace.theory.triangle import Span, Triangle, block_rows, take

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

Verdict = Literal["holds", "ill-conditioned", "degenerate", "too few"]
Method = Literal["auto", "qr", "exchange", "enumerate", "resample"]

MAX_CONDITION = 1e6
"""Beyond it rounding of float32 values (6e-8) reaches a tenth of what L's inverse returns."""

_ENUMERABLE = 20_000
_SHORTLIST_PER_POINT = 4
_RESAMPLING_TRIES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Diversity(Result):
    """Whether the differences of these vectors span their space, and the best choice of them.

    Attributes
    ----------
    verdict
        ``"holds"``; ``"ill-conditioned"`` (it holds on paper, and rounding undoes it); ``"degenerate"``
        (enough vectors, which lie in a smaller affine subspace); ``"too few"`` (no M + 1 vectors at all).
    reason
        One sentence with the numbers that decided.
    count, dim
        The number K of vectors and their width M.
    rank
        Dimension of the affine hull: rank of the differences.
    chosen
        Row numbers of rank + 1 vectors, the pivot y_0 first.
    condition
        Condition number of their differences, within the affine hull; None when the hull is a point.
    cloud_condition
        The same of *all* vectors about their mean.
    method
        How they were chosen, and among how many.
    """

    verdict: Verdict
    reason: str
    count: int
    dim: int
    rank: int
    chosen: Int[Array, " r"]
    condition: float | None
    cloud_condition: float | None
    method: str

    @property
    def holds(self) -> bool:
        """Whether Definition 1 is met (an ill-conditioned choice meets it)."""
        return self.rank == self.dim

    def require(self) -> Int[Array, " m+1"]:
        """Return the chosen row numbers, or raise `DiversityError` with the reason."""
        if not self.holds:
            raise DiversityError(self.reason)
        return self.chosen


def diversity(
    vectors: Any,
    *,
    of: Literal["labels", "inputs"] = "labels",
    method: Method = "auto",
    rng: np.random.Generator | None = None,
    tolerance: float | None = None,
    max_condition: float = MAX_CONDITION,
    triangle: Triangle | None = None,
) -> Diversity:
    r"""Tell whether M + 1 of the vectors span R^M by their differences, and choose them well.

    For labels, pass g (K, M): Definition 1 asks for :math:`L = [g(y_1)-g(y_0), \dots, g(y_M)-g(y_0)]`
    to be invertible. For inputs pass f (n, M): the same of N. The verdict does not change under an
    invertible linear map or a shift of the vectors; the condition number does.

    Parameters
    ----------
    vectors
        One row per label or input: an array, a path, or a Representation; read in blocks.
    of
        What the rows are, for the wording.
    method
        How to choose. ``"enumerate"`` tries every set and every pivot; ``"exchange"`` starts from a pivoted
        QR and exchanges one vector at a time while the condition number falls; ``"qr"`` stops at the start;
        ``"resample"`` draws sets until one is well conditioned, as Roeder et al. propose, and needs `rng`.
        ``"auto"`` enumerates up to 20,000 choices and exchanges beyond.
    tolerance
        Singular values below it, relative to the largest, count as zero; by default rounding.
    max_condition
        Condition number of the differences beyond which the verdict is "ill-conditioned".
    triangle
        The `Triangle` of the vectors, where it is known already.

    Notes
    -----
    Of more than 4 (M + 1) vectors only the 4 (M + 1) of the largest leverage (Mahalanobis distance from
    the mean) are candidates for ``"qr"`` and ``"exchange"``: vertices of large simplices lie far out.

    The choice misleads when read as a property of the *model*: condition numbers depend on the coordinates
    of the representation, which the likelihood leaves free up to an invertible map.

    References
    ----------
    Nielsen et al. 2024, Definition 1; Roeder et al. 2021, Sections 3.2 and 3.4; Khemakhem et al. 2020.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> diversity(square).verdict, diversity(square).rank
    ('holds', 2)
    >>> diversity(square[:2]).verdict, diversity(square[:2]).rank
    ('too few', 1)
    """
    triangle = Triangle.of(vectors) if triangle is None else triangle
    span = triangle.span(tolerance=tolerance)
    count, dim = triangle.n, sum(triangle.widths)
    if span.rank == 0:
        chosen, method_used, found = np.zeros(1, dtype=np.intp), "one point", None
    else:
        chosen, method_used = _choose(vectors, triangle, span, method, rng, max_condition)
        found = choice.condition(_coordinates(take(vectors, chosen), triangle, span))
    verdict = _verdict(count, dim, span.rank, found, max_condition)
    return Diversity(
        verdict=verdict,
        reason=_reason(verdict, count, dim, span.rank, found, of),
        count=count,
        dim=dim,
        rank=span.rank,
        chosen=chosen,
        condition=found,
        cloud_condition=span.condition,
        method=method_used,
    )


def _choose(
    vectors: Any,
    triangle: Triangle,
    span: Span,
    method: Method,
    rng: np.random.Generator | None,
    enough: float,
) -> tuple[Int[Array, " r"], str]:
    """Row numbers of the choice, pivot first, and how it was made."""
    count, size = triangle.n, span.rank + 1
    if method == "auto":
        few = choice.number_of_sets(count, span.rank) <= _ENUMERABLE
        method = "enumerate" if few else "exchange"
    if method == "resample":
        return _resample(vectors, triangle, span, rng, enough)
    if method not in ("qr", "exchange", "enumerate"):
        raise OptionError(
            f"method={method!r}; write 'auto', 'qr', 'exchange', 'enumerate' or 'resample'."
        )
    if method == "enumerate":
        points = _coordinates(take(vectors, np.arange(count)), triangle, span)
        return choice.by_enumeration(points), f"best of all sets of {count}"
    candidates = _of_largest_leverage(vectors, triangle, span, _SHORTLIST_PER_POINT * size)
    points = _coordinates(take(vectors, candidates), triangle, span)
    start, spans = choice.by_pivoted_qr(points)
    if not spans:
        # The vectors farthest out are copies of a few, or lie in one plane: others have to complete them.
        candidates = np.union1d(candidates, _spanning(vectors, triangle, span))
        points = _coordinates(take(vectors, candidates), triangle, span)
        start, _ = choice.by_pivoted_qr(points)
    if method == "qr":
        start = choice.best_pivot_first(points, start)
        return candidates[start], f"qr of {len(candidates)} of {count}"
    best, made = choice.by_exchanges(points, start)
    return candidates[best], f"qr and {made} exchanges of {len(candidates)} of {count}"


def _resample(
    vectors: Any,
    triangle: Triangle,
    span: Span,
    rng: np.random.Generator | None,
    enough: float,
) -> tuple[Int[Array, " r"], str]:
    if rng is None:
        raise OptionError("method='resample' draws sets: pass rng=np.random.default_rng(seed).")

    def judge(rows: Int[Array, " r"]) -> float:
        return choice.condition(_coordinates(take(vectors, rows), triangle, span))

    best, tries = choice.by_resampling(
        triangle.n, span.rank + 1, rng, judge, tries=_RESAMPLING_TRIES, enough=enough
    )
    return best, f"best of {tries} random sets of {triangle.n}"


def _coordinates(rows: Float[Array, "k d"], triangle: Triangle, span: Span) -> Float[Array, "k r"]:
    """Coordinates within the affine hull, along its principal axes."""
    return span.coordinates(rows - triangle.mean)


def _of_largest_leverage(
    vectors: Any, triangle: Triangle, span: Span, keep: int
) -> Int[Array, " keep"]:
    source = Representation.of(vectors)
    if source.n <= keep:
        return np.arange(source.n)
    rows = block_rows(source.d, on_gpu=source.source.on_gpu)
    leverage = [
        to_host(span.leverage(double(batch) - triangle.mean)) for batch in source.batches(rows)
    ]
    return np.sort(np.argpartition(np.concatenate(leverage), -keep)[-keep:])


def _spanning(vectors: Any, triangle: Triangle, span: Span) -> Int[Array, " r"]:
    """Rows that span what all span: the choice of each block and of those chosen before it."""
    source, size, start = Representation.of(vectors), span.rank + 1, 0
    rows = block_rows(source.d, at_least=4 * size, on_gpu=source.source.on_gpu)
    index, points = np.zeros(0, dtype=np.intp), None
    for batch in source.batches(rows):
        here = span.coordinates(double(batch) - triangle.mean)
        points = here if points is None else namespace(here).concat([points, here])
        index = np.concatenate([index, np.arange(start, start + len(batch))])
        start += len(batch)
        if len(index) > size:
            best, _ = choice.by_pivoted_qr(points)
            index, points = index[best], chosen_rows(points, best)
    return index


def _verdict(
    count: int,
    dim: int,
    rank: int,
    found: float | None,
    most: float,
) -> Verdict:
    if count < dim + 1:
        return "too few"
    if rank < dim:
        return "degenerate"
    return "holds" if found is not None and found <= most else "ill-conditioned"


def _reason(verdict: Verdict, count: int, dim: int, rank: int, found: float | None, of: str) -> str:
    """Say what decided, and what follows for the representation on the other side."""
    vectors, other = ("g", "f") if of == "labels" else ("f", "g")
    if verdict == "too few":
        size = "K" if of == "labels" else "n"
        return (
            f"{count} {of} have at most {count - 1} independent differences and M = {dim} needs {dim}, so "
            f"{size} >= {dim + 1}: equal likelihoods do not determine {other} up to a linear map."
        )
    if verdict == "degenerate":
        return (
            f"{count} {of} would be enough for M = {dim}, but the differences of their {vectors} span only "
            f"{rank} of {dim} dimensions: outside of these {other} is not determined by the likelihood."
        )
    words = f"the differences of {dim + 1} of {count} {of} span all {dim} dimensions of {vectors}"
    if verdict == "ill-conditioned":
        return (
            f"{words} on paper, but rounding is multiplied by their condition number {found:.3g}."
        )
    return f"{words}, with condition number {found:.3g}."
