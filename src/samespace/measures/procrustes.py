r"""Procrustes: how far two representations are from each other up to a rotation, as a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh, svd

from samespace.errors import OptionError
from samespace.measures.result import Result
from samespace.measures.whitening import column_spread, constant, sides
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.measures.whitening import Side


@dataclass(frozen=True, eq=False, repr=False)
class Procrustes(Result):
    """The Procrustes similarity, the distances made of it, and the rotation behind them.

    ``similarity`` is the cosine of ``angle``, the Riemannian distance of Williams et al., in [0, pi/2];
    ``distance`` is the Euclidean one between the centred representations at unit size, in [0, sqrt 2], and
    ``unscaled_distance`` that at their own sizes, per row (root mean square). ``disparity`` is what
    SciPy returns: the squared distance left when Y is also scaled for the best fit.
    ``rotation`` R (d_x, d_y), semi-orthogonal between different widths, takes X to Y: ``X @ R``.
    """

    similarity: float
    angle: float
    distance: float
    unscaled_distance: float
    disparity: float
    rotation: Float[Array, "d_x d_y"]
    alpha: float
    n: int
    d_x: int
    d_y: int


def procrustes(x: Any, y: Any = None, *, alpha: float = 1.0) -> Procrustes:
    r"""Distance of X and Y, both centred, under the rotation or reflection that brings them closest.

    .. math:: \theta = \arccos \max_{Q'Q = I} \frac{\langle XQ, Y \rangle}{\|X\|_F \|Y\|_F}
              = \arccos \frac{\|S_{xy}\|_*}{\sqrt{\operatorname{tr} S_{xx} \operatorname{tr} S_{yy}}},
              \qquad
              \min_Q \|XQ - Y\|_F^2 = \operatorname{tr} S_{xx} + \operatorname{tr} S_{yy} - 2 \|S_{xy}\|_* ,

    with the nuclear norm. Between different widths the narrower side is padded with zeros, which changes
    neither formula. Both distances are metrics (symmetric, triangle inequality, zero only for
    representations that a rotation makes equal), so they may be clustered and embedded.

    **Invariant to** a rotation or reflection and a shift of either side; all but ``unscaled_distance`` to one
    scale of either, too. With ``alpha=0`` to invertible affine maps; between, to rotations alone.

    **It misleads** near zero: from moments a cosine is known to about 1e-15, so an angle is only known
    to 1e-8 when it is that small. It is dominated by the directions of large variance, and in
    sample the rotation is fitted to the noise: independent data of n rows are closer than a right angle,
    by a similarity of the order of :math:`\sqrt{d/n}`; the held-out question is asked by
    :class:`samespace.maps.Orthogonal` and :func:`samespace.compare`.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows; or a :class:`~samespace.moments.Moments` as ``x``.
    alpha
        The partial whitening of Williams et al.: 1 compares the representations as they are; 0 whitens both,
        which makes the similarity the sum of the canonical correlations over the root of the ranks' product.

    Returns
    -------
    Procrustes
        The similarity, the distances, and the rotation (of the partially whitened data, when alpha < 1).

    Notes
    -----
    Partial whitening multiplies the centred data by :math:`\alpha I + (1 - \alpha) C^{-1/2}`, C the
    covariance. For this to mean the same at every scale, the data first get unit mean variance when
    alpha < 1; ``unscaled_distance`` then refers to those.

    References
    ----------
    Williams, Kunz, Kornblith and Linderman (2021), Generalized shape metrics on neural representations,
    Section 2; Schönemann (1966), A generalized solution of the orthogonal Procrustes problem.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import procrustes
    >>> rng = np.random.default_rng(0)
    >>> X, Q = rng.standard_normal((100, 3)), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    >>> found = procrustes(X, 2 * X @ Q + 1)
    >>> round(found.similarity, 9), bool(np.allclose(found.rotation, Q))
    (1.0, True)
    """
    if not 0.0 <= alpha <= 1.0:
        raise OptionError(
            f"alpha={alpha}; write 1 for plain Procrustes, 0 for whitened, or between."
        )
    m = Moments.of(x, y)
    cross, size_x, size_y = _shapes(m, alpha)
    U, strengths, Vt = svd(cross, full_matrices=False)
    nuclear = float(strengths.sum())
    # Rounding alone can push the cosine of equal shapes past 1.
    similarity = min(nuclear / float(np.sqrt(size_x) * np.sqrt(size_y)), 1.0)
    return Procrustes(
        similarity=similarity,
        angle=float(np.arccos(similarity)),
        distance=float(np.sqrt(2.0 - 2.0 * similarity)),
        unscaled_distance=float(np.sqrt(max(size_x + size_y - 2 * nuclear, 0.0) / m.n)),
        disparity=1.0 - similarity**2,
        rotation=U @ Vt,
        alpha=alpha,
        n=m.n,
        d_x=m.d_x,
        d_y=m.d_y,
    )


def _shapes(m: Moments, alpha: float) -> tuple[Float[Array, "d_x d_y"], float, float]:
    """The cross moments and the two squared sizes, of the partially whitened data where alpha < 1."""
    for name, side in zip("XY", sides(m), strict=True):
        if not column_spread(side).any():
            raise constant(name, m.n)
    if alpha == 1.0:
        return m.Sxy, float(np.trace(m.Sxx)), float(np.trace(m.Syy))
    F, G = (_partial_whitening(side, alpha) for side in sides(m))
    return F @ m.Sxy @ G, float(np.vdot(F @ m.Sxx, F)), float(np.vdot(G @ m.Syy, G))


def _partial_whitening(side: Side, alpha: float) -> Float[Array, "d d"]:
    """The symmetric matrix alpha I + (1 - alpha) C^(-1/2), over a mean standard deviation of 1."""
    scale = float(np.sqrt(np.mean(np.diag(side.S)) / side.n))
    values, vectors = eigh(side.S / (side.n * scale**2), driver="evd", check_finite=False)
    kept = values > side.rounding * values[-1]
    roots = np.sqrt(np.where(kept, values, np.inf))
    return (alpha * np.eye(len(values)) + (1 - alpha) * (vectors / roots) @ vectors.T) / scale
