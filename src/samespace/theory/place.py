"""Where two models are worked on: on the GPU that holds them, else on the host, in double precision.

All linear algebra of this room is written once, in the array API's words, and runs where its arrays lie.
Files, lists and tensors on the CPU become NumPy arrays; what is handed to the user is brought to the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace import batch
from samespace.accumulate import put, to_host
from samespace.sources.stream import take_rows

if TYPE_CHECKING:
    from typing import Any as Array  # of any array library

    from jaxtyping import Float, Int


def namespace(*arrays: Any) -> Any:
    """Return the array API's functions for these arrays."""
    from array_api_compat import array_namespace  # not loaded by `import samespace`

    return array_namespace(*arrays)


def device_of(array: Any) -> Any:
    """Return the array API's name of where an array lies."""
    from array_api_compat import device

    return device(array)


def together(*arrays: Any) -> list[Any]:
    """Bring all to the GPU that one of them lies on, else to the host; the precision stays."""
    arrays = tuple(batch.home(array) for array in arrays)
    there = next((array for array in arrays if not isinstance(array, np.ndarray)), None)
    return [array if there is None else beside(there, array) for array in arrays]


def beside(like: Any, array: Any) -> Any:
    """Put an array where `like` lies."""
    if type(array) is type(like):
        return array
    if isinstance(like, np.ndarray):
        return to_host(array)
    return put(to_host(array), like=like)


def double(rows: Any) -> Any:
    """Widen to double precision, where the rows are worked on."""
    rows = batch.home(rows)
    xp = namespace(rows)
    return xp.astype(rows, xp.float64, copy=False)


def chosen_rows(points: Float[Array, "n d"], index: Int[Array, " k"]) -> Float[Array, "k d"]:
    """Rows with these numbers, which are kept on the host."""
    return take_rows(points, np.asarray(index))


def unit(like: Any, size: int) -> Any:
    """Unit matrix where `like` lies."""
    xp = namespace(like)
    return xp.eye(size, dtype=xp.float64, device=device_of(like))
