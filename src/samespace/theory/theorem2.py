r"""Theorem 2: a representation is a linear map of the other model's plus what the likelihoods disagree on.

For any two models, the second diverse in f* and g* (Nielsen et al. 2024, Theorem 2):
:math:`f^* = A f + h_f` and :math:`g^* = B g + h_g`, where :math:`h_f = L^{*-\top} \epsilon_y` and
:math:`\epsilon_{y_i}(x)` is the difference of the two models' log-odds of y_i against y_0. In rows, with D
the rows of differences at the anchors: ``F_star = F @ matrix + remainder``, ``matrix = (D_star^-1 D)^T``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.inference import share_over_folds
from samespace.measures.result import Result
from samespace.theory.anchors import AnchorDifferences
from samespace.theory.jackknife import group_sums
from samespace.theory.model_pair import ModelPair
from samespace.theory.place import namespace, unit

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.theory.model_pair import Choice
    from samespace.theory.second_moments import SecondMoments


@dataclass(frozen=True, eq=False, repr=False)
class LinearPart(Result):
    """One side of Theorem 2: the map, and how much of the starred representation it leaves.

    Attributes
    ----------
    matrix
        Acts on the right of the first model's rows.
    error_share, low, high
        E|h|^2 / E|f*|^2, and the ends of its interval over folds of the inputs. For g the labels
        are all there are, not a sample, and the ends are None.
    variance_share
        The same about the means: what is left when the mean of h is allowed as a shift, as b is for g.
    log_odds_share
        E|epsilon|^2 / E|D* f*|^2: the share in terms of log-odds, which no change of coordinates of either
        model alters.
    shift
        Mean of h. For g and equal likelihoods it is b; for f the theorem has no shift.
    anchors
        Rows of g (for f) or of f (for g), the pivot first; None when all were used.
    condition
        Condition number of the differences of the starred model at the anchors.
    n
        Rows that the shares are means over.
    """

    matrix: Float[Array, "p m"]
    error_share: float
    low: float | None
    high: float | None
    variance_share: float
    log_odds_share: float
    shift: Float[Array, " m"]
    anchors: Int[Array, " m+1"] | None
    condition: float
    n: int


@dataclass(frozen=True, eq=False)
class CloseToLinear:
    """Both sides of Theorem 2, and how far their maps are from being those of one A.

    Attributes
    ----------
    f, g
        The linear parts of f* and of g*.
    gap_joint
        Distance of A'B' from the identity, relative to its norm; None between models of different widths.
    """

    f: LinearPart
    g: LinearPart
    gap_joint: float | None

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-able values."""
        return {"f": self.f.to_dict(), "g": self.g.to_dict(), "gap_joint": self.gap_joint}


