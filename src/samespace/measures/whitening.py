r"""Whitening from second moments: the directions in which a representation varies, at unit variance.

CCA, SVCCA, PWCCA and R^2 all begin here. The rank is decided here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from samespace.errors import DegenerateError, OptionError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.moments import Moments


@dataclass(frozen=True, eq=False)
class Whitening:
    """``matrix`` W with W'SW = I over the numerical range of S; the eigenvalues kept, ascending."""

    matrix: Float[Array, "d r"]
    eigenvalues: Float[Array, " r"]

    @property
    def rank(self) -> int:
        """Number of directions that vary."""
        return len(self.eigenvalues)

    @property
    def condition(self) -> float:
        """Largest eigenvalue over the smallest one kept."""
        return float(self.eigenvalues[-1] / self.eigenvalues[0])


@dataclass(frozen=True, eq=False)
class Side:
    """One representation's part of the moments: what a whitening of it needs."""

    S: Float[Array, "d d"]
    mean: Float[Array, " d"]
    n: int
    eps: float

    @property
    def rounding(self) -> float:
        """Relative size of the eigenvalues that rounding alone makes: 8 d eps of the moments' precision."""
        return 8.0 * len(self.mean) * self.eps


def sides(m: Moments) -> tuple[Side, Side]:
    """The X side and the Y side of moments."""
    eps = float(np.finfo(m.precision).eps)
    return Side(m.Sxx, m.mean_x, m.n, eps), Side(m.Syy, m.mean_y, m.n, eps)


def whiten(side: Side, *, tolerance: float | None = None) -> Whitening:
    r"""Whiten one side: W (d, r) with :math:`W'SW = I`.

    The columns are first scaled to unit variance, which canonical correlations and R^2 do not see and
    which takes differences of unit (millimetres beside kilometres) out of the condition number. A
    direction counts when its eigenvalue of the correlation matrix is above ``tolerance`` times the largest.

    Parameters
    ----------
    side
        One of :func:`sides`.
    tolerance
        Relative eigenvalue below which a direction is absent; by default what rounding alone makes.

    Notes
    -----
    Squaring the data squares the condition number: an eigenvalue under eps times the largest, that is a
    *singular value of the rows* under :math:`1.5\cdot10^{-8}` times the largest, drowns in rounding and is
    dropped. :func:`samespace.measures.cca_rows.cca_from_rows` works on the rows and reaches down to eps.
    """
    tolerance = side.rounding if tolerance is None else checked_tolerance(tolerance)
    sd = column_spread(side)
    varying = np.flatnonzero(sd)
    if len(varying) == 0:
        return Whitening(np.zeros((len(sd), 0)), np.zeros(0))
    scale = sd[varying]
    correlation = side.S[np.ix_(varying, varying)] / np.outer(scale, scale)
    values, vectors = eigh(correlation, driver="evd", overwrite_a=True, check_finite=False)
    kept = values > tolerance * values[-1]
    W = np.zeros((len(sd), int(kept.sum())))
    W[varying] = (vectors[:, kept] / np.sqrt(values[kept])) / scale[:, None]
    return Whitening(W, values[kept])


def whiten_both(m: Moments, *, tolerance: float | None = None) -> tuple[Whitening, Whitening]:
    """Whitenings of X and of Y, neither of them empty."""
    x, y = (whiten(side, tolerance=tolerance) for side in sides(m))
    for name, white in (("X", x), ("Y", y)):
        if white.rank == 0:
            raise constant(name, m.n)
    return x, y


def constant(name: str, n: int) -> DegenerateError:
    """One wording for every measure that a representation without variance leaves undefined."""
    return DegenerateError(
        f"{name} is constant to rounding over its {n} rows, so no similarity to it is defined; "
        "pass rows that differ."
    )


def column_spread(side: Side) -> Float[Array, " d"]:
    """Root of each column's centred sum of squares; exactly 0 for a column that is constant to rounding.

    A constant column of value c leaves a sum of squares of the order n (eps c)^2, not 0; scaled to unit
    variance it would count as a direction. A column that varies 1e-13 times less than the widest one is
    a rounding error too (the trailing columns of a PCA of rank-deficient data).
    """
    squares = np.clip(np.diag(side.S), 0.0, None)
    rounding = np.maximum(
        side.n * (4 * side.eps * side.mean) ** 2, (500 * side.eps) ** 2 * squares.max()
    )
    return np.sqrt(np.where(squares > rounding, squares, 0.0))


def checked_tolerance(tolerance: float) -> float:
    """A relative eigenvalue, or singular value, that can be meant."""
    if not 0.0 <= tolerance < 1.0:
        raise OptionError(
            f"tolerance={tolerance}; it is relative to the strongest direction: write one in [0, 1)."
        )
    return tolerance
