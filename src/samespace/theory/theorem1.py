r"""Theorem 1 made by hand: the map between two models of equal likelihoods, written down from f and from g.

If p = p*, and the starred model is diverse in f* and g*, then (Nielsen et al. 2024, Theorem 1; Roeder et
al. 2021, Theorem 1) :math:`f^* = A f` and :math:`g^* = A^{-\top} g + b`. In this package rows are samples
and maps act on the right: ``F_star = F @ matrix_f`` with ``matrix_f`` the transpose of the papers' A, and
``G_star = G @ matrix_g + bias`` with ``matrix_g`` the inverse of A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import ShapeError
from samespace.measures.result import Result
from samespace.theory.anchors import AnchorDifferences
from samespace.theory.model_pair import ModelPair
from samespace.theory.tables import table

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.theory.model_pair import Choice


@dataclass(frozen=True, eq=False, repr=False)
class LinearEquivalence(Result):
    """The maps that Theorem 1 promises, each found in two ways, and how far they are from agreeing.

    Attributes
    ----------
    matrix_f, matrix_g, bias
        The map of f, made from *g* at M + 1 labels; the map of g, made from *f* at M + 1 inputs, and its
        shift b.
    regression_f, regression_g, regression_bias
        The same by least squares over all inputs (without intercept: f has no shift) and all labels.
    unexplained_f, unexplained_g
        Share of f* (about zero) and of g* (about its mean) that the maps of the theorem leave.
    gap_f, gap_g
        Relative distance (Frobenius) of the theorem's maps from the regressions.
    gap_joint
        Distance of matrix_f' matrix_g from the identity, relative to the identity's norm: whether f and g
        agree on *one* A. Two models may have mean CCA 1 for f and for g and fail here.
    labels, inputs
        The rows of g and of f used, pivots first; None for all.
    condition_g, condition_f
        Condition numbers of the differences of g* and f* there.
    """

    matrix_f: Float[Array, "m m"]
    matrix_g: Float[Array, "m m"]
    bias: Float[Array, " m"]
    regression_f: Float[Array, "m m"]
    regression_g: Float[Array, "m m"]
    regression_bias: Float[Array, " m"]
    unexplained_f: float
    unexplained_g: float
    gap_f: float
    gap_g: float
    gap_joint: float
    labels: Int[Array, " m+1"] | None
    inputs: Int[Array, " m+1"] | None
    condition_g: float
    condition_f: float

    @property
    def gap(self) -> float:
        """The largest of the three gaps: zero to rounding exactly when the theorem's conclusion holds."""
        return max(self.gap_f, self.gap_g, self.gap_joint)


def theorem1(
    f: Any,
    g: Any = None,
    f_star: Any = None,
    g_star: Any = None,
    *,
    labels: Choice = None,
    inputs: Choice = None,
) -> LinearEquivalence:
    r"""Construct A from g alone and B from f alone; for equal likelihoods they and regression agree.

    .. math:: A = (L L^{*-1})^\top, \qquad B = (N N^{*-1})^\top = A^{-\top}, \qquad b = g^*(y) - B g(y),

    with the differences of g at the chosen labels as columns of L and those of f at the chosen inputs as
    columns of N. In rows, with D the rows of differences: ``matrix_f = (D_star^-1 D)^T``.

    Invariant to nothing: each model's coordinates are what the maps translate.

    Parameters
    ----------
    f, g
        Values of the first model: (n, M) on the inputs, (K, M) on the labels; or f a `ModelPair`.
    f_star, g_star
        Those of the second, on the same inputs and labels, of the same width.
    labels, inputs
        M + 1 row numbers each, the pivot first; by default those that condition the differences of g* and
        f* best (`samespace.theory.diversity`). ``"all"``: least squares over all.

    Notes
    -----
    It misleads when the likelihoods are *not* equal: the maps then depend on the choice of labels and inputs,
    without bound, and only the gaps say so; use `samespace.theory.theorem2`. Equal losses are not equal
    likelihoods.

    Roeder et al. state g' = B g* without a shift; shifting g by a constant changes no probability, so b is
    needed (their Eq. 22 drops it).

    References
    ----------
    Nielsen et al. 2024, Theorem 1, Eqs. 23-24, 31-37; Roeder et al. 2021, Eqs. 6-7.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((50, 2)), rng.standard_normal((7, 2))
    >>> A = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> found = theorem1(f, g, f @ A.T, g @ np.linalg.inv(A) + 3.0)
    >>> bool(np.allclose(found.matrix_f, A.T)), bool(found.gap < 1e-12)
    (True, True)
    """
    pair = ModelPair.of(f, g, f_star, g_star)
    if pair.f.d != pair.f_star.d:
        raise ShapeError(
            f"Theorem 1 links models of one width M; got {pair.f.d} and {pair.f_star.d}. For models of "
            "different widths use samespace.theory.theorem2 or samespace.theory.displaced_map."
        )
    from_labels = AnchorDifferences.of_labels(pair, labels)
    from_inputs = AnchorDifferences.of_inputs(pair, inputs)
    F, G, F_star, G_star = (table(rows) for rows in (pair.f, pair.g, pair.f_star, pair.g_star))
    matrix_f, matrix_g = to_host(from_labels.matrix), to_host(from_inputs.matrix)
    bias = (G_star - G @ matrix_g).mean(axis=0)
    regression_f = np.linalg.lstsq(F, F_star, rcond=None)[0]
    G_mean, G_star_mean = G.mean(axis=0), G_star.mean(axis=0)
    regression_g = np.linalg.lstsq(G - G_mean, G_star - G_star_mean, rcond=None)[0]
    return LinearEquivalence(
        matrix_f=matrix_f,
        matrix_g=matrix_g,
        bias=bias,
        regression_f=regression_f,
        regression_g=regression_g,
        regression_bias=G_star_mean - G_mean @ regression_g,
        unexplained_f=_share(F_star - F @ matrix_f, F_star),
        unexplained_g=_share(G_star - G @ matrix_g - bias, G_star - G_star_mean),
        gap_f=_distance(matrix_f, regression_f),
        gap_g=_distance(matrix_g, regression_g),
        gap_joint=_distance(matrix_f.T @ matrix_g, np.eye(len(matrix_f))),
        labels=from_labels.index,
        inputs=from_inputs.index,
        condition_g=from_labels.condition,
        condition_f=from_inputs.condition,
    )


def _share(rest: Float[Array, "n m"], whole: Float[Array, "n m"]) -> float:
    return float(np.sum(rest**2) / np.sum(whole**2))


def _distance(found: Float[Array, "m m"], other: Float[Array, "m m"]) -> float:
    return float(np.linalg.norm(found - other) / np.linalg.norm(other))
