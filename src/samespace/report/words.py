"""The vocabulary of every report: what each verdict says, what each class allows, what to do next.

A verdict is advice to somebody with an index to keep alive, so each comes with its consequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Saying:
    """A verdict in words.

    Attributes
    ----------
    headline
        What is the case, in one line.
    meaning
        What it means for somebody who knows no theory.
    action
        What to do now.
    """

    headline: str
    meaning: str
    action: str


SAYINGS: Mapping[str, Saying] = MappingProxyType(
    {
        "identity": Saying(
            "The same space, as it is.",
            "Old and new vectors mean the same thing, coordinate by coordinate.",
            "Nothing to migrate: the new model can read the old index, and the other way round.",
        ),
        "permutation": Saying(
            "The same space, with its dimensions relabelled.",
            "Each new dimension is one old dimension: reordered, with a sign, scale and shift.",
            "Apply the permutation map to one side; single dimensions keep their meaning.",
        ),
        "orthogonal": Saying(
            "The same space, rotated.",
            "New is old after a rotation or reflection, one scale and a shift: "
            "neighbours by distance stay neighbours.",
            "Apply the orthogonal map to one side; an old index stays valid for mapped queries.",
        ),
        "affine": Saying(
            "The same space, up to a linear map.",
            "New is a matrix times old, plus a shift: "
            "everything linear survives, but distances and angles change.",
            "Apply the affine map to the old vectors; neighbours found before mapping may differ.",
        ),
        "none": Saying(
            "Not the same space.",
            "Not even the best linear map carries old into new on rows it has not seen.",
            "Do not mix the two: embed everything again with the new model, or keep the old one.",
        ),
        "undecided": Saying(
            "Cannot be decided yet.",
            "The interval of a deciding number straddles its bound, or the rows are too few.",
            "Compare more paired rows, or state the tolerance that your use can bear.",
        ),
    }
)

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "identity": "no change at all",
        "permutation": "dimensions reordered, each with a sign, scale and shift",
        "orthogonal": "rotation or reflection, one scale, a shift",
        "affine": "any matrix and a shift",
        "none": "no linear map is enough",
    }
)

STATUSES: Mapping[str, str] = MappingProxyType(
    {"holds": "yes", "fails": "no", "undecided": "undecided", "absent": "n/a"}
)

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "rank_x": "rank of old",
        "rank_y": "rank of new",
        "condition_x": "condition number of old",
        "condition_y": "condition number of new",
        "ridge": "ridge penalty chosen",
        "unmatched_x": "rows of old without a partner",
        "unmatched_y": "rows of new without a partner",
        "paired_by": "rows paired by",
        "rows_per_dimension": "rows per dimension",
        "effective_rows_x": "rows that carry old's variance",
        "effective_rows_y": "rows that carry new's variance",
        "tolerance": "tolerance (share lost to affine)",
        "floor": "floor (share explained)",
        "level": "level of the intervals",
        "folds": "folds held out in turn",
        "keep": "rows kept for pictures",
        "precision": "precision of the sums",
        "seed": "seed of the random pairs",
    }
)


def status(*, applies: bool, holds: bool | None) -> str:
    """One word for a class: holds, fails, undecided or absent."""
    if not applies:
        return "absent"
    if holds is None:
        return "undecided"
    return "holds" if holds else "fails"


def label(key: str) -> str:
    """A field's name in words; names without an entry lose their underscores only."""
    return LABELS.get(key, key.replace("_", " "))


def tone(verdict: str) -> str:
    """The status whose colour a verdict wears."""
    return {"none": "fails", "undecided": "undecided"}.get(verdict, "holds")
