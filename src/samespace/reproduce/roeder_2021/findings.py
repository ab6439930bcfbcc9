"""What the records of Figure 2 say together: curves over pairs, verdicts at the end, the paper's
claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samespace.reproduce.record import Record, Value

_SHOWN = ("loss", "accuracy", "cca_f", "cca_g", "f_unexplained", "g_unexplained")
_AGREED = 0.99
_ABOUT_ONE = 0.01
"""The paper gives no number: "about 1" is read as 1 to within a hundredth."""


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the conditions: for each its curves, what its pairs are worth at the end, and the
    verdicts.
    """
    return {
        "claim": expected["fig2"]["claim"],
        "conditions": {record.piece: _condition(record) for record in records},
    }


def _condition(record: Record) -> dict[str, Any]:
    curves, final = record.values["curves"], record.values["final"]
    claimed = record.piece.startswith("paper")
    shown = {name: _curve(curves[name]) for name in _SHOWN}
    return {
        "settings": record.settings,
        "steps": record.values["steps"],
        "curves": shown,
        "at_the_end": {
            name: _value(curves[name][-1], claimed and name.startswith("cca")) for name in _SHOWN
        },
        "iterations_until_agreed": _first_agreed(record.values["steps"], curves["cca_f"]),
        "verdicts": _verdicts(final),
        "picture": _picture(final),
    }


def _curve(values: Sequence[Sequence[float | None]]) -> dict[str, list[float] | None]:
    """Mean and standard error over pairs (or members) at every evaluation."""
    if None in values[0]:
        return {"mean": None, "error": None}
    table = np.array(values)
    error = table.std(axis=1, ddof=1) / np.sqrt(table.shape[1])
    return {"mean": table.mean(axis=1).round(6).tolist(), "error": error.round(6).tolist()}


def _value(values: Sequence[float | None], claimed: bool) -> Value | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Value.of(known, paper=1.0 if claimed else None, at_least=_ABOUT_ONE)


def _first_agreed(steps: Sequence[int], cca: Sequence[Sequence[float]]) -> int | None:
    """Return the first evaluation from which on every pair's mean CCA is at least 0.99."""
    agreed = np.array(cca).min(axis=1) >= _AGREED
    lasting = np.flip(np.logical_and.accumulate(np.flip(agreed)))
    return int(np.asarray(steps)[lasting][0]) if lasting.any() else None


def _verdicts(final: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the joint verdict on each pair, and the numbers that stand behind it."""
    from samespace.family import compare_models, from_arrays

    F, G = np.array(final["f"]), np.array(final["g"])
    found = []
    for i in range(0, len(F), 2):
        old, new = (from_arrays(F[j], G[j], name=f"seed {j}") for j in (i, i + 1))
        joint = compare_models(old, new, observed=np.array(final["labels"]))
        said = joint.to_dict()
        found.append(
            {
                "verdict": joint.verdict.name,
                "reason": joint.verdict.reason,
                "likelihood": said["likelihood"],
                "agreement": said["agreement"],
                "bounds": said["bounds"],
                "conclusion": joint.conclusion,
            }
        )
    return found


def _picture(final: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the panels show of the first pair: the points, and f's first dimensions once
    mapped.
    """
    F, labels = np.array(final["f"]), np.array(final["labels"])
    lifted = np.column_stack([F[0], np.ones(len(F[0]))])
    mapped = lifted @ np.linalg.lstsq(lifted, F[1], rcond=None)[0]
    return {
        "z": final["z"],
        "labels": labels.tolist(),
        "mapped": mapped.round(4).tolist(),
        "target": F[1].round(4).tolist(),
    }
