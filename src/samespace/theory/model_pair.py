"""Two models on the same inputs and labels, with what one pass over each gives, made when first asked for.

Every number of this room is a function of a few matrices of the models' width: the triangles of the joint
rows (g*, g) and (f*, f, log Z*, log Z), and the anchors. A `ModelPair` keeps them, so that asking for several
distances costs one pass over the logits. They stay where the models lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import OptionError, ShapeError
from samespace.representation import Representation
from samespace.theory.diversity import Diversity, diversity
from samespace.theory.jackknife import groups
from samespace.theory.likelihood import LikelihoodGap, likelihood_gap
from samespace.theory.place import double, together
from samespace.theory.second_moments import SecondMoments
from samespace.theory.triangle import Triangle, block_rows

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array

    Choice = Int[Array, " r"] | Literal["all"] | None
    Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class ModelPair:
    """Values of two models of the canonical family: f on the same inputs, g on the same labels.

    Make one with `ModelPair.of`; every function of this room takes one in place of the four matrices.

    Parameters
    ----------
    observed
        The right label of every input, for the losses.
    folds
        Groups of inputs for the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((100, 2)), rng.standard_normal((5, 2))
    >>> pair = ModelPair.of(f, g, 2 * f, g / 2)
    >>> bool(abs(pair.likelihoods.kl) < 1e-12), pair.label_diversity.verdict
    (True, 'holds')
    """

    f: Representation
    g: Representation
    f_star: Representation
    g_star: Representation
    observed: Int[Array, " n"] | None = None
    folds: int = 10
    progress: Progress | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        f: Any,
        g: Any = None,
        f_star: Any = None,
        g_star: Any = None,
        *,
        observed: Int[Array, " n"] | None = None,
        folds: int = 10,
        progress: Progress | None = None,
    ) -> ModelPair:
        """Take the values of two models, anything the gate takes; a ModelPair is returned as it is."""
        if isinstance(f, ModelPair):
            return f
        if any(rows is None for rows in (g, f_star, g_star)):
            raise OptionError(
                "two models are four matrices: pass f, g, f_star, g_star, or one ModelPair of them."
            )
        if folds < 1:
            raise OptionError(f"folds={folds}; at least 1 is needed, and 2 for intervals.")
        given = (Representation.of(rows) for rows in (f, g, f_star, g_star))
        f, g, f_star, g_star = _in_one_place(list(given))
        pair = cls(f, g, f_star, g_star, observed=observed, folds=folds, progress=progress)
        _check(pair)
        return pair

    @cached_property
    def label_diversity(self) -> Diversity:
        """Which labels condition the differences of g* best."""
        return diversity(self.g_star, of="labels", triangle=self.labels_star)

    @cached_property
    def input_diversity(self) -> Diversity:
        """Which inputs condition the differences of f* best."""
        return diversity(self.f_star, of="inputs", triangle=self.inputs_star)

    @cached_property
    def likelihoods(self) -> LikelihoodGap:
        """Divergences and log-normalisers: the one pass over all logits of both models."""
        return likelihood_gap(
            self.f, self.g, self.f_star, self.g_star, observed=self.observed, progress=self.progress
        )

    @cached_property
    def joint_labels(self) -> Triangle:
        """Triangle of the rows (g*, g)."""
        return Triangle.of(self.g_star, self.g)

    @cached_property
    def joint_inputs(self) -> Triangle:
        """Triangle of the rows (f*, f); part of the normalised one where that is there already."""
        if "joint_normalised_inputs" in self.__dict__:
            return self.joint_normalised_inputs.leading(2)
        return Triangle.of(self.f_star, self.f)

    @cached_property
    def labels_star(self) -> Triangle:
        """Triangle of g* alone."""
        return self.joint_labels.leading(1)

    @cached_property
    def inputs_star(self) -> Triangle:
        """Triangle of f* alone."""
        return self.joint_inputs.leading(1)

    @cached_property
    def joint_normalised_inputs(self) -> Triangle:
        """Triangle of the rows (f*, f, log Z*, log Z): all log-probabilities are linear in these."""
        gap = self.likelihoods
        return Triangle.of(self.f_star, self.f, gap.log_z_star[:, None], gap.log_z[:, None])

    @cached_property
    def second_f(self) -> SecondMoments:
        """Second moments of (f, f*)."""
        return SecondMoments.of_triangle(self.joint_inputs)

    @cached_property
    def second_g(self) -> SecondMoments:
        """Second moments of (g, g*)."""
        return SecondMoments.of_triangle(self.joint_labels)

    @cached_property
    def group(self) -> Int[Array, " n"]:
        """Group of every input, for the intervals."""
        return groups(self.f.n, self.folds)

    @cached_property
    def groups(self) -> Int[Array, " k"]:
        """The groups that have inputs."""
        return np.flatnonzero(np.bincount(self.group))

    def paired_blocks(self) -> Iterator[tuple[Array, Array, slice]]:
        """Blocks of f and f* in float64, and which inputs they are of."""
        on_gpu, start = self.f.source.on_gpu, 0
        rows = block_rows(max(self.f.d, self.f_star.d), on_gpu=on_gpu)
        for blocks in zip(self.f.batches(rows), self.f_star.batches(rows), strict=True):
            first, second = (double(block) for block in together(*blocks))
            yield first, second, slice(start, start + len(first))
            start += len(first)


def _in_one_place(parts: list[Representation]) -> list[Representation]:
    """Models that lie partly on a GPU are worked on at the host, where all can be read."""
    if all(part.source.on_gpu for part in parts):
        return parts
    return [
        Representation.of(to_host(part.to_array()), name=part.name) if part.source.on_gpu else part
        for part in parts
    ]


def _check(pair: ModelPair) -> None:
    f, g, f_star, g_star = pair.f, pair.g, pair.f_star, pair.g_star
    if f.d != g.d or f_star.d != g_star.d:
        raise ShapeError(
            f"f and g of one model must have the same width M; got f {(f.n, f.d)}, g {(g.n, g.d)}, f_star "
            f"{(f_star.n, f_star.d)}, g_star {(g_star.n, g_star.d)}."
        )
    if f.n != f_star.n or g.n != g_star.n:
        raise ShapeError(
            f"both models need the same inputs and the same labels, in the same order; got {f.n} and "
            f"{f_star.n} inputs, {g.n} and {g_star.n} labels."
        )