def theorem2(
    f: Any,
    g: Any = None,
    f_star: Any = None,
    g_star: Any = None,
    *,
    labels: Choice = None,
    inputs: Choice = None,
    level: float = 0.95,
) -> CloseToLinear:
    r"""Split f* into a linear map of f and an error made of differences of log-likelihoods; g* likewise.

    .. math:: f^*(x) = L^{*-\top}\big(L^\top f(x) + \epsilon_y(x)\big), \qquad
              g^*(y) = N^{*-\top}\big(N^\top g(y) + \epsilon_x(y)\big)

    with :math:`\epsilon_{y_i}(x) = f^*(x)'(g^*(y_i) - g^*(y_0)) - f(x)'(g(y_i) - g(y_0))`, a difference
    of log-odds, and likewise :math:`\epsilon_{x_i}(y)`. With ``labels="all"`` the map is the least-squares
    solution over all labels at once, the one whose log-odds err least.

    `log_odds_share` is invariant to the coordinates of both models; the others live in those of f*, g*.

    Parameters
    ----------
    f, g
        Values of the first model: rows of inputs, rows of labels; anything the gate takes, read in blocks.
        Or f a `ModelPair`, which also says how many folds the intervals use.
    f_star, g_star
        Those of the second model; its width may be another.
    labels, inputs
        Anchors: M + 1 row numbers, the pivot first; None for the best-conditioned choice; or ``"all"``.
    level
        Confidence of the interval of f's share.

    Notes
    -----
    The paper's body prints :math:`A = L^{*-1}L'^\top`; its proof, and algebra, give
    :math:`L^{*-\top}L'^\top`. Its Appendix C adds a constant c to :math:`\epsilon_x`: with
    :math:`\epsilon_x` defined by scalar products, as printed and as here, c is 0; `normaliser_shift` gives
    the c that log-likelihoods need.

    The shares are read off second moments, so that one below about 1e-15 times the squared condition
    number is rounding.

    It misleads when read as a bound: the theorem is an identity for *every* choice of anchors, and a large
    error term at one choice does not exclude a good linear map. "all" is the fairest choice, and the
    least-squares map between the representations (`samespace.compare`) leaves less by construction.

    References
    ----------
    Nielsen et al. 2024, Theorem 2, Eqs. 4-6, 38-53.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((200, 2)), rng.standard_normal((7, 2))
    >>> noisy = f + 0.1 * rng.standard_normal(f.shape)
    >>> split = theorem2(f, g, noisy, g, labels="all")
    >>> bool(split.f.error_share < 0.02), bool(split.g.variance_share < 0.2)
    (True, True)
    """
    pair = ModelPair.of(f, g, f_star, g_star)
    from_labels = AnchorDifferences.of_labels(pair, labels)
    from_inputs = AnchorDifferences.of_inputs(pair, inputs)
    interval = _interval(pair, from_labels.matrix, level=level)
    f_part = _part(pair.second_f, from_labels, interval)
    g_part = _part(pair.second_g, from_inputs, (None, None))
    return CloseToLinear(f_part, g_part, _joint_gap(from_labels.matrix, from_inputs.matrix))


def _part(
    seconds: SecondMoments, anchors: AnchorDifferences, interval: tuple[float | None, float | None]
) -> LinearPart:
    """Read the shares off the second moments."""
    matrix, plain = anchors.matrix, seconds.about_zero()
    odds = ((anchors.star.T @ anchors.star) * plain.star).sum()
    return LinearPart(
        matrix=to_host(matrix),
        error_share=plain.error(matrix) / plain.squared_star,
        low=interval[0],
        high=interval[1],
        variance_share=seconds.error(matrix) / seconds.squared_star,
        log_odds_share=plain.odds_gap(anchors.plain, anchors.star) / float(odds),
        shift=to_host(seconds.mean_star - seconds.mean @ matrix),
        anchors=anchors.index,
        condition=anchors.condition,
        n=seconds.n,
    )


def _interval(
    pair: ModelPair, matrix: Float[Array, "p m"], *, level: float
) -> tuple[float | None, float | None]:
    """Interval of f's share over groups of inputs."""
    squares = []
    for rows, rows_star, _ in pair.paired_blocks():
        xp, left = namespace(rows), rows_star - rows @ matrix
        squares.append(
            xp.stack([xp.linalg.vecdot(left, left), xp.linalg.vecdot(rows_star, rows_star)])
        )
    errors, wholes = group_sums(np.hstack([to_host(block) for block in squares]), pair.group)
    if len(errors) < 2:
        return None, None
    interval = share_over_folds(errors, wholes, level=level).interval
    return max(interval.low, 0.0), interval.high


def _joint_gap(matrix_f: Float[Array, "p m"], matrix_g: Float[Array, "p m"]) -> float | None:
    """Of A = matrix_f' and B' = matrix_g: A B' is the identity for one and the same A."""
    if matrix_f.shape[0] != matrix_f.shape[1]:
        return None
    identity, norm = unit(matrix_f, matrix_f.shape[0]), namespace(matrix_f).linalg.matrix_norm
    return float(norm(matrix_f.T @ matrix_g - identity) / norm(identity))
