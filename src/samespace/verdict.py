r"""The rule: from each class's errors to "holds", "fails" or "undecided", and from these to one verdict.

Every class is judged by two shares that bracket what its best member would leave unexplained in the
population, :math:`u^*`. The *held-out* share of a fitted map is at least :math:`u^*` on average; the
*in-sample* share, corrected for the numbers fitted, is not above it. So "holds" is claimed from the
pessimistic end and "fails" from the optimistic one, each with its confidence interval, and rows too few for
the width land between the two: undecided, not wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from samespace.inference import Interval, Null, Share, share_over_folds
from samespace.lattice import CLASSES, LatticeFit

if TYPE_CHECKING:
    from samespace.maps import Map

PERCENT = 100.0
ROUNDING = 1e-12
"""Shares this small are what float64 leaves of an exact fit."""


@dataclass(frozen=True)
class Rule:
    """The numbers that decide."""

    tolerance: float
    floor: float
    level: float


@dataclass(frozen=True)
class ClassResult:
    """What held-out rows say of one class of maps.

    Attributes
    ----------
    unexplained, interval
        Held-out unexplained share u of the class's best map, with its confidence interval.
    excess, excess_interval
        How much more than the affine map it leaves unexplained, folds compared pairwise.
    optimistic
        Unexplained share on the rows fitted to, corrected for the numbers fitted: the least that
        the best map of the class can leave in the population. None when more is fitted than measured.
    in_sample
        The same without the correction: what a careless reading would report.
    null
        u when the rows are paired at random.
    holds
        True, False, or None for undecided.
    map
        The map fitted to all rows; None where the class does not apply.
    """

    name: str
    applies: bool
    holds: bool | None
    reason: str
    unexplained: float | None = None
    interval: Interval | None = None
    excess: float | None = None
    excess_interval: Interval | None = None
    optimistic: float | None = None
    in_sample: float | None = None
    null: Null | None = None
    map: Map | None = None


@dataclass(frozen=True)
class Verdict:
    """The smallest class that surely holds, or "none", or "undecided"; why; and by how much.

    ``margin`` gives for each class that was judged the distance of its deciding number from its bound:
    positive where the class holds, negative where it fails, by as much as the share could still move.
    """

    name: str
    reason: str
    margin: dict[str, float]

    def __str__(self) -> str:
        return self.name


def judge(fit: LatticeFit, rule: Rule) -> dict[str, ClassResult]:
    """Each class's result, in the lattice's order."""
    affine = _shares(fit, "affine", rule)
    return {
        name: _judge_class(fit, name, affine, rule) if name in fit.classes else _absent(name)
        for name in CLASSES
    }


def decide(results: dict[str, ClassResult], rule: Rule) -> Verdict:
    """The first class that holds, unless a smaller one is still open."""
    margin = {name: _margin(r, rule) for name, r in results.items() if r.applies}
    open_before = None
    for name, result in results.items():
        if result.holds:
            if open_before is None:
                return Verdict(name, result.reason, margin)
            return Verdict("undecided", f"{result.reason} But {_lower(open_before.reason)}", margin)
        if result.holds is None and open_before is None:
            open_before = result
    # Every class lies in the affine one: when that fails, what is open below it cannot hold either.
    if open_before is not None and results["affine"].holds is not False:
        # The widest open class decides between "something" and "none".
        last = [r for r in results.values() if r.holds is None][-1]
        return Verdict("undecided", last.reason, margin)
    return Verdict("none", results["affine"].reason, margin)


@dataclass(frozen=True)
class _Shares:
    """The two brackets of one class."""

    held_out: Share
    optimistic: float | None


def _shares(fit: LatticeFit, name: str, rule: Rule) -> _Shares:
    one = fit.classes[name]
    held_out = share_over_folds(one.held_out, fit.totals, one.correction, level=rule.level)
    return _Shares(held_out.at_least_zero(), _corrected(fit, name))


def _corrected(fit: LatticeFit, name: str) -> float | None:
    """In-sample share times N / (N - p): unbiased for least squares with p numbers fitted to N values.

    Of least squares, not of the ridge: what a penalty leaves in sample says nothing of what is possible.
    """
    one = fit.classes[name]
    spare = 1 - one.parameters / fit.values
    return one.least / spare if spare > 0 else None


def _judge_class(fit: LatticeFit, name: str, affine: _Shares, rule: Rule) -> ClassResult:
    one, mine = fit.classes[name], _shares(fit, name, rule)
    u, interval = mine.held_out.estimate, mine.held_out.interval
    widest = fit.classes["affine"]
    excess = share_over_folds(
        one.held_out - widest.held_out,
        fit.totals,
        one.correction - widest.correction,
        level=rule.level,
    )
    slack = interval.half_width
    floor = 1 - rule.floor
    optimistic = mine.optimistic
    # Excess of this class over the affine optimum: at most `worst`, at least `best`; and since no share is
    # negative, at most the class's own share, which may be sure where the affine map is estimated loosely.
    reference = affine.optimistic if affine.optimistic is not None else 0.0
    worst = u - min(reference, affine.held_out.estimate) + excess.interval.half_width
    worst = min(worst, interval.high)
    least = min(u, optimistic if optimistic is not None else 0.0)
    best = least - affine.held_out.estimate - excess.interval.half_width

    is_affine = name == "affine"
    under_floor = interval.high <= floor and interval.high < one.null.low
    over_floor = least - slack > floor
    too_loose = not is_affine and best > rule.tolerance
    tight = is_affine or worst <= rule.tolerance
    holds = True if under_floor and tight else False if over_floor or too_loose else None
    return ClassResult(
        name=name,
        applies=True,
        holds=holds,
        reason=_reason(name, holds, u, interval, excess, rule, over_floor, under_floor, one.null),
        unexplained=u,
        interval=interval,
        excess=excess.estimate,
        excess_interval=excess.interval,
        optimistic=optimistic,
        in_sample=one.in_sample,
        null=one.null,
        map=one.map,
    )


def _absent(name: str) -> ClassResult:
    return ClassResult(
        name, applies=False, holds=False, reason=f"The {name} class needs equal widths."
    )


def _reason(
    name: str,
    holds: bool | None,
    u: float,
    interval: Interval,
    excess: Share,
    rule: Rule,
    over_floor: bool,
    under_floor: bool,
    null: Null,
) -> str:
    left = f"{_article(name)} map leaves {_percent(u)} of the variance of held-out rows unexplained"
    span = f"({_percent(interval.low)} to {_percent(interval.high)})"
    allowed = _percent(1 - rule.floor)
    if holds:
        near = "" if name == "affine" else f", {_beyond(excess.estimate, rule.tolerance)}"
        return f"{left} {span}{near}."
    if over_floor:
        return f"{left} {span}, more than the {allowed} that the floor allows."
    if holds is False:
        return (
            f"{left}, {_percent(excess.estimate)} more than the affine map; "
            f"only {_percent(rule.tolerance)} more is allowed."
        )
    if not under_floor and interval.high >= null.low:
        return f"{left} {span}, which random pairing could also read ({_percent(null.low)}): too few rows."
    if not under_floor:
        return f"{left} {span}; the rows are too few to say whether its best map stays under {allowed}."
    return (
        f"{left}, {_percent(excess.estimate)} more than the affine map "
        f"({_percent(excess.interval.low)} to {_percent(excess.interval.high)}), "
        f"too close to the {_percent(rule.tolerance)} allowed to decide on these rows."
    )


def _margin(result: ClassResult, rule: Rule) -> float:
    """The smaller of the two distances to a bound."""
    assert result.unexplained is not None
    assert result.excess is not None
    to_floor = 1 - rule.floor - result.unexplained
    return to_floor if result.name == "affine" else min(to_floor, rule.tolerance - result.excess)


def _article(name: str) -> str:
    return f"{'An' if name[0] in 'aeiou' else 'A'} {name}" if name != "identity" else "The identity"


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _beyond(excess: float, tolerance: float) -> str:
    if excess <= 0:
        return "no more than the affine map"
    return f"{_percent(excess)} more than the affine map ({_percent(tolerance)} is allowed)"


def _percent(share: float) -> str:
    # What rounding leaves of an exact fit is no number to print.
    return f"{PERCENT * share:.3g}%" if abs(share) > ROUNDING else "0%"
