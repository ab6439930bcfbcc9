"""Are all values finite: one cheap reduction per batch, an exact search only when it is suspicious."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any as Array  # of any array library

    from jaxtyping import Float

_FLOAT16_EXPONENT = np.uint16(0x7C00)


def is_finite(batch: Float[Array, "k d"]) -> bool:
    """Whether every value of the batch is finite.

    NaN and infinity survive addition, so a finite sum proves that all values are. A sum that is not
    may still come from finite values that overflow, and is followed by a look at each.

    Examples
    --------
    >>> import numpy as np
    >>> is_finite(np.full((2, 2), 3e38, np.float32)), is_finite(np.array([[np.inf, -np.inf]]))
    (True, False)
    """
    if not isinstance(batch, np.ndarray):
        return _is_finite_on_device(batch)
    if batch.dtype == np.float16:
        # The sum of float16 overflows at 65504 and is slow; its bits tell at once: an exponent of
        # all ones is NaN or infinity.
        bits = batch.view(np.uint16) & _FLOAT16_EXPONENT
        return bool(bits.max() != _FLOAT16_EXPONENT)
    with np.errstate(over="ignore", invalid="ignore"):
        total = batch.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(batch).all())


def _is_finite_on_device(batch: Float[Array, "k d"]) -> bool:
    from array_api_compat import array_namespace

    return bool(array_namespace(batch).all(array_namespace(batch).isfinite(batch)))


def count_not_finite(
    chunks: Iterable[Float[Array, "k d"]],
) -> tuple[int, int, int, float]:
    """Return how many values are NaN or infinite, and row, column and value of the first."""
    count, first, where = 0, 0, (0, 0, 0.0)
    for chunk in chunks:
        block = _to_numpy(chunk)
        rows, columns = np.nonzero(~np.isfinite(block))
        if rows.size and not count:
            where = (first + int(rows[0]), int(columns[0]), float(block[rows[0], columns[0]]))
        count += rows.size
        first += len(block)
    return count, *where


def _to_numpy(chunk: Float[Array, "k d"]) -> Float[Array, "k d"]:
    """Bring a chunk to the host; float64 holds every type, bfloat16 included."""
    if isinstance(chunk, np.ndarray):
        return chunk
    from array_api_compat import array_namespace, to_device

    namespace = array_namespace(chunk)
    return np.asarray(to_device(namespace.astype(chunk, namespace.float64), "cpu"))
