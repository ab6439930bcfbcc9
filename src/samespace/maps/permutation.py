r"""Generalised permutations: each new coordinate is one old coordinate, signed, scaled and shifted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from samespace.maps.base import Map, bias_through_means, no_inverse, same_width
from samespace.moments import Moments

if TYPE_CHECKING:
    from typing import Self

    from jaxtyping import Float, Int
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class Permutation(Map):
    r"""``Y[:, j] = c_j X[:, order[j]] + b_j``: what contrastive training recovers latents up to.

    The assignment maximises the variance explained,
    :math:`\sum_j S_{xy}[\pi(j), j]^2 / S_{xx}[\pi(j), \pi(j)]` (with ``scaled``; without, each :math:`c_j`
    is a sign), by the Hungarian algorithm: the best of all permutations, not a greedy matching.

    Notes
    -----
    Weighting by variance explained rather than by bare |correlation| makes the fitted map the least-squares
    one of its class. The two agree wherever the class really holds; the MCC, which reports correlations,
    matches by correlation.

    Examples
    --------
    >>> import numpy as np, samespace as ss
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> found = ss.maps.Permutation.fit(X, X[:, [2, 0, 1]] * [1.0, -2.0, 5.0])
    >>> found.order.tolist(), found.scales.round(6).tolist()
    ([2, 0, 1], [1.0, -2.0, 5.0])
    """

    kind: ClassVar[str] = "permutation"

    @classmethod
    def fit(cls, X: Any, Y: Any = None, *, scaled: bool = True, shifted: bool = True) -> Self:
        moments = Moments.of(X, Y)
        d = same_width(moments, cls.kind)
        slopes = _slopes(moments, scaled=scaled)
        order = best_assignment(_gain(moments, slopes))
        columns = np.arange(d)
        matrix = np.zeros((d, d))
        matrix[order, columns] = slopes[order, columns]
        bias = bias_through_means(moments, matrix) if shifted else np.zeros(d)
        return cls(matrix, bias)

    @cached_property
    def order(self) -> Int[Array, " d"]:
        """For each new coordinate, the old coordinate it comes from."""
        order: Array = np.abs(self.matrix).argmax(axis=0)
        # A column of zeros (a constant coordinate) names none: it takes one that the others left over.
        empty = ~self.matrix.any(axis=0)
        left_over = np.setdiff1d(np.arange(self.d_x), order[~empty])
        order[empty] = left_over[: empty.sum()]
        return order

    @cached_property
    def scales(self) -> Float[Array, " d"]:
        """For each new coordinate, the signed factor on the old one."""
        scales: Array = self.matrix[self.order, np.arange(self.d_y)]
        return scales

    def _invert(self) -> tuple[Array, Array]:
        if not np.all(self.scales):
            zero = np.flatnonzero(self.scales == 0)
            raise no_inverse(self.kind, f"the scales of coordinates {zero[:5].tolist()} are zero")
        inverse = np.zeros_like(self.matrix)
        inverse[np.arange(self.d_y), self.order] = 1 / self.scales
        return inverse, -self.bias @ inverse

    def push(self, S: Array) -> Array:
        pushed: Array = S[np.ix_(self.order, self.order)] * np.outer(self.scales, self.scales)
        return pushed

    def spread(self, S: Array) -> float:
        return float(self.scales**2 @ np.diag(S)[self.order])

    def _details(self) -> dict[str, Any]:
        return {}


def best_assignment(gain: Float[Array, "d d"]) -> Int[Array, " d"]:
    """For each column the row assigned to it, so that the total gain is the largest of all permutations."""
    from scipy.optimize import linear_sum_assignment

    columns, rows = linear_sum_assignment(gain.T, maximize=True)
    order = np.empty(len(columns), dtype=np.intp)
    order[columns] = rows
    return order


def _slopes(moments: Moments, *, scaled: bool) -> Float[Array, "d d"]:
    """The best factor of every pair of coordinates, were they matched."""
    if not scaled:
        return np.where(moments.Sxy < 0, -1.0, 1.0)
    spread = np.diag(moments.Sxx)[:, None]
    return np.divide(moments.Sxy, spread, out=np.zeros_like(moments.Sxy), where=spread > 0)


def _gain(moments: Moments, slopes: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Squared error saved by matching each pair: 2cS_xy - c^2 S_xx at its best factor c."""
    gain: Array = slopes * (2 * moments.Sxy - slopes * np.diag(moments.Sxx)[:, None])
    return gain
