"""Element types: which are numbers, and how those that NumPy lacks become ones it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import DtypeError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

REAL = "float16, bfloat16, float32, float64, integers or booleans"


def widen(block: Array, dtype: str) -> Float[Array, ...]:
    """Return `block` as floating point numbers of this machine, without a copy where it is so already.

    float16, float32 and float64 stay as they are; bfloat16, stored as its 16 bits, becomes the
    float32 of the same value; integers, booleans and long doubles become float64.

    Examples
    --------
    >>> import numpy as np
    >>> widen(np.array([0x3F80, 0xC000], np.uint16), "bfloat16")
    array([ 1., -2.], dtype=float32)
    >>> widen(np.array([True, False]), "bool")
    array([1., 0.])
    """
    if dtype == "bfloat16":
        # A bfloat16 is the upper half of a float32: moving its bits up is exact.
        return np.left_shift(block.view(np.uint16).astype(np.uint32), 16).view(np.float32)
    if block.dtype.kind == "f" and block.dtype.itemsize <= 8:
        return block.astype(block.dtype.newbyteorder("="), copy=False)
    return block.astype(np.float64)


def check_real(dtype: np.dtype, name: str) -> str:
    """Return the name of a NumPy element type that holds real numbers, or raise `DtypeError`."""
    if dtype.name == "bfloat16" or dtype.kind in "fiub":
        return dtype.name
    raise DtypeError(f"{name} holds {_describe(dtype)}; needed are {REAL}. {_advice(dtype)}")


def _describe(dtype: np.dtype) -> str:
    kinds = {"O": "Python objects", "U": "strings", "S": "bytes", "c": f"complex numbers ({dtype})"}
    return kinds.get(dtype.kind, f"elements of type {dtype}")


def _advice(dtype: np.dtype) -> str:
    if dtype.kind == "c":
        return "Write np.hstack([X.real, X.imag]) if both parts are features."
    if dtype.kind == "O":
        return (
            "Write np.stack(rows).astype('float32') if every object is a vector of the same length."
        )
    return "Write X.astype('float32') if these are numbers."
