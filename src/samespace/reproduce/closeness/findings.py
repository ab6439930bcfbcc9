"""What the stages say together: whether the bounds held, how tight they were, what tells similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.closeness.study import MEASURES
from samespace.reproduce.record import Record, Value

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    Stages = Mapping[str, Float[Array, " stages"]]

_ROUNDING = 1e-12
_CLOSE = {"t1": (0.05, 0.1, 0.2, 0.5), "kl": (0.001, 0.003, 0.01, 0.03, 0.1)}
"""What "close" may mean, in each measure's own unit."""


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the conditions' stages; hold every bound against all of them, and rank the predictors."""
    stages = {
        name: np.concatenate([np.ravel(record.values["curves"][name]) for record in records])
        for name in MEASURES
    }
    return {
        "conditions": {record.piece: _condition(record) for record in records},
        "stages": len(stages["t1"]),
        "bounds": {name: _bound(stages[what], at_most) for name, what, at_most in bounds(stages)},
        "what_close_means": [
            _within(stages, name, limit) for name, limits in _CLOSE.items() for limit in limits
        ],
        "rank_correlations": {
            predicted: {name: _rank_correlation(stages[name], stages[predicted]) for name in known}
            for predicted in ("svd", "affine_error")
            for known in [("t1", "kl", "loss_gap", "loss")]
        },
    }


def bounds(stages: Stages) -> list[tuple[str, str, Float[Array, " stages"]]]:
    """Name every bound, what it bounds, and its value at every stage."""
    t1, t2, gap = stages["t1"], stages["t2"], stages["log_odds_gap"]
    return [
        ("d_SVD of f <= 2 T1^2", "svd", 2.0 * t1**2),
        ("d_SVD of f <= gap^2 / 2", "svd", 0.5 * gap**2),
        ("d_SVD of f <= 2 M d_LLV (the authors')", "svd", 4.0 * stages["llv"]),
        ("d_SVD of g <= 2 T2^2", "svd_g", 2.0 * t2**2),
        ("log-odds beyond a linear map <= 4 T1^2", "unexplained_odds", 4.0 * t1**2),
        ("log-odds beyond a linear map <= gap^2", "unexplained_odds", gap**2),
    ]


def _bound(measured: Float[Array, " stages"], at_most: Float[Array, " stages"]) -> dict[str, Any]:
    """Count violations; a bound says something where it is below 1, which every share is."""
    return {
        "violations": int(np.sum(measured > at_most + _ROUNDING)),
        "says_something": float(np.mean(at_most < 1.0)),
        "median_of_measured_over_bound": float(np.median(measured / at_most)),
    }


def _within(stages: Stages, name: str, limit: float) -> dict[str, Any]:
    """Return the worst that was seen among the stages that are this close."""
    close = stages[name] <= limit
    worst = {
        what: float(stages[what][close].max()) if close.any() else None
        for what in ("svd", "affine_error")
    }
    return {"measure": name, "at_most": limit, "stages": int(close.sum()), "worst": worst}


def _condition(record: Record) -> dict[str, Any]:
    curves = record.values["curves"]
    return {
        "settings": record.settings,
        "steps": record.values["steps"],
        "curves": curves,
        "final": {name: Value.of(curves[name][-1]) for name in MEASURES},
    }


def _rank_correlation(x: Float[Array, " stages"], y: Float[Array, " stages"]) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(x, y).statistic)
