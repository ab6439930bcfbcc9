"""What to look at before believing a comparison: ranks, conditions, rows that carry too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import DegenerateError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.lattice import LatticeFit
    from samespace.moments import Moments


@dataclass(frozen=True)
class Diagnostics:
    """What to look at before believing the numbers.

    ``condition_x`` is the largest eigenvalue of X's covariance over the smallest within its rank.
    ``effective_rows_x`` is :math:`(\\sum_i |x_i|^2)^2 / \\sum_i |x_i|^4`: far below n, few rows carry the
    variance.
    """

    rank_x: int
    rank_y: int
    condition_x: float
    condition_y: float
    ridge: float
    rows_per_dimension: float
    effective_rows_x: float
    effective_rows_y: float
    paired_by: str
    unmatched_x: int
    unmatched_y: int
    warnings: tuple[str, ...]


def diagnose(moments: Moments, fit: LatticeFit) -> Diagnostics:
    """Read them off the moments and the spectra that the fit decomposed anyway."""
    rank_x, condition_x = _rank(fit.values_x)
    rank_y, condition_y = _rank(fit.values_y)
    effective = _effective_rows(moments, fit)
    return Diagnostics(
        rank_x=rank_x,
        rank_y=rank_y,
        condition_x=condition_x,
        condition_y=condition_y,
        ridge=fit.ridge,
        rows_per_dimension=moments.n / moments.d_x,
        effective_rows_x=effective[0],
        effective_rows_y=effective[1],
        paired_by=moments.pairing.get("paired_by", "order"),
        unmatched_x=moments.pairing.get("unmatched_x", 0),
        unmatched_y=moments.pairing.get("unmatched_y", 0),
        warnings=_warnings(moments, rank_x, rank_y, effective),
    )


def _effective_rows(moments: Moments, fit: LatticeFit) -> list[float]:
    squares = np.array([fit.values_x.sum(), fit.values_y.sum()])
    with np.errstate(divide="ignore"):
        effective = squares**2 / np.diag(moments.norm_products)
    # More than n contradicts Cauchy and Schwarz: fourth powers under 1e-38 vanished in single precision.
    if not np.all((effective > 0) & (effective < 1.01 * moments.n)):
        raise DegenerateError(
            f"the values are too small for products in {moments.precision}: their fourth powers vanish. "
            "Multiply both representations by a constant first, or use precision='float64'."
        )
    rows: list[float] = effective.tolist()
    return rows


def _rank(values: Float[Array, " d"]) -> tuple[int, float]:
    """Numerical rank of a covariance, and its condition within that rank, from ascending eigenvalues."""
    kept = values[values > values[-1] * len(values) * 8 * np.finfo(np.float64).eps]
    return len(kept), float(kept[-1] / kept[0])


def _warnings(
    moments: Moments, rank_x: int, rank_y: int, effective: list[float]
) -> tuple[str, ...]:
    found = []
    if moments.n < 5 * moments.d_x:
        found.append(
            f"{moments.n} rows for {moments.d_x} dimensions: an affine map of that many numbers is "
            f"estimated loosely. {5 * moments.d_x} rows or more are better."
        )
    sides = zip("XY", (rank_x, rank_y), (moments.d_x, moments.d_y), effective, strict=True)
    for side, rank, d, rows in sides:
        if rank < min(d, moments.n - 1):
            found.append(f"{side} varies in only {rank} of its {d} dimensions.")
        if rows < moments.n / 10:
            found.append(
                f"few rows carry {side}'s variance (as if there were {rows:.0f} of {moments.n}): "
                "look for outliers."
            )
    return tuple(found)
