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
    first = array[:4096]
    # In double precision: a float16 sum would overflow, a float32 mean would be coarse.
    if isinstance(first, np.ndarray):
        return first.mean(axis=0, dtype=np.float64)
    from array_api_compat import array_namespace

    xp = array_namespace(first)
    return to_host(xp.mean(xp.astype(first, xp.float64), axis=0))


def at_least_single(rows: Any) -> Array:
    """The same rows on the host, in their own precision or, for half precision, in float32."""
    rows = to_host(rows)
    return rows.astype(np.result_type(rows.dtype, np.float32), copy=False)
