"""Second moments of the rows of two models, about their means, from whichever pass made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.moments import Moments
    from samespace.theory.triangle import Triangle


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Means over n rows of the products of both models' columns, and the rows' own means.

    Attributes
    ----------
    own, cross, star
        Centred: E (f - Ef)'(f - Ef), and so on, in rows' convention.
    mean, mean_star
        Means of the rows.
    """

    n: int
    own: Float[Array, "p p"]
    cross: Float[Array, "p m"]
    star: Float[Array, "m m"]
    mean: Float[Array, " p"]
    mean_star: Float[Array, " m"]

    @classmethod
    def of_moments(cls, moments: Moments) -> SecondMoments:
        """From Moments of (f, f*)."""
        n = moments.n
        centred = (moments.Sxx / n, moments.Sxy / n, moments.Syy / n)
        return cls(n, *centred, moments.mean_x, moments.mean_y)

    @classmethod
    def of_triangle(cls, joint: Triangle) -> SecondMoments:
        """From the triangle of the rows (g*, g), starred first."""
        width = joint.widths[0]
        star, own = np.split(joint.centred / np.sqrt(joint.n), [width], axis=1)
        mean_star, mean = np.split(joint.mean, [width])
        return cls(joint.n, own.T @ own, own.T @ star, star.T @ star, mean, mean_star)

    def about_zero(self) -> SecondMoments:
        """The same about zero: the means' products added."""
        return SecondMoments(
            self.n,
            self.own + np.outer(self.mean, self.mean),
            self.cross + np.outer(self.mean, self.mean_star),
            self.star + np.outer(self.mean_star, self.mean_star),
            np.zeros_like(self.mean),
            np.zeros_like(self.mean_star),
        )

    def error(self, matrix: Float[Array, "p m"]) -> float:
        """Mean squared length of f* - f @ matrix."""
        inside = np.sum(matrix * (self.own @ matrix)) - 2.0 * np.sum(matrix * self.cross)
        return max(float(inside + np.trace(self.star)), 0.0)

    def odds_gap(self, D: Float[Array, "r p"], D_star: Float[Array, "r m"]) -> float:
        """Mean squared length of D* f* - D f."""
        inside = np.sum((D.T @ D) * self.own) - 2.0 * np.sum((D.T @ D_star) * self.cross)
        return max(float(inside + np.sum((D_star.T @ D_star) * self.star)), 0.0)
