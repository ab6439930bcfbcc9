r"""Affine maps: the class that identifiability theory promises, with a ridge chosen on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from samespace.errors import OptionError, TooFewRowsError
from samespace.maps.base import Map, bias_through_means, no_inverse
from samespace.moments import Moments

if TYPE_CHECKING:
    from typing import Self

    from jaxtyping import Float
    from numpy import ndarray as Array

RIDGES = (0.0, *np.logspace(-8, 2, 11).tolist())
"""Penalties tried, in units of the mean variance of X's coordinates, so that X's scale does not matter."""

_MAX_CONDITION = 1e10
"""Beyond it the inverse of an affine map would amplify float32 rounding to nonsense."""


@dataclass(frozen=True, eq=False, repr=False)
class Affine(Map):
    r"""``Y = X A + b`` with :math:`A = (S_{xx} + \lambda I)^{+} S_{xy}`.

    Parameters of :meth:`fit`: ``ridge`` is :math:`\lambda` in units of :math:`\operatorname{tr} S_{xx}/d_x`;
    left out, it is the one of :data:`RIDGES` with the smallest held-out error over the folds, in closed form
    and without another pass over the rows.

    Examples
    --------
    >>> import numpy as np, samespace as ss
    >>> rng = np.random.default_rng(0)
    >>> X, A = rng.standard_normal((200, 3)), rng.standard_normal((3, 5))
    >>> bool(np.allclose(ss.maps.Affine.fit(X, X @ A + 1).matrix, A))
    True
    """

    ridge: float

    kind: ClassVar[str] = "affine"

    @classmethod
    def fit(cls, X: Any, Y: Any = None, *, ridge: float | None = None) -> Self:
        moments = Moments.of(X, Y)
        ridge = choose_ridge(moments) if ridge is None else checked_ridge(ridge)
        matrix = RidgePath.of(moments).matrix(ridge)
        return cls(matrix, bias_through_means(moments, matrix), ridge)

    def _invert(self) -> tuple[Array, Array]:
        if self.d_x != self.d_y:
            raise no_inverse(self.kind, f"it leads from {self.d_x} to {self.d_y} dimensions")
        condition = np.linalg.cond(self.matrix)
        if not condition < _MAX_CONDITION:
            raise no_inverse(
                self.kind, f"its matrix is singular (condition number {condition:.1e})"
            )
        inverse = np.linalg.inv(self.matrix)
        return inverse, -self.bias @ inverse

    def push(self, S: Array) -> Array:
        pushed: Array = self.matrix.T @ S @ self.matrix
        return pushed

    def spread(self, S: Array) -> float:
        return float(np.vdot(self.matrix, S @ self.matrix))

    def _details(self) -> dict[str, Any]:
        return {"ridge": self.ridge}


@dataclass(frozen=True, eq=False)
class RidgePath:
    """All ridge solutions of one training set, from one eigendecomposition of Sxx."""

    moments: Moments
    values: Float[Array, " d_x"]
    vectors: Float[Array, "d_x d_x"]
    rotated: Float[Array, "d_x d_y"]  # V'Sxy

    @classmethod
    def of(cls, moments: Moments) -> RidgePath:
        """Decompose once."""
        values, vectors = np.linalg.eigh(moments.Sxx)
        return cls(moments, values, vectors, vectors.T @ moments.Sxy)

    @property
    def rank(self) -> int:
        """Numerical rank of X's covariance."""
        return int(np.sum(self.values > self._cutoff))

    def shrinkage(self, ridge: float) -> Float[Array, " d_x"]:
        """1 / (eigenvalue + lambda); directions that X does not vary in are left out, not blown up."""
        penalty = ridge * max(float(self.values.mean()), 0.0)
        alive = self.values > self._cutoff
        shrink = np.zeros_like(self.values)
        shrink[alive] = 1 / (self.values[alive] + penalty)
        return shrink

    def matrix(self, ridge: float) -> Float[Array, "d_x d_y"]:
        """The coefficients for one penalty."""
        coefficients: Array = self.vectors @ (self.shrinkage(ridge)[:, None] * self.rotated)
        return coefficients

    def squared_errors(self, test: Moments, ridges: tuple[float, ...]) -> Float[Array, " r"]:
        """Squared error on a test set for every penalty at once."""
        return RidgeTest.of(self, test).squared_errors(ridges)

    def explained(self, ridge: float = 0.0) -> float:
        """How much of Y's spread one solution explains in sample: tr 2A'Sxy - A'Sxx A."""
        shrink = self.shrinkage(ridge)
        lengths = np.einsum("ij,ij->i", self.rotated, self.rotated)
        return float((2 * shrink - shrink**2 * self.values) @ lengths)

    @property
    def _cutoff(self) -> float:
        return float(self.values[-1]) * len(self.values) * float(np.finfo(np.float64).eps) * 8


