"""What the curves of semantic learners say of the paper's claims, in numbers fixed beforehand.

*Come close*: the mean distance within classes over the mean distance between them, about 1 before training,
is under 1/2 with the upper end of its 95% interval over seeds. *Helps*: the accuracy of classifiers that
start from learned symbols, averaged over training, exceeds that of random starts of the same seeds, and the
95% interval of the paired difference excludes 0. *Slightly*: by less than 0.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import DegenerateError
from samespace.reproduce.record import Record, Value

if TYPE_CHECKING:
    from jaxtyping import Bool, Int
    from numpy import ndarray as Array

CLOSE = 0.5
SLIGHT = 0.1


def first_time(
    epochs: Int[Array, " evaluations"], reached: Bool[Array, "evaluations models"]
) -> list[int | None]:
    """Return for each model the first epoch at which it had got there, None where it never did."""
    return [
        int(epochs[column.argmax()]) if column.any() else None for column in np.asarray(reached).T
    ]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95% interval of the mean by Student's t; without spread to judge, all numbers."""
    if len(values) < 2:
        return -math.inf, math.inf
    from scipy import special

    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
    reach = special.stdtrit(len(values) - 1, 0.975) * error
    return float(mean - reach), float(mean + reach)


def measures(record: Record, apart: Int[Array, " pairs"]) -> dict[str, Any]:
    """Reduce a record to the numbers that the claims are judged by."""
    values = record.values
    found = {
        "ratio_before": Value.of(values["ratio_before"]),
        "loss_over_chance": _over_chance(record),
        "ratio": with_interval(values["ratio"]),
        "within_shrinks_to": Value.of(_shrinkage(values["within"]["mean"])),
        "between_shrinks_to": Value.of(_shrinkage(values["between"]["mean"])),
        "epochs_to_half": _times(values["epochs_to_half"]),
        "bands": _bands(np.array(values["final_distances"]), apart),
    }
    if "advantage" in values:
        found["advantage"] = with_interval(values["advantage"])
        found["final_accuracy"] = {
            start: Value.of(curve[-1]) for start, curve in values["accuracy"].items()
        }
        found["epochs_to_95"] = {
            start: _times(seeds) for start, seeds in values["epochs_to_95"].items()
        }
    return found


def with_interval(values: Sequence[float | None]) -> dict[str, Any]:
    """Return mean, interval and seeds of one number, which some seeds may not have.

    The interval of a single seed is None, and so is the mean of none.
    """
    known = [value for value in values if value is not None]
    low, high = interval(known)
    ends = [low, high] if math.isfinite(low) else None
    return {"value": Value.of(known) if known else None, "interval": ends, "seeds": list(values)}


def _over_chance(record: Record) -> dict[str, Any]:
    """Compare the last loss with that of a model that tells no pair from another: 1 is nothing learned."""
    chance = math.log(record.settings["batch"])
    return with_interval([round(loss / chance, 4) for loss in record.values["loss"][-1]])


