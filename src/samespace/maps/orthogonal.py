r"""Rotations and reflections with one scale and a shift: the Procrustes class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from samespace.errors import DegenerateError
from samespace.maps.affine import RidgePath
from samespace.maps.base import Map, bias_through_means, no_inverse
from samespace.moments import Moments

if TYPE_CHECKING:
    from typing import Self

    from jaxtyping import Float
    from numpy import ndarray as Array

_GRAM_CONDITION = 1e12
"""Largest condition of M'M whose eigenvectors still give the polar factor to 1e-5, before polishing."""

_NEARLY = 1e-7
"""Distance from orthonormal whose square, which is what a step of polishing leaves, is rounding."""

_STEPS = 30
_ENOUGH = 1e-5
"""Improvement, as a share of Y's variance, below which a step is the last: far under any tolerance."""


@dataclass(frozen=True, eq=False, repr=False)
class Orthogonal(Map):
    r"""``Y = s X R + b`` with R orthogonal: angles and ratios of distances are kept.

    R is the orthogonal polar factor of :math:`S_{xy}` (Schönemann 1966) and
    :math:`s = \operatorname{tr} R'S_{xy} / \operatorname{tr} R'S_{xx}R`. Between different widths R is
    semi-orthogonal: an isometric embedding when d_x < d_y, and a projection when d_x > d_y. There the
    least-squares problem has no closed form: R is the better of the polar factors of :math:`S_{xy}` and of
    the affine map (which finds an exact projection exactly), improved by majorisation (Kiers and ten Berge
    1992).

    Examples
    --------
    >>> import numpy as np, samespace as ss
    >>> rng = np.random.default_rng(0)
    >>> X, Q = rng.standard_normal((100, 3)), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    >>> found = ss.maps.Orthogonal.fit(X, 2 * X @ Q)
    >>> bool(np.allclose(found.rotation, Q)), round(found.scale, 6)
    (True, 2.0)
    """

    scale: float

    kind: ClassVar[str] = "orthogonal"

    @classmethod
    def fit(cls, X: Any, Y: Any = None, *, scaled: bool = True, shifted: bool = True) -> Self:
        moments = Moments.of(X, Y)
        if moments.d_x <= moments.d_y:
            rotation = polar_factor(moments.Sxy)
        else:
            rotation = _best_projection(moments, scaled=scaled)
        scale = _best_scale(moments, rotation) if scaled else 1.0
        matrix = scale * rotation
        bias = bias_through_means(moments, matrix) if shifted else np.zeros(moments.d_y)
        return cls(matrix, bias, scale)

    @property
    def rotation(self) -> Float[Array, "d_x d_y"]:
        """The (semi-)orthogonal factor R."""
        if self.scale == 0:
            raise DegenerateError("the fitted scale is zero, so the map holds no rotation.")
        rotation: Array = self.matrix / self.scale
        return rotation

    def _invert(self) -> tuple[Array, Array]:
        if self.d_x > self.d_y:
            raise no_inverse(self.kind, f"it projects {self.d_x} dimensions onto {self.d_y}")
        if self.scale == 0:
            raise no_inverse(self.kind, "its scale is zero")
        inverse = self.matrix.T / self.scale**2
        return inverse, -self.bias @ inverse

    def push(self, S: Array) -> Array:
        pushed: Array = self.matrix.T @ S @ self.matrix
        return pushed

    def spread(self, S: Array) -> float:
        if self.d_x <= self.d_y:  # an isometry up to its scale
            return self.scale**2 * float(np.trace(S))
        return float(np.vdot(self.matrix, S @ self.matrix))

    def _details(self) -> dict[str, Any]:
        return {"scale": self.scale}


def polar_factor(M: Float[Array, "a b"]) -> Float[Array, "a b"]:
    """The nearest (semi-)orthogonal matrix, U V' of the SVD.

    As M (M'M)^{-1/2} from the eigenvectors of the smaller Gram matrix, several times faster than an SVD,
    with one or two Newton-Schulz steps to restore orthogonality to rounding; by the SVD itself where M is
    too near singular for that.
    """
    if M.shape[0] < M.shape[1]:
        factor: Array = polar_factor(M.T).T
        return factor
    values, vectors = np.linalg.eigh(M.T @ M)
    if values[0] * _GRAM_CONDITION <= values[-1]:
        U, _, Vt = np.linalg.svd(M, full_matrices=False)
        by_svd: Array = U @ Vt
        return by_svd
    root = vectors / values**0.25
    R = M @ (root @ root.T)
    gap = np.inf
    while gap > _NEARLY:
        excess = R.T @ R
        np.fill_diagonal(excess, excess.diagonal() - 1)
        gap = float(np.linalg.norm(excess))
        R -= R @ (0.5 * excess)  # squares the gap
    return R


def _best_projection(moments: Moments, *, scaled: bool) -> Float[Array, "d_x d_y"]:
    r"""Semi-orthogonal R, d_x > d_y, that leaves the least of Y unexplained, by majorisation.

    With :math:`L \ge \lambda_{\max}(S_{xx})` the error is below its tangent at R plus a term constant
    on orthonormal columns, so the polar factor of :math:`S_{xy} + s(LI - S_{xx})R` never does worse than R.
    """

    def saved(R: Array) -> tuple[float, float]:
        scale = _best_scale(moments, R) if scaled else 1.0
        spread = float(np.vdot(R, moments.Sxx @ R))
        return 2 * scale * float(np.vdot(R, moments.Sxy)) - scale**2 * spread, scale

    path = RidgePath.of(moments)
    best = max(
        (polar_factor(M) for M in (moments.Sxy, path.matrix(0.0))), key=lambda R: saved(R)[0]
    )
    enough = _ENOUGH * float(np.trace(moments.Syy))
    for _ in range(_STEPS):
        before, scale = saved(best)
        pull = path.values[-1] * best - moments.Sxx @ best
        better = polar_factor(moments.Sxy + scale * pull)
        gain = saved(better)[0] - before
        best = better if gain > 0 else best
        if gain <= enough:
            break
    return best


def _best_scale(moments: Moments, rotation: Float[Array, "d_x d_y"]) -> float:
    spread = Orthogonal(rotation, moments.mean_y, 1.0).spread(moments.Sxx)
    return float(np.vdot(rotation, moments.Sxy)) / spread if spread > 0 else 0.0