@dataclass(frozen=True, eq=False)
class RidgeTest:
    r"""A test set seen from the eigenbasis V of a training set.

    There the coefficients of every penalty are a diagonal times C = V'Sxy, so each error needs only the
    diagonal of C (V'Sxy_test)' and the entries of V'Sxx_test V o CC', not a product of its own.
    """

    path: RidgePath
    test: Moments
    Sxx: Float[Array, "d_x d_x"]  # V'Sxx_test V
    Sxy: Float[Array, "d_x d_y"]  # V'Sxy_test
    gap_x: Float[Array, " d_x"]  # of the means, test less training
    gap_y: Float[Array, " d_y"]

    @classmethod
    def of(cls, path: RidgePath, test: Moments) -> RidgeTest:
        """Rotate the test set's moments once."""
        V, train = path.vectors, path.moments
        gap_x, gap_y = test.mean_x - train.mean_x, test.mean_y - train.mean_y
        return cls(path, test, V.T @ test.Sxx @ V, V.T @ test.Sxy, V.T @ gap_x, gap_y)

    def squared_errors(self, ridges: tuple[float, ...]) -> Float[Array, " r"]:
        """Squared error for every penalty at once."""
        C = self.path.rotated
        cross = np.einsum("ij,ij->i", C, self.Sxy)
        quadratic = self.Sxx * (C @ C.T)
        spread = float(np.trace(self.test.Syy))

        def error(ridge: float) -> float:
            d = self.path.shrinkage(ridge)
            inside = spread - 2 * d @ cross + d @ quadratic @ d
            return max(float(inside), 0.0) + float(self._offset(d).sum())

        return np.array([error(ridge) for ridge in ridges])

    def errors_per_dimension(self, ridge: float) -> Float[Array, " d_y"]:
        """Squared error of each target dimension for one penalty."""
        shrink = self.path.shrinkage(ridge)
        A = shrink[:, None] * self.path.rotated
        spread = np.diag(self.test.Syy) + np.einsum("ij,ij->j", A, self.Sxx @ A - 2 * self.Sxy)
        errors: Array = np.maximum(spread, 0.0) + self._offset(shrink)
        return errors

    def _offset(self, shrink: Float[Array, " d_x"]) -> Float[Array, " d_y"]:
        gap = self.gap_y - (self.gap_x * shrink) @ self.path.rotated
        offset: Array = self.test.n * gap**2
        return offset


def choose_ridge(moments: Moments) -> float:
    """The penalty with the smallest held-out error over the folds."""
    if moments.folds < 2:
        raise OptionError(
            "choosing the ridge needs Moments with at least 2 folds; give ridge=0.0 for least squares."
        )
    errors = [
        RidgePath.of(moments.without(k)).squared_errors(moments.fold(k), RIDGES)
        for k in filled_folds(moments)
    ]
    return least_ridge(errors, moments)


def least_ridge(errors: list[Float[Array, " r"]], moments: Moments) -> float:
    """The smallest penalty whose error over all folds is the smallest, as far as rounding can tell.

    Errors are differences of sums as large as Y's spread: on exact data, which of them rounds to the least
    says nothing.
    """
    total = np.sum(errors, axis=0)
    rounding = moments.d_x * np.finfo(np.float64).eps * float(np.trace(moments.Syy))
    return RIDGES[int(np.argmax(total <= total.min() + rounding))]


def filled_folds(moments: Moments) -> list[int]:
    """The folds that have rows: at least two, so that each leaves rows to be fitted to."""
    filled = [k for k in range(moments.folds) if moments.fold_size(k)]
    if len(filled) < 2:
        raise TooFewRowsError(
            f"{moments.n} rows, in {len(filled)} of {moments.folds} folds: none are left to test on. "
            "Give more rows, or ridge= (and rank=) so that nothing is chosen on held-out rows."
        )
    return filled


def checked_ridge(ridge: float) -> float:
    """A penalty that can be meant."""
    if not 0 <= ridge < np.inf:
        raise OptionError(f"ridge={ridge}; a finite number of at least 0 is needed.")
    return float(ridge)
