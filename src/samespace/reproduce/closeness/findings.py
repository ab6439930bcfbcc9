"""What the stages say together: whether the bounds held, how tight they were, what tells similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samespace.reproduce.closeness.study import MEASURES
from samespace.reproduce.record import Record, Value


def summarise(records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the conditions' stages; count violations of the bounds and rank the predictors."""
    conditions = {record.piece: _condition(record) for record in records}
    stages = {
        name: np.concatenate([np.ravel(record.values["curves"][name]) for record in records])
        for name in MEASURES
    }
    llv2, gap2 = stages["llv"] ** 2, stages["log_odds_gap"] ** 2
    return {
        "conditions": conditions,
        "stages": len(llv2),
        "violations_of_2_llv_squared": int(np.sum(stages["svd"] > 2 * llv2 + 1e-12)),
        "violations_of_half_gap_squared": int(np.sum(stages["svd"] > 0.5 * gap2 + 1e-12)),
        "violations_of_4_llv_squared_by_the_linear_map": int(
            np.sum(stages["unexplained_odds"] > 4 * llv2 + 1e-12)
        ),
        "bound_is_informative": float(np.mean(2 * llv2 < 1)),
        "authors_bound_is_informative": float(np.mean(4 * stages["llv"] < 1)),
        "median_tightness": float(np.median(stages["svd"] / (2 * llv2))),
        "median_tightness_of_half_gap": float(np.median(stages["svd"] / (0.5 * gap2))),
        "rank_correlation_with_svd": {
            name: spearman(stages[name], stages["svd"])
            for name in ("llv", "kl", "loss_gap", "loss")
        },
        "rank_correlation_with_affine_error": {
            name: spearman(stages[name], stages["affine_error"])
            for name in ("llv", "kl", "loss_gap", "loss")
        },
    }


def _condition(record: Record) -> dict[str, Any]:
    curves = record.values["curves"]
    last = {name: Value.of(curves[name][-1]) for name in MEASURES}
    return {
        "settings": record.settings,
        "steps": record.values["steps"],
        "curves": curves,
        "final": last,
    }


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Rank correlation; ties are as good as absent among measured numbers."""
    first, second = (np.argsort(np.argsort(values)) for values in (x, y))
    return float(np.corrcoef(first, second)[0, 1])
