r"""Affine maps of low rank: when only some directions of the two spaces speak to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from samespace.errors import OptionError
from samespace.maps.affine import RidgePath, checked_ridge, choose_ridge, filled_folds
from samespace.maps.base import Map, bias_through_means, no_inverse
from samespace.moments import Moments

if TYPE_CHECKING:
    from typing import Self

    from jaxtyping import Float
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class LowRank(Map):
    r"""``Y = X A P + b``: the affine map followed by the projection on its r strongest output directions.

    P projects on the leading eigenvectors of :math:`A'(S_{xx} + \lambda I)A`, which makes AP the minimiser of
    the ridge objective among matrices of rank r (reduced-rank regression, Izenman 1975). Without ``rank``,
    the smallest one is taken whose held-out unexplained share is within ``tolerance`` of the full map's.

    Examples
    --------
    >>> import numpy as np, samespace as ss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 6))
    >>> Y = X[:, :2] @ rng.standard_normal((2, 5)) + 0.01 * rng.standard_normal((500, 5))
    >>> ss.maps.LowRank.fit(X, Y).rank
    2
    """

    ridge: float
    rank: int

    kind: ClassVar[str] = "low_rank"

    @classmethod
    def fit(
        cls,
        X: Any,
        Y: Any = None,
        *,
        rank: int | None = None,
        ridge: float | None = None,
        tolerance: float = 0.01,
    ) -> Self:
        moments = Moments.of(X, Y)
        largest = min(moments.d_x, moments.d_y)
        if rank is not None and not 1 <= rank <= largest:
            raise OptionError(
                f"rank={rank}; widths {moments.d_x} and {moments.d_y} allow 1 to {largest}."
            )
        ridge = choose_ridge(moments) if ridge is None else checked_ridge(ridge)
        if rank is None:
            rank = _smallest_rank(moments, ridge, tolerance=tolerance)
        matrix, directions = _full(moments, ridge)
        return cls._projected(moments, matrix, directions, rank=rank, ridge=ridge)

    @classmethod
    def _projected(
        cls, moments: Moments, matrix: Array, directions: Array, *, rank: int, ridge: float
    ) -> Self:
        kept = directions[:, :rank]
        projected = (matrix @ kept) @ kept.T
        return cls(projected, bias_through_means(moments, projected), ridge, rank)

    def _invert(self) -> tuple[Array, Array]:
        raise no_inverse(self.kind, f"it keeps {self.rank} of {self.d_x} dimensions")

    def push(self, S: Array) -> Array:
        pushed: Array = self.matrix.T @ S @ self.matrix
        return pushed

    def spread(self, S: Array) -> float:
        return float(np.vdot(self.matrix, S @ self.matrix))

    def _details(self) -> dict[str, Any]:
        return {"ridge": self.ridge, "rank": self.rank}


def _full(moments: Moments, ridge: float) -> tuple[Float[Array, "d_x d_y"], Float[Array, "d_y r"]]:
    """The ridge map, and its output directions from strongest to weakest."""
    path = RidgePath.of(moments)
    # With lambda, A'(Sxx + lambda)A = C' (D + lambda)^-1 C, so its eigenvectors are right singular vectors.
    strengths = np.sqrt(path.shrinkage(ridge))[:, None] * path.rotated
    directions = np.linalg.svd(strengths, full_matrices=False)[2].T
    return path.matrix(ridge), directions


def _smallest_rank(moments: Moments, ridge: float, *, tolerance: float) -> int:
    """Held-out error by rank, over the folds; the smallest rank that is close to the full map's."""
    if moments.folds < 2:
        raise OptionError("choosing the rank needs Moments with at least 2 folds; give rank=.")
    errors = np.zeros(min(moments.d_x, moments.d_y))
    for k in filled_folds(moments):
        errors += _errors_by_rank(moments.without(k), moments.fold(k), ridge)
    close = errors <= errors[-1] + tolerance * np.trace(moments.Syy)
    return int(np.flatnonzero(close)[0]) + 1


def _errors_by_rank(train: Moments, test: Moments, ridge: float) -> Float[Array, " r"]:
    """Squared test error of the ranks 1, 2, ...: the directions are orthonormal, so each adds its part."""
    matrix, directions = _full(train, ridge)
    mapped = matrix @ directions
    gap_x, gap_y = test.mean_x - train.mean_x, test.mean_y - train.mean_y
    shift = gap_x @ mapped
    saved = 2 * np.einsum("ij,ij->j", mapped, test.Sxy @ directions)
    saved -= np.einsum("ij,ij->j", mapped, test.Sxx @ mapped)
    saved += test.n * (2 * (gap_y @ directions) * shift - shift**2)
    errors: Array = np.trace(test.Syy) + test.n * (gap_y @ gap_y) - np.cumsum(saved)
    return errors
