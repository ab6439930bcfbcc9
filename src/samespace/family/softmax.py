"""Scores and their log-softmax, in whatever array library the model speaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from samespace.errors import ShapeError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

BLOCK = (
    2**24
)  # scores held at once: 64 MB in float32, more than any cache and less than any machine


def scores(F: Float[Array, "n m"], G: Float[Array, "k m"]) -> Float[Array, "n k"]:
    """Return f(x)'g(y) for every x and y of its set: G is (K, M), or (n, K, M) for sets per
    input.
    """
    if G.ndim == 2:
        return F @ G.T
    if G.shape[0] != F.shape[0]:
        raise ShapeError(
            f"{F.shape[0]} inputs need as many sets of labels; PerSample holds {G.shape[0]}."
        )
    return (G @ F[:, :, None])[:, :, 0]


def log_softmax(scores: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Return scores minus the logarithm of the sum of their exponentials, stable at any size.

    A score of minus infinity stands for a label that is not in S.
    """
    xp = namespace(scores)
    shifted = scores - xp.max(scores, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))


def row_blocks(F: Float[Array, "n m"], G: Any, *, entries: int = BLOCK) -> Iterator[slice]:
    """Cut the rows of F so that a block's scores against all labels hold no more than `entries`."""
    rows = max(1, entries // int(G.shape[-2]))
    return (slice(start, start + rows) for start in range(0, int(F.shape[0]), rows))


def namespace(array: Any) -> Any:
    """Return the array-API namespace of an array."""
    # Imported late: `import samespace` must need numpy and scipy alone.
    from array_api_compat import array_namespace

    return array_namespace(array)