def _times(seeds: Sequence[int | None]) -> dict[str, Any]:
    """Report the median, None when half of the models or more never got there, and the seeds."""
    late = sorted(math.inf if time is None else time for time in seeds)
    median = late[len(late) // 2]
    return {"median": median if math.isfinite(median) else None, "seeds": list(seeds)}


def _shrinkage(curve: Sequence[Sequence[float]]) -> list[float]:
    return (np.array(curve[-1]) / np.array(curve[0])).tolist()


def _bands(distances: Any, apart: Int[Array, " pairs"]) -> dict[str, Any]:
    """Count the bands of the distances between classes, and what the classes' places explain of them."""
    from samespace.theory.bands import bands, share_explained

    rng = np.random.default_rng(0)
    between = apart > 0
    counts, shares = [], []
    for row in distances:
        try:
            counts.append(bands(row[between], rng=rng).count)
            shares.append(share_explained(row[between], apart[between]))
        except DegenerateError:  # all symbols in one point
            counts.append(None)
    return {
        "count": counts,
        "explained_by_place_on_circle": Value.of(shares) if shares else None,
    }


def judged(figure: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Say of each part of the figure's claim whether it holds, and by which number."""
    return {name: judge(found) for name, judge in _CLAIMS[figure].items()}


def _close(found: Mapping[str, Any], *, should: bool = True) -> dict[str, Any]:
    ratio = found["ratio"]
    if ratio["interval"] is None:
        return _verdict(None, "one seed has no spread")
    low, high = ratio["interval"]
    holds = high < CLOSE if should else low > CLOSE
    decided = high < CLOSE or low > CLOSE
    return _verdict(
        holds if decided else None,
        f"within / between = {ratio['value'].mean:.3f} [{low:.3f}, {high:.3f}], bound {CLOSE}",
    )


def _apart_still(found: Mapping[str, Any]) -> dict[str, Any]:
    within, between = found["within_shrinks_to"].mean, found["between_shrinks_to"].mean
    return _verdict(
        between > 2 * within,
        f"within shrink to {within:.3f} of what they were, between to {between:.3f}",
    )


def _helps(found: Mapping[str, Any]) -> dict[str, Any]:
    return _advantage(found, lambda low, high: True if low > 0 else (False if high <= 0 else None))


def _helps_slightly(found: Mapping[str, Any]) -> dict[str, Any]:
    return _advantage(
        found, lambda low, high: True if high < SLIGHT else (False if low >= SLIGHT else None)
    )


def _equally_good(found: Mapping[str, Any]) -> dict[str, Any]:
    return _advantage(
        found,
        lambda low, high: (
            True if max(-low, high) < SLIGHT else (False if max(low, -high) > SLIGHT else None)
        ),
    )


def _advantage(found: Mapping[str, Any], rule: Any) -> dict[str, Any]:
    advantage = found["advantage"]
    if advantage["interval"] is None:
        return _verdict(None, "one seed has no spread")
    low, high = advantage["interval"]
    return _verdict(
        rule(low, high),
        f"mean accuracy gained {advantage['value'].mean:+.3f} [{low:+.3f}, {high:+.3f}]",
    )


def _three_bands(found: Mapping[str, Any]) -> dict[str, Any]:
    counts = found["bands"]["count"]
    agree = sum(count == 3 for count in counts)
    return _verdict(agree > len(counts) / 2, f"gap statistic chooses {counts} bands")


def _later(found: Mapping[str, Any]) -> dict[str, Any]:
    if "aligned_control" not in found:
        return _verdict(None, "the aligned control has no record yet")
    mine = found["epochs_to_half"]["median"]
    control = found["aligned_control"]["epochs_to_half"]["median"]
    late = math.inf if mine is None else mine
    return _verdict(
        None if control is None else late > control,
        f"ratio under {CLOSE} {_after(mine)} (median), aligned {_after(control)}",
    )


def _after(epochs: int | None) -> str:
    return "at no time" if epochs is None else f"after {epochs:,} epochs"


def _helps_less(found: Mapping[str, Any]) -> dict[str, Any]:
    if "aligned_control" not in found:
        return _verdict(None, "the aligned control has no record yet")
    mine, control = (part["advantage"]["seeds"] for part in (found, found["aligned_control"]))
    low, high = interval(np.subtract(control, mine).tolist())
    return _verdict(
        True if low > 0 else (False if high <= 0 else None),
        f"aligned data gain [{low:+.3f}, {high:+.3f}] more mean accuracy",
    )


def _verdict(holds: bool | None, reason: str) -> dict[str, Any]:
    return {"holds": holds, "reason": reason}


_CLAIMS: dict[str, dict[str, Any]] = {
    "fig2a": {"equivalent symbols come close": _close, "others do not": _apart_still},
    "fig2b": {"equivalent symbols come close": _close, "pre-training helps": _helps},
    "fig4": {
        "equivalent symbols come close": _close,
        "both classify equally well": _equally_good,
    },
    "fig5": {
        "equivalent symbols do not come close": lambda found: _close(found, should=False),
        "pre-training helps only slightly": _helps_slightly,
    },
    "fig6": {"equivalent symbols come close": _close, "pre-training helps": _helps},
    "fig7": {
        "equivalent symbols come close": _close,
        "distances between classes fall into three bands": _three_bands,
        "pre-training helps": _helps,
    },
    "fig8": {
        "equivalent symbols come close": _close,
        "but later": _later,
        "pre-training helps": _helps,
        "but less": _helps_less,
    },
}
