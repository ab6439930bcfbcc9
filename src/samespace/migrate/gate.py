"""The retrain gate: may the new model go live behind a map, yes, no, or not to be decided on these rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from samespace.compare import Comparison, compare
from samespace.errors import DegenerateError, OptionError
from samespace.lattice import CLASSES, SMALLER
from samespace.moments import Moments
from samespace.representation import Pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from samespace.maps import Map
    from samespace.verdict import ClassResult

    Progress = Callable[[str, int, int], None]

Side = Literal["old-to-new", "new-to-old"]
SIDES: tuple[Side, ...] = ("old-to-new", "new-to-old")


@dataclass(frozen=True)
class GateDecision:
    """What the gate decided, why, and the comparison behind it.

    Attributes
    ----------
    passed
        True when the required class, or a smaller one, surely holds; False when it surely does not;
        None when these rows cannot tell.
    required, side
        What was asked: a class of maps, and the direction it maps in.
    reason
        One sentence that a human can act on.
    comparison
        The comparison in that direction: its `x` is the side that is mapped.
    """

    passed: bool | None
    required: str
    side: Side
    reason: str
    comparison: Comparison

    @property
    def exit_code(self) -> int:
        """0 when it passed, 1 when it did not, 2 when it could not be decided."""
        return 2 if self.passed is None else int(not self.passed)

    @property
    def outcome(self) -> str:
        """``"pass"``, ``"fail"`` or ``"undecided"``."""
        return ("pass", "fail", "undecided")[self.exit_code]

    @property
    def deciding(self) -> ClassResult:
        """The smallest acceptable class that holds; the required one when none does."""
        return _deciding(self.comparison, self.required)

    @property
    def score(self) -> float | None:
        """Held-out R^2 of the deciding class; None when it needs equal widths and they differ."""
        unexplained = self.deciding.unexplained
        return None if unexplained is None else 1.0 - unexplained

    @property
    def map(self) -> Map:
        """The map of the deciding class, fitted to all rows.

        Raises
        ------
        DegenerateError
            When the class needs equal widths and these differ.
        """
        if self.deciding.map is None:
            raise DegenerateError(f"there is no {self.required} map here: {self.deciding.reason}")
        return self.deciding.map

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON-able values."""
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "required": self.required,
            "side": self.side,
            "decided_by": self.deciding.name,
            "score": self.score,
            "reason": self.reason,
            "comparison": self.comparison.to_dict(),
        }


def gate(
    old: Any,
    new: Any = None,
    *,
    on: Any = None,
    groups: Any = None,
    require: str = "affine",
    min_score: float = 0.9,
    side: Side = "old-to-new",
    tolerance: float = 0.01,
    level: float = 0.95,
    folds: int = 10,
    keep: int = 2048,
    progress: Progress | None = None,
) -> GateDecision:
    """Decide whether two models share a space up to the required class of maps.

    The rule is that of `samespace.compare` with ``floor=min_score``: a class passes when the lower
    end of the interval of its held-out R^2 reaches `min_score` and it leaves at most `tolerance` more
    unexplained than the best affine map. A smaller class passes for a larger one.

    Parameters
    ----------
    old, new
        Representations of the same samples by both models: anything `samespace.compare` takes.
    on, groups
        How rows are paired, and which are kin: see `samespace.compare`.
    require
        The largest class of maps that is acceptable: "identity", "permutation", "orthogonal", "affine".
    min_score
        The least share of the variance that the map must explain on held-out rows.
    side
        "old-to-new" judges the map that rewrites an index of old vectors; "new-to-old" the map that
        brings new queries to the old index. With different widths only one of them can be good.
    tolerance, level, folds, keep, progress
        As for `samespace.compare`.

    Notes
    -----
    *When it misleads.* The score is a share of variance, not of recall: judge the retrieval with
    `evaluate_migration` before rewriting an index. And it speaks of the rows given: take them from
    this week's traffic.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.migrate import gate
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((2000, 8))
    >>> new = old @ rng.standard_normal((8, 8)) + 0.01 * rng.standard_normal((2000, 8))
    >>> gate(old, new, require="affine", min_score=0.98).outcome
    'pass'
    >>> gate(old, new, require="orthogonal").outcome
    'fail'
    """
    _check(require, side)
    if isinstance(old, Moments):
        moments = old
    else:
        pair = (
            old
            if isinstance(old, Pair)
            else Pair.of(old, new, on=on, groups=groups, progress=progress)
        )
        moments = Moments.of(pair, folds=folds, keep=keep, progress=progress)
    comparison = compare(
        moments if side == "old-to-new" else moments.swap(),
        tolerance=tolerance,
        floor=min_score,
        level=level,
        progress=progress,
    )
    return GateDecision(
        comparison.holds(require), require, side, _reason(comparison, require), comparison
    )


def _check(require: str, side: str) -> None:
    if require not in CLASSES:
        raise OptionError(f"require={require!r}; write one of {', '.join(CLASSES)}.")
    if side not in SIDES:
        raise OptionError(f"side={side!r}; write one of {', '.join(SIDES)}.")


def _deciding(comparison: Comparison, require: str) -> ClassResult:
    """The smallest class that holds among the required one and those it contains; else the required."""
    required: ClassResult = getattr(comparison, require)
    acceptable = [getattr(comparison, name) for name in (*SMALLER[require], require)]
    return next((one for one in acceptable if one.holds), required)


def _reason(comparison: Comparison, require: str) -> str:
    """The sentence of the class that decided, and which wider ones hold when it does not."""
    deciding = _deciding(comparison, require)
    wider = [one.name for one in comparison.classes if one.holds and not deciding.holds]
    return f"{deciding.reason} Holding are: {', '.join(wider)}." if wider else deciding.reason
