"""Are all values finite; and if not, how many are not, and where is the first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any as Array  # of any array library

    from jaxtyping import Float

_FLOAT16_EXPONENT = np.uint16(0x7C00)


def is_finite(batch: Float[Array, "k d"]) -> bool:
    """Whether every value of the batch is finite, on the batch's own device.

    On the host a look at each value costs less than a sum of them: NumPy tests 16 float32 at a time, a
    quarter of the time that adding them takes, and a sum of finite float16 may overflow.

    Examples
    --------
    >>> import numpy as np
    >>> is_finite(np.full((2, 2), 3e38, np.float32)), is_finite(np.array([[np.inf, -np.inf]]))
    (True, False)
    """
    if not isinstance(batch, np.ndarray):
        return _is_finite_on_device(batch)
    if batch.dtype == np.float16:
        # NumPy's own test widens float16 first. Its bits tell at once: an exponent of all ones is
        # NaN or infinity.
        return bool((batch.view(np.uint16) & _FLOAT16_EXPONENT).max() != _FLOAT16_EXPONENT)
    return bool(np.isfinite(batch).all())


def _is_finite_on_device(batch: Float[Array, "k d"]) -> bool:
    from array_api_compat import array_namespace

    xp = array_namespace(batch)
    wide = xp.float64 if batch.dtype == xp.float64 else xp.float32
    # A device is as fast as its memory: one sum reads each value once, a test of each writes it too. What
    # is not finite makes the sum so; where finite values overflow in it, each is looked at.
    total = xp.sum(batch, dtype=wide)
    return bool(xp.isfinite(total)) or bool(xp.all(xp.isfinite(batch)))


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
    """Bring a chunk to the host, in a type that NumPy has."""
    if isinstance(chunk, np.ndarray):
        return chunk
    from array_api_compat import is_cupy_array, is_torch_array

    if is_torch_array(chunk):
        return chunk.detach().cpu().double().numpy()
    return chunk.get() if is_cupy_array(chunk) else np.asarray(chunk)
