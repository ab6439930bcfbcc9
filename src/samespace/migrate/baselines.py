"""Retrieval before and after a migration, against the two baselines that decide.

A map is worth its risk when retrieval through it beats *keeping the old model*, and it saves the price
of *embedding everything again* when it comes close to that. A score without these two says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from samespace.errors import OptionError
from samespace.inference import Interval
from samespace.maps import Map
from samespace.migrate.gate import SIDES, Side
from samespace.migrate.ranking import Similarity
from samespace.migrate.retrieval import Judgements, Retrieval, evaluate
from samespace.representation import Representation

_RESAMPLES = 2000


@dataclass(frozen=True)
class Difference:
    """A mean difference over queries with its interval, from resampling queries in pairs."""

    estimate: float
    interval: Interval

    @property
    def sign(self) -> int:
        """1 or -1 when the difference surely is above or below 0, else 0."""
        return int(self.interval.low > 0) - int(self.interval.high < 0)


@dataclass(frozen=True, eq=False)
class Migration:
    """Retrieval through a map, between the two baselines.

    Attributes
    ----------
    mapped
        Through the map.
    keep_old
        Baseline: the old model for queries and documents. Costs nothing.
    reembed
        Baseline: the new model for both. Costs a pass of the model over every document.
    unmapped
        New queries against the old index without a map; None when the widths differ.
    gain
        nDCG@10 of `mapped` minus that of `keep_old`: negative means that the map harms.
    shortfall
        nDCG@10 of `reembed` minus that of `mapped`: what embedding everything again would still bring.
    side
        Which side is mapped.
    """

    mapped: Retrieval
    keep_old: Retrieval
    reembed: Retrieval
    unmapped: Retrieval | None
    gain: Difference
    shortfall: Difference
    side: Side

    @property
    def reason(self) -> str:
        """One sentence that a human can act on."""
        gain = f"{self.gain.estimate:+.4f} nDCG@10 ({self.gain.interval.low:+.4f} to "
        gain += f"{self.gain.interval.high:+.4f})"
        if self.gain.sign > 0:
            return f"The map is better than keeping the old model by {gain}; use it."
        if self.gain.sign < 0:
            return f"The map is worse than keeping the old model, {gain}: keep it, or embed everything again."
        return (
            f"The map and keeping the old model cannot be told apart on these {self.mapped.queries} "
            f"queries, {gain}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the values query by query, as plain JSON-able values."""
        scores = {
            name: getattr(self, name) for name in ("mapped", "keep_old", "reembed", "unmapped")
        }
        return {
            "side": self.side,
            "reason": self.reason,
            **{name: one and one.to_dict() for name, one in scores.items()},
            "gain": asdict(self.gain),
            "shortfall": asdict(self.shortfall),
        }

    def __str__(self) -> str:
        rows = [
            ("keep the old model", self.keep_old),
            ("new queries, old index", self.unmapped),
            (f"map, {self.side}", self.mapped),
            ("re-embed everything", self.reembed),
        ]
        ks = list(self.mapped.recall)
        head = f"{'':24}{'nDCG@10':>9}{'MRR':>8}" + "".join(f"{f'recall@{k}':>12}" for k in ks)
        lines = [_line(name, one, ks) for name, one in rows if one is not None]
        return "\n".join([head, *lines, "", self.reason])


def evaluate_migration(
    fitted: Map,
    *,
    old_queries: Any,
    new_queries: Any,
    old_documents: Any,
    new_documents: Any,
    relevant: Judgements,
    side: Side = "old-to-new",
    ks: Sequence[int] = (1, 10, 100),
    similarity: Similarity = "cosine",
    level: float = 0.95,
    rng: np.random.Generator | int = 0,
) -> Migration:
    """Score retrieval through a map, and the two baselines that decide, on the same queries.

    Parameters
    ----------
    fitted
        The map: from old to new vectors, or from new to old, as `side` says. Fit it on documents
        other than these, or its score flatters.
    old_queries, new_queries, old_documents, new_documents
        The same queries and documents embedded by either model.
    relevant
        For each query the row numbers of the relevant documents, or a mapping of these to gains.
    side
        "old-to-new": new queries meet mapped old documents. "new-to-old": mapped new queries meet the
        old index, which stays as it is.
    ks, similarity
        As for `evaluate`.
    level
        Confidence of the intervals of `Migration.gain` and `Migration.shortfall`.
    rng
        Resamples the queries.

    Examples
    --------
    >>> import numpy as np, samespace as ss
    >>> rng = np.random.default_rng(0)
    >>> documents, rotation = rng.standard_normal((300, 8)), np.linalg.qr(rng.standard_normal((8, 8)))[0]
    >>> queries = documents[:100] + rng.standard_normal((100, 8))
    >>> report = evaluate_migration(
    ...     ss.maps.Orthogonal.fit(documents[100:], documents[100:] @ rotation),
    ...     old_queries=queries, new_queries=queries @ rotation,
    ...     old_documents=documents, new_documents=documents @ rotation,
    ...     relevant=[[i] for i in range(100)])
    >>> bool(np.isclose(report.mapped.ndcg, report.reembed.ndcg, atol=0.01))
    True
    """
    if side not in SIDES:
        raise OptionError(f"side={side!r}; write one of {', '.join(SIDES)}.")

    def score(queries: Any, documents: Any) -> Retrieval:
        return evaluate(queries, documents, relevant, ks=ks, similarity=similarity)

    if side == "old-to-new":
        mapped = score(new_queries, fitted.transform(_rows(old_documents)))
    else:
        mapped = score(fitted.transform(_rows(new_queries)), old_documents)
    keep_old, reembed = score(old_queries, old_documents), score(new_queries, new_documents)
    same_width = Representation.of(new_queries).d == Representation.of(old_documents).d
    generator = np.random.default_rng(rng)
    return Migration(
        mapped=mapped,
        keep_old=keep_old,
        reembed=reembed,
        unmapped=score(new_queries, old_documents) if same_width else None,
        gain=_difference(mapped, keep_old, level, generator),
        shortfall=_difference(reembed, mapped, level, generator),
        side=side,
    )


def _rows(values: Any) -> Any:
    return Representation.of(values).to_array()


def _difference(
    one: Retrieval, other: Retrieval, level: float, rng: np.random.Generator
) -> Difference:
    """Bootstrap over queries: both rankings answer the same ones, so these are drawn in pairs."""
    values = one.per_query["ndcg"] - other.per_query["ndcg"]
    draws = rng.integers(len(values), size=(_RESAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return Difference(float(values.mean()), Interval(float(low), float(high)))


def _line(name: str, one: Retrieval, ks: Sequence[int]) -> str:
    recall = "".join(f"{one.recall[k]:>12.4f}" for k in ks)
    return f"{name:24}{one.ndcg:>9.4f}{one.mrr:>8.4f}{recall}"
