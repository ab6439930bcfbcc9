"""What follows for two models, in plain words: the theorem's promise here, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from samespace.compare import Settings
    from samespace.family.hull import Hull
    from samespace.theory import Closeness, Diversity, EffectiveComplexity

Likelihoods = Literal["equal", "close", "different"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Conditions:
    """What the theorem asks of one model: that its labels and its inputs are diverse.

    Attributes
    ----------
    labels, inputs
        Diversity of g and of f by Definition 1. With biases that of g includes them, and that of f
        leaves out the constant coordinate that multiplies them.
    complexity
        How many dimensions the model's likelihood uses.

    Notes
    -----
    Definition 1 asks more of f than the theorem needs: that *differences* of f span. Since
    differences of labels already remove the normaliser, it is enough that f itself spans, so M
    inputs do. The two part company for every model with a final LayerNorm (GPT-2), whose f lies in
    a hyperplane.
    """

    labels: Diversity
    inputs: Diversity
    complexity: EffectiveComplexity

    @property
    def hold(self) -> bool:
        """Whether the likelihood uses all dimensions: differences of g span, and f does."""
        return self.complexity.complexity == self.complexity.dim

    def to_dict(self) -> dict[str, object]:
        """Return the numbers that a table shows."""
        return {
            "labels": self.labels.verdict,
            "rank of labels": f"{self.labels.rank} of {self.labels.dim}",
            "condition number of labels": self.labels.condition,
            "inputs": self.inputs.verdict,
            "rank of inputs": f"{self.inputs.rank} of {self.inputs.dim}",
            "condition number of inputs": self.inputs.condition,
            "dimensions that the likelihood uses": self.complexity.complexity,
        }


def likelihoods_are(closeness: Closeness, settings: Settings) -> Likelihoods:
    """Judge by the share of the new model's centred logits in which the two models differ.

    The theorems speak of *all* inputs and labels. Losses see the observed labels alone, and a
    divergence hardly sees improbable ones; the logits see all alike.
    """
    share = closeness.logits.share_star
    if share <= settings.tolerance:
        return "equal"
    return "close" if share <= 1 - settings.floor else "different"


def conclude(
    verdict: str, closeness: Closeness, settings: Settings, old: Conditions, new: Conditions
) -> str:
    """Say what the theorem promises for these two models, and whether it is what was found."""
    kind = likelihoods_are(closeness, settings)
    if not (old.hold and new.hold):
        return f"{_failing(old, new)} {_gap(kind, closeness)} Found: {_found(verdict)}."
    if kind == "equal":
        return f"Equal likelihoods ({_differ(closeness)}), and the conditions hold: {_promised(verdict)}"
    if kind == "close":
        return (
            f"{_gap(kind, closeness)} The conditions hold, so at most "
            f"{100 * closeness.logits.share_star:.2g}% of the new model's logits lies beyond a linear "
            f"map of the old f. Found: {_found(verdict)}."
        )
    tail = "and yet" if verdict in _CLASSES else "and indeed"
    return f"{_gap(kind, closeness)} Nothing is guaranteed, {tail} {_found(verdict)}."


def narrowed(old: Hull, new: Hull) -> tuple[str, ...]:
    """Say where f varies in fewer dimensions than it has, since g is judged there alone."""
    if old.whole and new.whole:
        return ()
    side, name = (old, "old") if not old.whole else (new, "new")
    return (
        f"The {name} model's f varies in {side.dim} of its {side.axes.shape[0]} dimensions (a "
        "final "
        "LayerNorm takes one away), and g is judged on these: what it does beside them no "
        "probability "
        "shows, but for a bias of each label, which is counted.",
    )


_CLASSES = ("identity", "permutation", "orthogonal", "affine")


def _found(verdict: str) -> str:
    if verdict == "none":
        return "no one linear map links both f and g of the two models"
    if verdict == "undecided":
        return "these inputs cannot decide whether one linear map links both f and g"
    if verdict == "affine":
        return "one linear map links f, and its inverse transpose g"
    return f"one map of the class {verdict!r} links f, and its inverse transpose g"


def _promised(verdict: str) -> str:
    if verdict == "affine":
        return "equal up to a linear map, as the theorem says."
    if verdict in _CLASSES:
        return (
            f"equal up to a linear map, as the theorem says, and even up to the class {verdict!r}."
        )
    return (
        "equal up to a linear map of what the logits use, as the theorem says; but "
        f"{_found(verdict)}: directions that carry much of f or g and little of the logits differ."
    )


def _gap(kind: Likelihoods, closeness: Closeness) -> str:
    if kind == "equal":
        return f"The likelihoods are equal ({_differ(closeness)})."
    likelihoods = closeness.likelihoods
    losses = likelihoods.loss, likelihoods.loss_star
    if losses[0] is not None and losses[1] is not None and abs(losses[0] - losses[1]) <= _SAME_LOSS:
        return (
            f"The losses are equal ({losses[0]:.3g} and {losses[1]:.3g} nats), the likelihoods are "
            "not "
            f"({_differ(closeness)})."
        )
    word = "close, not equal" if kind == "close" else "different"
    return f"The likelihoods are {word} ({_differ(closeness)})."


_SAME_LOSS = 0.01
"""Nats: a hundredth is what the losses of two seeds differ by, and less than any curve shows."""


def _differ(closeness: Closeness) -> str:
    share, kl = closeness.logits.share_star, max(closeness.likelihoods.kl, 0.0)
    return f"the logits differ in {100 * share:.2g}% of their squares, the distributions by {kl:.2g} nats"


def _failing(old: Conditions, new: Conditions) -> str:
    for name, side in (("old", old), ("new", new)):
        for of in (side.labels, side.inputs):
            if not of.holds:
                return (
                    f"The theorem's conditions fail for the {name} model: {of.reason} Even equal "
                    f"likelihoods fix only {side.complexity.complexity} of its "
                    f"{side.complexity.dim} dimensions."
                )
    raise AssertionError("asked for a failing condition where both hold")
