r"""What the likelihood sees of a representation when diversity fails: effective complexity and its map.

A likelihood knows f(x) only through its products with the *displaced unembeddings*
:math:`g_0(y) = g(y) - g(y_0)`: two models are equal exactly when
:math:`f(x)'g_0(y) = f^*(x)'g_0^*(y)` for all x and y. What of f lies outside the span N of the g_0 is
free, and so is its width; what lies inside is determined up to an invertible linear map ("all or none").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import DegenerateError
from samespace.measures.result import Result
from samespace.theory.model_pair import ModelPair
from samespace.theory.place import beside, namespace
from samespace.theory.triangle import Span, Triangle, default_tolerance

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class EffectiveComplexity(Result):
    """How many dimensions of a model its own likelihood uses.

    Attributes
    ----------
    complexity
        Numerical rank of the pivoted logits.
    dim, count, n
        Width M, number of labels, number of inputs.
    rank_f, rank_g
        Rank of the embeddings, and of the displaced unembeddings.
    spectrum
        Singular values of the centred logits over sqrt(n K): root mean square logits along each direction.
    visible
        Orthonormal columns: ``f @ visible`` is the part of f inside the span of the displaced unembeddings.
    """

    complexity: int
    dim: int
    count: int
    n: int
    rank_f: int
    rank_g: int
    spectrum: Float[Array, " m"]
    visible: Float[Array, "m r"]


def effective_complexity(f: Any, g: Any, *, tolerance: float | None = None) -> EffectiveComplexity:
    r"""Count the dimensions that a model's distribution uses: the rank of its pivoted logits.

    The rank of :math:`[f(x)'(g(y) - g(y_0))]_{x,y}`, whichever label is the pivot; it is M when both
    diversity conditions hold (they ask for more: that f spans M dimensions *about its mean*). The n x K
    matrix is not formed: its singular values are those of a product of two M x M triangles.

    Depends on the distribution alone: invariant to :math:`f \to Af,\ g \to A^{-\top}g + b`.

    Parameters
    ----------
    f, g
        Values of the model: rows of inputs, rows of labels; anything the gate takes, read in blocks.
    tolerance
        Singular values below it, relative to the largest, count as zero; by default rounding.

    Notes
    -----
    It misleads on trained models, whose spectra decay without a gap: the rank then says how precise the
    floating point numbers are. Look at `spectrum`.

    References
    ----------
    Marconato et al. 2024, "All or None: Identifiable Linear Properties of Next-Token Predictors in Language
    Modeling".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> effective_complexity(rng.standard_normal((50, 5)), rng.standard_normal((3, 5))).complexity
    2
    """
    of_f, of_g = Triangle.of(f), Triangle.of(g)
    span_f = Span.of(of_f.plain, dtype=of_f.dtype, tolerance=tolerance)
    span_g = of_g.span(tolerance=tolerance)
    linalg = namespace(of_f.plain).linalg
    singular = to_host(linalg.svdvals(of_f.plain @ of_g.centred.T))
    cutoff = tolerance
    if cutoff is None:
        cutoff = max(default_tolerance(t.widths[0], t.dtype) for t in (of_f, of_g))
    rank = int(np.sum(singular > cutoff * singular.max(initial=0.0)))
    return EffectiveComplexity(
        complexity=min(rank, span_f.rank, span_g.rank),
        dim=of_f.widths[0],
        count=of_g.n,
        n=of_f.n,
        rank_f=span_f.rank,
        rank_g=span_g.rank,
        spectrum=singular / np.sqrt(of_f.n * of_g.n),
        visible=to_host(span_g.axes.T),
    )


@dataclass(frozen=True, eq=False, repr=False)
class DisplacedMap(Result):
    """The map between the visible parts of two models' embeddings, and whether it fits.

    Attributes
    ----------
    matrix
        Acts on the right: ``f @ matrix`` is the visible part of f*, to the extent that likelihoods agree.
    rank, rank_star
        Dimensions of the spans of the two models' displaced unembeddings.
    unexplained
        Share of the visible part of f* that the map leaves; zero for equal likelihoods, whatever the widths.
    condition
        Condition number of the map from span to span; None when their dimensions differ, so that it has no
        inverse.
    invisible, invisible_star
        Share of each model's squared embeddings outside its span: what its likelihood does not constrain.
    """

    matrix: Float[Array, "p m"]
    rank: int
    rank_star: int
    unexplained: float
    condition: float | None
    invisible: float
    invisible_star: float


def displaced_map(f: Any, g: Any = None, f_star: Any = None, g_star: Any = None) -> DisplacedMap:
    r"""Link the parts of two embeddings that their likelihoods see, diverse or not, of equal width or not.

    With N, N* the spans of the displaced unembeddings and P the projections on them, equal likelihoods imply

    .. math:: P_{N^*} f^*(x) = (G_0^{*})^{+} G_0\, P_N f(x),

    and, the roles exchanged, an inverse; nothing is implied of the rest of f and f*.

    Parameters
    ----------
    f, g, f_star, g_star
        Values of the two models on the same inputs and labels, or a `ModelPair`; widths may differ.

    Notes
    -----
    For unequal likelihoods the map is the least-squares one over all labels, and `unexplained` is the share
    of Theorem 2's error term. A large `invisible` share means that comparing f and f* themselves (with CCA,
    say) compares what training left to chance.

    References
    ----------
    Marconato et al. 2024, "All or None".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((50, 2)), rng.standard_normal((6, 2))
    >>> wide_f = np.column_stack([f, rng.standard_normal((50, 3))])
    >>> wide_g = np.column_stack([g, np.ones((6, 3))])
    >>> found = displaced_map(wide_f, wide_g, f, g)
    >>> found.rank, found.rank_star, bool(found.unexplained < 1e-20)
    (2, 2, True)
    """
    pair = ModelPair.of(f, g, f_star, g_star)
    # Matrices of the models' width: on the host, whose least squares tell ranks.
    star, own = np.split(to_host(pair.joint_labels.centred), [pair.g_star.d], axis=1)
    magnitude = float(np.linalg.norm(to_host(pair.joint_labels.plain)))
    span = Span.of(own, dtype=pair.g.dtype, magnitude=magnitude)
    span_star = Span.of(star, dtype=pair.g_star.dtype, magnitude=magnitude)
    if not (span.rank and span_star.rank):
        raise DegenerateError(
            "All labels of a model have the same vector, so its likelihood is uniform and sees nothing of f."
        )
    coordinates = (star @ span_star.axes.T, own @ span.axes.T)
    inner = np.linalg.lstsq(*coordinates, rcond=None)[0].T  # (rank, rank_star), span to span
    matrix = span.axes.T @ inner @ span_star.axes
    seen, seen_star, error = _squares(pair, span, span_star, matrix)
    return DisplacedMap(
        matrix=matrix,
        rank=span.rank,
        rank_star=span_star.rank,
        unexplained=error / seen_star[1],
        condition=float(np.linalg.cond(inner)) if span.rank == span_star.rank else None,
        invisible=max(1.0 - seen[1] / seen[0], 0.0),
        invisible_star=max(1.0 - seen_star[1] / seen_star[0], 0.0),
    )


def _squares(
    pair: ModelPair, span: Span, span_star: Span, matrix: Float[Array, "p m"]
) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Squared lengths of both embeddings, whole and inside their spans, and of what the map leaves."""
    whole, inside = np.zeros(2), np.zeros(2)
    error = 0.0
    for rows, rows_star, _ in pair.paired_blocks():
        axes, axes_star = beside(rows, span.axes), beside(rows, span_star.axes)
        seen, seen_star = rows @ axes.T, rows_star @ axes_star.T
        whole += float((rows**2).sum()), float((rows_star**2).sum())
        inside += float((seen**2).sum()), float((seen_star**2).sum())
        error += float(((seen_star @ axes_star - rows @ beside(rows, matrix)) ** 2).sum())
    return (float(whole[0]), float(inside[0])), (float(whole[1]), float(inside[1])), error
