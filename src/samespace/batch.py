"""A batch of paired rows on its way into moments: on one device, with one key a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import ShapeError
from samespace.sources.memory import lies_on_gpu

if TYPE_CHECKING:
    from jaxtyping import Float, UInt64
    from numpy import ndarray as Array


def together(X: Any, Y: Any) -> tuple[Any, Any]:
    """Both sides where they can be multiplied: on their device, or on the host when either is there."""
    X, Y = home(X), home(Y)
    if type(X) is type(Y):
        return X, Y
    return to_host(X), to_host(Y)


def home(array: Any) -> Any:
    """NumPy where the host can multiply in double precision; a CUDA array stays on its device."""
    return array if lies_on_gpu(array) else to_host(array)


def checked_keys(keys: Any, n: int, *, first: int) -> UInt64[Array, " n"]:
    """One 64-bit key for each row; without any, running numbers from ``first``."""
    if keys is None:
        return np.arange(first, first + n, dtype=np.uint64)
    if np.shape(keys) != (n,):
        raise ShapeError(
            f"keys of shape {np.shape(keys)} for a batch of {n} rows; pass one key for each row."
        )
    return np.asarray(keys).astype(np.uint64, copy=False)


def mean_of(array: Any) -> Float[Array, " d"]:
    """Mean of the first rows, near which sums are taken."""
    # Row by row in double precision: a float16 sum would overflow, a float32 mean would be coarse.
    return np.asarray(rows_of(array, slice(0, 4096)), np.float64).mean(axis=0)


def rows_of(array: Any, index: Any) -> Array:
    """Some rows, on the host, in their own precision or, for half precision, in float32."""
    rows = to_host(array[index])
    return rows.astype(np.result_type(rows.dtype, np.float32), copy=False)
