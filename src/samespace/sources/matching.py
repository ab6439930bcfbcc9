"""Which row of one side belongs to which row of the other, by the keys of their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Int, UInt64
    from numpy import ndarray as Array


def match(
    keys_x: UInt64[Array, " n"], keys_y: UInt64[Array, " m"]
) -> tuple[Int[Array, " k"], Int[Array, " k"]]:
    """Return the row numbers of the pairs, in the order of the first side. Keys must be unique.

    Examples
    --------
    >>> import numpy as np
    >>> match(np.array([5, 7, 9], np.uint64), np.array([9, 5], np.uint64))
    (array([0, 2]), array([1, 0]))
    """
    if np.array_equal(keys_x, keys_y):
        rows = np.arange(len(keys_x))
        return rows, rows
    order = np.argsort(keys_y)
    at = np.searchsorted(keys_y, keys_x, sorter=order)
    at[at == len(order)] = 0  # past the end: compare with any row, it cannot be equal
    rows_y = order[at]
    found = keys_y[rows_y] == keys_x
    return np.flatnonzero(found), rows_y[found]


def duplicate_rows(keys: UInt64[Array, " n"]) -> Int[Array, " k"]:
    """Return the numbers of all rows whose key another row has too.

    Examples
    --------
    >>> import numpy as np
    >>> duplicate_rows(np.array([4, 2, 4, 3], np.uint64))
    array([0, 2])
    """
    if increasing(keys):
        return np.empty(0, np.int64)
    order = np.argsort(keys)
    same = keys[order[1:]] == keys[order[:-1]]
    return np.unique(np.concatenate([order[1:][same], order[:-1][same]]))


def increasing(values: Array) -> bool:
    """Whether every value is greater than the one before it."""
    return bool(np.all(values[1:] > values[:-1]))
