"""Second moments of the rows of two models, about their means, read off their joint triangle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from samespace.theory.place import namespace

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

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
    def of_triangle(cls, joint: Triangle) -> SecondMoments:
        """From the triangle of the rows (g*, g), starred first."""
        width, centred = joint.widths[0], joint.centred / joint.n**0.5
        # Below the starred model's width its columns are zero.
        star, cross, own = centred[:width, :width], centred[:width, width:], centred[:, width:]
        mean_star, mean = joint.mean[:width], joint.mean[width:]
        return cls(joint.n, own.T @ own, cross.T @ star, star.T @ star, mean, mean_star)

    def about_zero(self) -> SecondMoments:
        """The same about zero: the means' products added."""
        xp = namespace(self.own)
        return SecondMoments(
            self.n,
            self.own + xp.linalg.outer(self.mean, self.mean),
            self.cross + xp.linalg.outer(self.mean, self.mean_star),
            self.star + xp.linalg.outer(self.mean_star, self.mean_star),
            xp.zeros_like(self.mean),
            xp.zeros_like(self.mean_star),
        )

    @property
    def squared_star(self) -> float:
        """Mean squared length of f*."""
        return float(namespace(self.star).linalg.trace(self.star))

    def error(self, matrix: Float[Array, "p m"]) -> float:
        """Mean squared length of f* - f @ matrix."""
        inside = (matrix * (self.own @ matrix - 2.0 * self.cross)).sum()
        return max(float(inside) + self.squared_star, 0.0)

    def odds_gap(self, D: Float[Array, "r p"], D_star: Float[Array, "r m"]) -> float:
        """Mean squared length of D* f* - D f."""
        own, cross = (D.T @ D) * self.own, (D.T @ D_star) * self.cross
        star = (D_star.T @ D_star) * self.star
        return max(float(own.sum() - 2.0 * cross.sum() + star.sum()), 0.0)
