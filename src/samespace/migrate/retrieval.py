"""How well a ranking finds what was judged relevant: recall@k, nDCG@10 and mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import OptionError, PairingError
from samespace.migrate.ranking import Similarity, rank
from samespace.representation import Representation

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

Judgements = Sequence[Collection[int] | Mapping[int, float]]

NDCG_DEPTH = 10


@dataclass(frozen=True, eq=False)
class Retrieval:
    r"""How well a ranking finds the documents judged relevant, mean over queries and query by query.

    With the documents at ranks :math:`1, 2, \dots`, gains :math:`g_r` and the set R of relevant ones,

    .. math:: \mathrm{recall}@k = \frac{|R \cap \mathrm{top}\,k|}{|R|}, \quad
              \mathrm{nDCG}@10 = \frac{\sum_{r \le 10} g_r / \log_2(1 + r)}{\text{the same, ideally ordered}},
              \quad \mathrm{MRR} = \frac{1}{\text{rank of the first of } R}.

    Attributes
    ----------
    recall
        Mean recall@k for each k.
    ndcg, mrr
        Mean nDCG@10; mean reciprocal rank, 0 for a query with nothing relevant within `depth`.
    queries, depth
        The number of queries, and the ranks looked at.
    per_query
        The same for each query: "recall@10", "ndcg", "mrr" and so on.
    """

    recall: dict[int, float]
    ndcg: float
    mrr: float
    queries: int
    depth: int
    per_query: dict[str, Float[Array, " q"]]

    def to_dict(self) -> dict[str, Any]:
        """The means, as plain JSON-able values."""
        recall = {f"recall@{k}": value for k, value in self.recall.items()}
        return recall | {"ndcg@10": self.ndcg, "mrr": self.mrr, "queries": self.queries}

    def __repr__(self) -> str:
        recall = ", ".join(f"recall@{k}={value:.4f}" for k, value in self.recall.items())
        return (
            f"Retrieval({recall}, ndcg={self.ndcg:.4f}, mrr={self.mrr:.4f}, queries={self.queries})"
        )


def evaluate(
    queries: Any,
    documents: Any,
    relevant: Judgements,
    *,
    ks: Sequence[int] = (1, 10, 100),
    similarity: Similarity = "cosine",
) -> Retrieval:
    """Rank documents for each query and score the ranking against judgements.

    Parameters
    ----------
    queries, documents
        Anything `samespace.Representation.of` takes; documents may be larger than memory.
    relevant
        For each query the row numbers of the relevant documents, or a mapping of these to gains.
    ks
        The depths of recall; the largest (at least 10) is how far the ranking is looked at.
    similarity
        "cosine" or "dot".

    Notes
    -----
    Gains are linear, as in trec_eval and BEIR. *When it misleads*: documents that nobody judged count
    as irrelevant, which favours the model whose results were judged; compare models on one judgement.

    References
    ----------
    Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, Section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> documents = np.eye(4)
    >>> evaluate(documents[:2] + 0.1, documents, [[0], [3]], ks=(1, 2))
    Retrieval(recall@1=0.5000, recall@2=0.5000, ndcg=0.7153, mrr=0.6250, queries=2)
    """
    if not ks or min(ks) < 1:
        raise OptionError(
            f"ks={tuple(ks)}; needed are depths of 1 or more, for instance (1, 10, 100)."
        )
    documents = Representation.of(documents)
    ranking = rank(queries, documents, depth=max(*ks, NDCG_DEPTH), similarity=similarity)
    gains, ideal, counts = _gains(ranking, relevant, documents.n)
    found = gains > 0
    per_query = {f"recall@{k}": found[:, :k].sum(axis=1) / counts for k in ks}
    per_query["ndcg"] = _discounted(gains) / _discounted(ideal)
    per_query["mrr"] = np.where(found.any(axis=1), 1 / (1 + found.argmax(axis=1)), 0.0)
    return Retrieval(
        recall={k: float(per_query[f"recall@{k}"].mean()) for k in ks},
        ndcg=float(per_query["ndcg"].mean()),
        mrr=float(per_query["mrr"].mean()),
        queries=len(ranking),
        depth=ranking.shape[1],
        per_query=per_query,
    )


def _gains(
    ranking: Int[Array, "q k"], relevant: Judgements, documents: int
) -> tuple[Float[Array, "q k"], Float[Array, "q k"], Int[Array, " q"]]:
    """Return the gains in ranked order, in ideal order, and the number of relevant documents."""
    if len(relevant) != len(ranking):
        raise PairingError(
            f"{len(ranking)} queries and {len(relevant)} judgements; needed is one for each query."
        )
    gains, ideal = np.zeros(ranking.shape), np.zeros(ranking.shape)
    counts = np.zeros(len(ranking), np.int64)
    for query, judged in enumerate(relevant):
        known = _positive(judged)
        if not known:
            raise PairingError(
                f"query {query} has no relevant document, so it cannot be scored. Drop such queries."
            )
        strange = [row for row in known if not 0 <= row < documents]
        if strange:
            raise PairingError(
                f"query {query} names document {strange[0]}; there are {documents}, numbered from 0."
            )
        gains[query] = [known.get(row, 0.0) for row in ranking[query].tolist()]
        best = sorted(known.values(), reverse=True)[: ranking.shape[1]]
        ideal[query, : len(best)] = best
        counts[query] = len(known)
    return gains, ideal, counts


def _positive(judged: Collection[int] | Mapping[int, float]) -> dict[int, float]:
    gains = judged if isinstance(judged, Mapping) else dict.fromkeys(judged, 1.0)
    return {int(row): float(gain) for row, gain in gains.items() if gain > 0}


def _discounted(gains: Float[Array, "q k"]) -> Float[Array, " q"]:
    top = gains[:, :NDCG_DEPTH]
    return top @ (1 / np.log2(2 + np.arange(top.shape[1])))
