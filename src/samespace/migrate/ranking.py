"""The nearest documents of each query, exactly, without a matrix of all similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.errors import OptionError, ShapeError
from samespace.representation import Representation

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

Similarity = Literal["cosine", "dot"]

_QUERIES = 1024
_DOCUMENTS = 8192


def rank(
    queries: Any, documents: Any, *, depth: int = 100, similarity: Similarity = "cosine"
) -> Int[Array, "q k"]:
    """Return the row numbers of the `depth` most similar documents of each query, best first.

    Parameters
    ----------
    queries, documents
        Anything `samespace.Representation.of` takes; documents may be larger than memory.
    depth
        How many to return, or all documents if there are fewer.
    similarity
        "cosine" or "dot".

    Notes
    -----
    Similarities are float32, as in an index. Of equally similar documents the one that comes first in
    the file ranks first, so the ranking does not depend on how the work is cut.

    Examples
    --------
    >>> import numpy as np
    >>> documents = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 2.0]])
    >>> rank(np.array([[0.0, 1.0]]), documents, depth=2)
    array([[2, 1]])
    """
    if depth < 1:
        raise OptionError(f"depth={depth}; needed is at least 1.")
    if similarity not in ("cosine", "dot"):
        raise OptionError(f"similarity={similarity!r}; write 'cosine' or 'dot'.")
    Q = Representation.of(queries, name=None if _is_path(queries) else "queries")
    D = Representation.of(documents, name=None if _is_path(documents) else "documents")
    if Q.d != D.d:
        raise ShapeError(
            f"queries are {Q.d} wide and documents {D.d}; to be compared they need the same width. "
            "Map one side first."
        )
    questions = [_prepared(batch, similarity) for batch in Q.batches(_QUERIES)]
    best = [_Best.empty(len(batch)) for batch in questions]
    first = 0
    for batch in D.batches(_DOCUMENTS):
        block = _prepared(batch, similarity)
        best = [
            kept.merge(question @ block.T, first, depth)
            for kept, question in zip(best, questions, strict=True)
        ]
        first += len(block)
    return np.concatenate([kept.rows for kept in best])


class _Best:
    """The best documents so far of a block of queries, best first."""

    def __init__(self, scores: Float[Array, "q k"], rows: Int[Array, "q k"]) -> None:
        self._scores, self.rows = scores, rows

    @classmethod
    def empty(cls, queries: int) -> _Best:
        return cls(np.empty((queries, 0), np.float32), np.empty((queries, 0), np.int64))

    def merge(self, scores: Float[Array, "q m"], first: int, depth: int) -> _Best:
        """Return the best of these and of documents `first`, `first` + 1, ... with the scores given."""
        # Those kept stand in front: a stable sort then prefers the earlier of two equal documents.
        fresh = np.broadcast_to(np.arange(first, first + scores.shape[1]), scores.shape)
        scores, rows = _shortlist(scores, fresh, depth)
        scores = np.concatenate([self._scores, scores], axis=1)
        rows = np.concatenate([self.rows, rows], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
        return _Best(np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1))


def _shortlist(
    scores: Float[Array, "q m"], rows: Int[Array, "q m"], depth: int
) -> tuple[Float[Array, "q k"], Int[Array, "q k"]]:
    """Drop what cannot be among the `depth` best, in linear time; keep the order of the rest."""
    if scores.shape[1] <= 2 * depth:
        return scores, rows
    # Ties at the edge are decided by position, as a stable sort of everything would.
    edge = -np.partition(-scores, depth - 1, axis=1)[:, depth - 1 : depth]
    above = scores > edge
    room = depth - above.sum(axis=1, keepdims=True)
    tied = scores == edge
    keep = above | (tied & (np.cumsum(tied, axis=1) <= room))
    return scores[keep].reshape(len(scores), depth), rows[keep].reshape(len(rows), depth)


def _prepared(batch: Float[Array, "k d"], similarity: Similarity) -> Float[Array, "k d"]:
    rows = np.asarray(batch.detach().cpu().float() if hasattr(batch, "detach") else batch)
    rows = rows.astype(np.float32, copy=False)
    if similarity == "dot":
        return rows
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms == 0, 1, norms)


def _is_path(values: Any) -> bool:
    return (
        isinstance(values, str)
        or hasattr(values, "__fspath__")
        or isinstance(values, Representation)
    )
