r"""Singular values and triangular systems: LAPACK's on the host; on a device what is fast there.

A device multiplies matrices of a model's width in a twentieth of a millisecond and takes fifty for their
singular values. There the largest eigenvalue is found by squaring, and the polar factor by an iteration of
products: both in a number of steps that is known beforehand, so that the device never waits for the host.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrcon

from samespace.accumulate import to_host
from samespace.theory.place import namespace, unit

if TYPE_CHECKING:
    from typing import Any as Array  # of any array library

    from jaxtyping import Float

_POWERS, _SQUARINGS = 10, 4
"""Divisions by the norm, and squarings between them, over which it falls by less than 1e-24 (at a width of a
thousand). The last norm is of the power 2^36, whose root is within 5e-11 of the largest eigenvalue."""

_LEAST_POLAR = 1e-12
"""Singular values below it, relative to the largest, add nothing to a nuclear norm."""


def right_solve(
    r: Float[Array, "w w"], rows: Float[Array, "n w"], *, overwrite: bool = False
) -> Float[Array, "n w"]:
    """Return rows R^-1 of an upper triangle."""
    if isinstance(r, np.ndarray):
        # R'Z' = V': the transposed rows are laid out as LAPACK wants them.
        z = solve_triangular(r, rows.T, trans="T", overwrite_b=overwrite, check_finite=False)
        return np.asarray(z.T)
    linalg = namespace(r).linalg
    if hasattr(linalg, "solve_triangular"):  # torch; the standard has none
        return linalg.solve_triangular(r, rows, upper=True, left=False)
    return linalg.solve(r.T, rows.T).T


def condition_1(r: Float[Array, "w w"]) -> float:
    """Condition number of an upper triangle in the 1-norm."""
    if isinstance(r, np.ndarray):
        reciprocal, _ = dtrcon(r, norm="1", uplo="U")  # an estimate, which costs next to nothing
        return 1.0 / reciprocal if reciprocal > 0 else float("inf")
    linalg = namespace(r).linalg
    inverse = right_solve(r, unit(r, len(r)))
    return float(linalg.matrix_norm(r, ord=1) * linalg.matrix_norm(inverse, ord=1))


def extremes(r: Float[Array, "w w"]) -> tuple[float, float]:
    """Largest and smallest singular value of an upper triangle."""
    if isinstance(r, np.ndarray):
        singular = np.linalg.svd(r, compute_uv=False)
        return float(singular[0]), float(singular[-1])
    xp = namespace(r)
    size = xp.linalg.matrix_norm(r)
    inverse = right_solve(r / size, unit(r, len(r)))
    both = xp.stack([r / size, inverse])
    largest = xp.sqrt(_largest_eigenvalues(xp.matrix_transpose(both) @ both))
    longest, reciprocal = float(size * largest[0]), float(largest[1] / size)
    # A singular triangle has no finite inverse.
    return longest, 1.0 / reciprocal if np.isfinite(reciprocal) else 0.0


def _largest_eigenvalues(grams: Float[Array, "k w w"]) -> Float[Array, " k"]:
    r"""Return :math:`|G^{2^k}|_F^{1/2^k}`, between the largest eigenvalue and :math:`w^{1/2^k}` times it."""
    xp = namespace(grams)
    logarithm: Array = 0.0 * grams[:, 0, 0]
    for k in range(_POWERS):
        size = xp.linalg.matrix_norm(grams, keepdims=True)
        logarithm = logarithm + xp.log(size[:, 0, 0]) / 2.0 ** (k * _SQUARINGS)
        grams = grams / size
        for _ in range(_SQUARINGS):
            grams = grams @ grams
    return xp.exp(logarithm)


def singular_values(matrix: Float[Array, "a b"]) -> Float[np.ndarray, " r"]:
    """All singular values, descending, on the host.

    On a device they are roots of eigenvalues: their squares err by rounding of the largest one's.
    """
    if isinstance(matrix, np.ndarray):
        return np.linalg.svd(matrix, compute_uv=False)
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    squares = to_host(namespace(matrix).linalg.eigvalsh(wide @ wide.T))
    return np.sqrt(np.maximum(squares[::-1], 0.0))


def polar(matrix: Float[Array, "w w"]) -> tuple[Float[Array, "w w"], float]:
    """Return the orthogonal Q of the largest tr(Q'C), and that: the nuclear norm of C."""
    if isinstance(matrix, np.ndarray):
        left, singular, right = np.linalg.svd(matrix)
        return left @ right, float(singular.sum())
    rotation = _polar_by_products(matrix)
    return rotation, float(namespace(matrix).sum(rotation * matrix))


def _polar_by_products(matrix: Float[Array, "w w"]) -> Float[Array, "w w"]:
    """Newton-Schulz's iteration, stably scaled (Chen and Chow 2014).

    All singular values lie in [0, 1], those that matter in [least, 1]; every step maps both 1 and `least` to
    the same value just below 1, the fastest that a cubic can.
    """
    linalg = namespace(matrix).linalg
    bound = linalg.matrix_norm(matrix, ord=1) * linalg.matrix_norm(matrix, ord=float("inf"))
    # No division of zero by zero: nothing is correlated with nothing.
    x, least = matrix / (bound**0.5 + 2.0**-1000), _LEAST_POLAR
    while least < 1.0 - 1e-14:
        step = sqrt(3.0 / (1.0 + least + least**2))
        x = 1.5 * step * x - 0.5 * step**3 * x @ (x.T @ x)
        least = 1.5 * step * least - 0.5 * (step * least) ** 3
    return x
