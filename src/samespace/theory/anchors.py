r"""Anchors: the labels (or inputs) through whose log-odds one model's representation is read off the other's.

With D the rows of differences of g at the anchors, ``f @ D.T`` are the log-odds of the anchors against the
pivot. Two models with *nearly* equal log-odds have :math:`D^* f^* = D f + \epsilon`, and solving for f*
gives the linear part :math:`f^* = D^{*+} D f + D^{*+}\epsilon`. M + 1 chosen anchors make D* square;
*all* labels make it tall, and its triangle stands for it: a rotation of the log-odds changes no length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import DiversityError, OptionError, ShapeError
from samespace.theory.choice import differences
from samespace.theory.place import namespace
from samespace.theory.spectra import extremes
from samespace.theory.triangle import Triangle, default_tolerance, take, triangle_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.representation import Representation
    from samespace.theory.diversity import Diversity
    from samespace.theory.model_pair import Choice, ModelPair


@dataclass(frozen=True, eq=False)
class AnchorDifferences:
    """Differences of the anchors in both models, as rows: L' of the first and of the starred one.

    The rows stay where the models lie.

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
        if isinstance(which, str):
            return cls._of_all(which, pair.joint_labels, pair.labels_star, "labels")
        best = pair.label_diversity if which is None else None
        return cls._at(pair.g, pair.g_star, which, best, "labels")

    @classmethod
    def of_inputs(cls, pair: ModelPair, which: Choice) -> AnchorDifferences:
        """Differences of f at the given inputs, at the best choice (None), or of ``"all"``."""
        if isinstance(which, str):
            return cls._of_all(which, pair.joint_inputs, pair.inputs_star, "inputs")
        best = pair.input_diversity if which is None else None
        return cls._at(pair.f, pair.f_star, which, best, "inputs")

    @classmethod
    def _at(
        cls,
        dual: Representation,
        dual_star: Representation,
        which: Int[Array, " m+1"] | None,
        best: Diversity | None,
        of: str,
    ) -> AnchorDifferences:
        index = np.asarray(which) if best is None else best.require()
        star = _square(differences(take(dual_star, index)), of)
        found = _condition(star) if best is None else best.condition
        return cls(differences(take(dual, index)), star, index, _checked(found, star, of))

    @classmethod
    def _of_all(cls, which: str, joint: Triangle, alone: Triangle, of: str) -> AnchorDifferences:
        if which != "all":
            raise OptionError(
                f"{of}={which!r}; write 'all', row numbers (the pivot first), or leave it out."
            )
        width = joint.widths[0]
        star, plain = joint.centred[:, :width], joint.centred[:, width:]
        span = alone.span()
        found = span.condition if span.rank == width else _condition(star)
        return cls(plain, star, None, _checked(found, star, of))

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
        # Of all anchors, the joint triangle is zero below the starred model's width.
        width = self.star.shape[1]
        linalg = namespace(self.star).linalg
        return linalg.solve(self.star[:width, :], epsilon[:, :width].T).T


def _square(star: Float[Array, "r m"], of: str) -> Float[Array, "m m"]:
    if star.shape[0] != star.shape[1]:
        raise ShapeError(
            f"{star.shape[0] + 1} {of} were given; M + 1 = {star.shape[1] + 1} are needed, the pivot first."
        )
    return star


def _condition(star: Float[Array, "r m"]) -> float | None:
    if star.shape[0] < star.shape[1]:
        return None
    longest, shortest = extremes(triangle_of(star))
    return longest / shortest if shortest > 0 else None


def _checked(found: float | None, star: Float[Array, "r m"], of: str) -> float:
    if found is None or found * default_tolerance(int(star.shape[1]), "float64") >= 1.0:
        raise DiversityError(
            f"The differences of the starred model's vectors at these {of} are linearly dependent, so they "
            f"determine no map. samespace.theory.diversity tells whether any {of} would do, and which."
        )
    return found
