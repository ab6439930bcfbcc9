"""Paired rows in memory, where they are: what the few measures that moments cannot answer begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import DegenerateError, OptionError
from samespace.moments import Moments
from samespace.representation import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jaxtyping import Float
    from numpy import ndarray as Array

_BLOCK_VALUES = 1 << 23
"""Distances in memory at a time, a block of rows against all: 64 MB in double precision."""


def paired_rows(x: Any, y: Any = None) -> tuple[Any, Any]:
    """The rows of x and y, paired and checked; of Moments (or a path's), the sample that they kept.

    Arrays stay on their device and in their type; arrays of two libraries or devices both become NumPy's.
    """
    if isinstance(x, Moments):
        return _kept(x)
    pair = x if isinstance(x, Pair) else Pair.of(x, y)
    X, Y = next((X, Y) for X, Y, _ in pair.batches(pair.n))
    return (X, Y) if _together(X, Y) else (to_host(X), to_host(Y))


def _kept(m: Moments) -> tuple[Array, Array]:
    if len(m.reservoir) < 2:
        raise OptionError(
            f"this measure needs rows, and these Moments kept {len(m.reservoir)} of {m.n}; "
            "write Moments.of(x, y, keep=2048), or pass the arrays."
        )
    return m.reservoir.x, m.reservoir.y


def _together(X: Any, Y: Any) -> bool:
    if isinstance(X, np.ndarray) or isinstance(Y, np.ndarray):
        return isinstance(X, np.ndarray) and isinstance(Y, np.ndarray)
    from array_api_compat import array_namespace, device

    return array_namespace(X) is array_namespace(Y) and device(X) == device(Y)


def ranks(rows: Any) -> Float[Array, "n d"]:
    """Rank of each value within its column, ties at their mean rank; on the host."""
    from scipy.stats import rankdata  # a third of a second to import

    return rankdata(to_host(rows), axis=0)


def widened(rows: Any) -> tuple[Any, Any]:
    """The array-API namespace of the rows, and the rows in single precision, or double where they need it."""
    from array_api_compat import array_namespace

    xp = array_namespace(rows)
    narrow = str(rows.dtype).rpartition(".")[2] in ("float32", "float16", "bfloat16")
    return xp, xp.astype(rows, xp.float32 if narrow else xp.float64)


def unit_rows(rows: Any, name: str) -> Any:
    """Rows divided by their length."""
    xp, rows = widened(rows)
    # Divided by the largest entry first, so that squares neither overflow nor vanish.
    largest = xp.max(xp.abs(rows), axis=1, keepdims=True)
    if not xp.all(largest > 0):
        zeros = int(np.sum(to_host(largest) == 0))
        raise DegenerateError(
            f"{zeros} of the {rows.shape[0]} rows of {name} are zero vectors, which have no direction; drop "
            "them, or centre the rows first (X - X.mean(0)) if they stand for the origin."
        )
    rows = rows / largest
    return rows / xp.sqrt(xp.sum(rows * rows, axis=1, keepdims=True))


def squared_distances(xp: Any, rows: Any, norms: Any, first: slice, second: slice) -> Any:
    """|x_i - x_j|^2 for i in one slice and j in another; ``norms`` are the squared lengths of all rows."""
    products = rows[first, :] @ rows[second, :].T
    return xp.clip(norms[first, None] + norms[None, second] - 2 * products, 0.0, None)


def blocks(n: int) -> Iterator[slice]:
    """Slices of rows so few that their distances to all n rows fit in memory easily."""
    rows = max(1, _BLOCK_VALUES // n)
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))
