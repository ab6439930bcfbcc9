"""What Figure 9 says of the paper's claim, and of the forecast, by rules fixed beforehand.

*Closer*: the ratio of two kinds' mean distances, averaged over pairs within a seed, is under 1 with the
upper end of its 95% interval over seeds. *Foretold*: with frequencies regressed out, the 95% interval of the
semantic distance's correlation with the embedding distance lies above 0; and that of the area under the ROC
curve for merged pairs lies above 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samespace.inference import t_quantile
from samespace.reproduce.record import Record, Value

_ORDER = (("fabricated", "natural"), ("natural", "unrelated"), ("fabricated", "unrelated"))


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Judge every population; curves and points stand beside the numbers for the drawing."""
    claim = expected.get("fig9", {}).get("claim")
    return {"claim_of_the_paper": claim, "starts": {one.piece: _judged(one) for one in records}}


def _judged(record: Record) -> dict[str, Any]:
    values = record.values
    curves, kinds, foretold = values["curves"], values["kinds"], values["foretold"]
    ratios = {f"{a} / {b}": _ratio(curves, a, b) for a, b in _ORDER}
    ours = foretold["neighbour"]["semantic distance"]
    return {
        "claims": {
            **{
                f"{a} closer than {b}": _below(ratios[f"{a} / {b}"]["interval"], 1.0)
                for a, b in _ORDER
            },
            "counts foretell distances": _above(ours["beyond frequency"], 0.0),
            "counts foretell which pairs merge": _above(ours["area"], 0.5),
        },
        "ratios": ratios,
        "share of pairs closer than the median unrelated pair": {
            kind: _closer(kinds, kind) for kind in ("fabricated", "natural")
        },
        "found of the counts": {kind: _relations(one) for kind, one in kinds.items()},
        "held_out_loss": Value.of(curves["held_out_loss"][-1]),
        "untrained_loss": Value.of(curves["held_out_loss"][0]),
        "corpus": {
            name: part if not isinstance(part, list) else len(part)
            for name, part in values["corpus"].items()
        },
        "judged": {name: part for name, part in values["judged"].items() if name != "scatter"},
        "foretold": foretold,
        "curves": curves,
        "points": {
            **{
                kind: {name: one[name] for name in ("semantic", "distance")}
                for kind, one in kinds.items()
            },
            "judged": values["judged"]["scatter"],
        },
    }


def _ratio(curves: Mapping[str, Any], a: str, b: str) -> dict[str, Any]:
    ratio = np.array(curves[f"{a} mean"][-1]) / np.array(curves[f"{b} mean"][-1])
    if len(ratio) < 2:
        return {"value": Value.of(ratio.tolist()), "interval": None}
    reach = t_quantile(0.95, len(ratio) - 1) * ratio.std(ddof=1) / np.sqrt(len(ratio))
    mean = ratio.mean()
    return {"value": Value.of(ratio.tolist()), "interval": [mean - reach, mean + reach]}


def _below(interval: Sequence[float] | None, bound: float) -> bool | None:
    """Tell whether a number is surely below the bound, surely not, or None where neither is sure."""
    if interval is None or interval[0] <= bound <= interval[1]:
        return None
    return bool(interval[1] < bound)


def _above(found: Mapping[str, Any] | None, bound: float) -> bool | None:
    below = None if found is None else _below(found["interval"], bound)
    return None if below is None else not below


def _closer(kinds: Mapping[str, Any], kind: str) -> float:
    usual = np.median(kinds["unrelated"]["distance"])
    return float(np.mean(np.array(kinds[kind]["distance"]) < usual))


def _relations(one: Mapping[str, Any]) -> dict[str, Any]:
    relation = np.array(one["relation"])
    return {
        "pairs": len(relation),
        "median semantic distance": float(np.median(one["semantic"])),
        "equivalent": int((relation == 1).sum()),
        "undecided": int((relation == 0).sum()),
        "different": int((relation == -1).sum()),
    }
