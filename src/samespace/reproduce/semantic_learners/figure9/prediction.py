"""How well a number known of pairs before training ranks the distances that training makes of them.

Two questions over all pairs of the judged words: Spearman's correlation with the embedding distance averaged
over seeds, and the area under the ROC curve for which pairs *merged*. Intervals are a jackknife that leaves
out a twentieth of the *words* with all their pairs at a time, since pairs share words. For comparison stands
how well the distances of one seed rank those of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.inference import t_quantile
from samespace.theory.jackknife import spread

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from numpy import ndarray as Array

    from samespace.theory.occurrences import Occurrences

GROUPS = 20
LEAST_MERGED = 20
"""With fewer merged pairs the area under the curve is not computed."""

FREQUENCY = ("frequency gap", "rarity")


def predictors(
    counted: Occurrences, estimate: Float[Array, " pairs"], first: Array, second: Array
) -> dict[str, Float[Array, " pairs"]]:
    """Return what is compared, each a number per pair that should grow with its distance."""
    logs = np.log(counted.totals)
    return {
        "semantic distance": estimate,
        "plug-in distance": plug_in(counted)[first, second],
        "frequency gap": np.abs(logs[first] - logs[second]),
        "rarity": -(logs[first] + logs[second]),
    }


def plug_in(counted: Occurrences) -> Float[Array, "words words"]:
    """Return D of the relative frequencies as if they were exact: what counting without care would give."""
    rates = counted.cells / counted.totals[:, None]
    both = (rates @ rates.T).toarray()
    selves = np.diagonal(both)
    return 1.0 - 2.0 * both / (selves[:, None] + selves)


def judged(
    found: Mapping[str, Float[Array, " pairs"]],
    mean: Float[Array, " pairs"],
    merged: Bool[Array, " pairs"],
    first: Int[Array, " pairs"],
    second: Int[Array, " pairs"],
) -> dict[str, Any]:
    """Return for each predictor correlation, partial correlation and area, with intervals."""
    kept = [~_touches(first, second, group) for group in range(GROUPS)]
    given = [found[name] for name in FREQUENCY]

    def one(name: str, x: Float[Array, " pairs"]) -> dict[str, Any]:
        own = name not in FREQUENCY
        return {
            "correlation": _with_interval(lambda at: rank_correlation(x[at], mean[at]), kept),
            "beyond frequency": _with_interval(
                lambda at: partial_correlation(x[at], mean[at], [part[at] for part in given]), kept
            )
            if own
            else None,
            "area": _with_interval(lambda at: area(x[at], merged[at]), kept),
        }

    return {name: one(name, x) for name, x in found.items()}


def rank_correlation(x: Float[Array, " n"], y: Float[Array, " n"]) -> float:
    """Return Spearman's correlation."""
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def partial_correlation(
    x: Float[Array, " n"], y: Float[Array, " n"], given: list[Float[Array, " n"]]
) -> float:
    """Return Spearman's correlation of what is left of x and y when ranks of `given` are regressed out."""
    design = np.stack([np.ones(len(x)), *(_ranks(one) for one in given)], axis=1)
    ranks = np.stack([_ranks(x), _ranks(y)], axis=1)
    left = ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]
    return float(np.corrcoef(left.T)[0, 1])


def area(x: Float[Array, " n"], positive: Bool[Array, " n"]) -> float | None:
    """Return the probability that a positive has the smaller x, ties counting half; None for too few.

    Examples
    --------
    >>> area(np.arange(40.0), np.arange(40) < 20)
    1.0
    """
    few, others = int(positive.sum()), int((~positive).sum())
    if min(few, others) < LEAST_MERGED:
        return None
    above = _ranks(x)[positive].sum() - few * (few + 1) / 2
    return float(1.0 - above / (few * others))


def between_seeds(target: Float[Array, "members pairs"]) -> float | None:
    """Return how well one member's distances rank the mean of the others', averaged; None for one alone."""
    if len(target) < 2:
        return None
    total = target.sum(axis=0)
    return float(np.mean([rank_correlation(one, total - one) for one in target]))


def _ranks(x: Array) -> Array:
    from scipy.stats import rankdata

    return rankdata(x)


def _touches(first: Array, second: Array, group: int) -> Bool[Array, " pairs"]:
    return (first % GROUPS == group) | (second % GROUPS == group)


def _with_interval(
    statistic: Callable[[Any], float | None], kept: list[Bool[Array, " pairs"]]
) -> dict[str, Any] | None:
    values = [statistic(at) for at in (slice(None), *kept)]
    known = np.array([value for value in values if value is not None])
    if len(known) < len(values):
        return None
    reach = t_quantile(0.95, len(kept) - 1) * spread(known[1:])
    return {"value": known[0], "interval": [known[0] - reach, known[0] + reach]}
