r"""Anchors: the labels (or inputs) through whose log-odds one model's representation is read off the other's.

With D the rows of differences of g at the anchors, ``f @ D.T`` are the log-odds of the anchors against the
pivot. Two models with *nearly* equal log-odds have :math:`D^* f^* = D f + \epsilon`, and solving for f*
gives the linear part :math:`f^* = D^{*+} D f + D^{*+}\epsilon`. M + 1 chosen anchors make D* square;
*all* labels make it tall, and its triangle stands for it: a rotation of the log-odds changes no length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from samespace.errors import DiversityError, OptionError, ShapeError
from samespace.theory.choice import differences
from samespace.theory.triangle import Triangle, default_tolerance, take

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.representation import Representation
    from samespace.theory.model_pair import Choice, ModelPair


@dataclass(frozen=True, eq=False)
class AnchorDifferences:
    """Differences of the anchors in both models, as rows: L' of the first and of the starred one.

    Attributes
    ----------
    plain, star
        The rows D and D*: for chosen anchors v_i - v_0; for all, the joint triangle of the centred vectors.
    index
        Row numbers of the anchors, the pivot first; None when all are used.
    condition
        Condition number of D*.
    """

    plain: Float[Array, "r p"]
    star: Float[Array, "r m"]
    index: Int[Array, " m+1"] | None
    condition: float

    @classmethod
    def of_labels(cls, pair: ModelPair, which: Choice) -> AnchorDifferences:
        """Differences of g at the given labels, at the best choice (None), or of ``"all"``."""
        if which is None:
            which = pair.label_diversity.require()
        return cls._of(pair.g, pair.g_star, which, lambda: pair.joint_labels, "labels")

    @classmethod
    def of_inputs(cls, pair: ModelPair, which: Choice) -> AnchorDifferences:
        """Differences of f at the given inputs, at the best choice (None), or of ``"all"``."""
        if which is None:
            which = pair.input_diversity.require()
        return cls._of(pair.f, pair.f_star, which, lambda: pair.joint_inputs, "inputs")

    @classmethod
    def _of(
        cls,
        dual: Representation,
        dual_star: Representation,
        which: Int[Array, " m+1"] | str,
        joint: Callable[[], Triangle],
        of: str,
    ) -> AnchorDifferences:
        if not isinstance(which, str):
            index = np.asarray(which)
            star = _square(differences(take(dual_star, index)), of)
            return cls(differences(take(dual, index)), star, index, _condition(star, of))
        if which != "all":
            raise OptionError(
                f"{of}={which!r}; write 'all', row numbers (the pivot first), or leave it out."
            )
        star, plain = np.split(joint().centred, [dual_star.d], axis=1)
        return cls(plain, star, None, _condition(star, of))

    @cached_property
    def matrix(self) -> Float[Array, "p m"]:
        """The right-acting map that the anchors imply: the transpose of D*^+ D."""
        return self.solve(self.plain.T)

    def epsilon(
        self, own: Float[Array, "n p"], own_star: Float[Array, "n m"]
    ) -> Float[Array, "n r"]:
        """Difference of the two models' log-odds at the anchors: rows D* f* - D f."""
        return own_star @ self.star.T - own @ self.plain.T

    def solve(self, epsilon: Float[Array, "n r"]) -> Float[Array, "n m"]:
        """What these differences of log-odds amount to in the starred representation: D*^+ epsilon."""
        q, r = np.linalg.qr(self.star)
        return np.asarray(solve_triangular(r, q.T @ epsilon.T, check_finite=False)).T


def _square(star: Float[Array, "r m"], of: str) -> Float[Array, "m m"]:
    if star.shape[0] != star.shape[1]:
        raise ShapeError(
            f"{star.shape[0] + 1} {of} were given; M + 1 = {star.shape[1] + 1} are needed, the pivot first."
        )
    return star


def _condition(star: Float[Array, "r m"], of: str) -> float:
    singular = np.linalg.svd(star, compute_uv=False)
    if len(singular) < star.shape[1] or singular[-1] <= singular[0] * default_tolerance(
        star.shape[1], "float64"
    ):
        raise DiversityError(
            f"The differences of the starred model's vectors at these {of} are linearly dependent, so they "
            f"determine no map. samespace.theory.diversity tells whether any {of} would do, and which."
        )
    return float(singular[0] / singular[-1])
