r"""CCA from the rows by QR and SVD: for data so near rank deficiency that squaring them loses directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import qr, solve_triangular, svd

from samespace.accumulate import to_host
from samespace.measures.cca import CCA, oriented
from samespace.measures.rows import paired_rows
from samespace.measures.whitening import checked_tolerance, constant

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def cca_from_rows(x: Any, y: Any = None, *, tolerance: float | None = None) -> CCA:
    r"""Canonical correlations without forming second moments, in sample.

    With :math:`X P_x = Q_x R_x` and :math:`Y P_y = Q_y R_y` the column-pivoted QR decompositions of the
    centred, column-scaled rows,

    .. math:: \rho = \operatorname{sv}(Q_x' Q_y).

    **Invariant to** the same maps as :func:`~samespace.measures.cca.cca`, and equal to it where the rows'
    condition number is well under :math:`10^8`. A moment matrix squares that number and loses what lies
    beyond; this route errs by eps times the number itself, and decides the rank by the diagonal of R.

    **It misleads** as in-sample CCA does; there is no held-out form here, since each fold would need its own
    QR. It holds all rows in memory, in double precision, on the host.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows; of Moments, the rows that they kept.
    tolerance
        Relative *singular value* (not eigenvalue) under which a direction is absent; by default
        max(n, d) eps.

    Returns
    -------
    CCA
        As from ``cca``; ``held_out_correlations`` is None. The conditions are squared, to be comparable.

    References
    ----------
    Björck and Golub (1973), Numerical methods for computing angles between linear subspaces, Section 4.

    Examples
    --------
    The second column of X differs from the first by 1e-10 of it, and that difference is all of Y.

    >>> import numpy as np
    >>> from samespace.measures import cca, cca_from_rows
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.standard_normal((2, 100))
    >>> X, Y = np.column_stack([first, first + 1e-10 * second]), second[:, None]
    >>> bool(cca(X, Y).mean < 0.2), round(cca_from_rows(X, Y).mean, 4)
    (True, 1.0)
    """
    X, Y = (to_host(rows).astype(np.float64) for rows in paired_rows(x, y))
    bases = [_basis(rows, name, tolerance) for name, rows in (("X", X), ("Y", Y))]
    (Q_x, back_x, condition_x), (Q_y, back_y, condition_y) = bases
    U, correlations, Vt = svd(Q_x.T @ Q_y, full_matrices=False)
    A, B = oriented(back_x @ U, back_y @ Vt.T)
    return CCA(
        correlations=np.minimum(correlations, 1.0),
        held_out_correlations=None,
        directions_x=A * np.sqrt(len(X)),
        directions_y=B * np.sqrt(len(X)),
        n=len(X),
        d_x=X.shape[1],
        d_y=Y.shape[1],
        rank_x=Q_x.shape[1],
        rank_y=Q_y.shape[1],
        condition_x=condition_x,
        condition_y=condition_y,
    )


def _basis(
    rows: Float[Array, "n d"], name: str, tolerance: float | None
) -> tuple[Float[Array, "n r"], Float[Array, "d r"], float]:
    """Orthonormal basis Q of the centred columns, the matrix that takes the rows to it, the condition."""
    n, d = rows.shape
    centred = rows - rows.mean(axis=0)
    sd = np.linalg.norm(centred, axis=0)
    eps = float(np.finfo(np.float64).eps)
    varying = np.flatnonzero(sd > np.sqrt(n) * 4 * eps * np.abs(rows).max(axis=0))
    if len(varying) == 0:
        raise constant(name, n)
    Q, R, order = qr(centred[:, varying] / sd[varying], mode="economic", pivoting=True)
    tolerance = max(n, d) * eps if tolerance is None else checked_tolerance(tolerance)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > tolerance * diagonal[0]))
    back = np.zeros((d, rank))
    kept = varying[order[:rank]]
    back[kept] = solve_triangular(R[:rank, :rank], np.eye(rank)) / sd[kept][:, None]
    singular = svd(R[:rank], compute_uv=False)
    return Q[:, :rank], back, float((singular[0] / singular[-1]) ** 2)
