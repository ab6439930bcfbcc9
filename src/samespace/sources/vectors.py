"""Arrow columns of vectors: which columns they are, and their numbers without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import DtypeError, NotFiniteError, OptionError, ShapeError

if TYPE_CHECKING:
    import pyarrow as pa
    from jaxtyping import Float
    from numpy import ndarray as Array


def vector_column(schema: pa.Schema, column: str | None, where: str) -> str:
    """Return the name of the column of vectors: `column` itself, or the only one there is."""
    if column is not None:
        return _check_vectors(schema, column, where)
    candidates = [f.name for f in schema if _is_float(element_type(f.type))]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise OptionError(
            f"{where} has {len(candidates)} columns of vectors: {', '.join(candidates)}. "
            "Name the one that is meant: column='name' in Python, --column NAME on the command line."
        )
    raise OptionError(
        f"{where} has no column of vectors; it has {_columns(schema)}. "
        "Needed is a list or fixed-size list of float16, float32 or float64."
    )


def _check_vectors(schema: pa.Schema, column: str, where: str) -> str:
    check_column(schema, column, where)
    kind = schema.field(column).type
    element = element_type(kind)
    if element is None or not (_is_float(element) or _is_integer(element)):
        raise DtypeError(
            f"column '{column}' of {where} holds {kind}; needed is a list or fixed-size list of "
            "numbers in every row."
        )
    return column


def check_column(schema: pa.Schema, column: str, where: str) -> None:
    """Raise `OptionError` naming the columns there are when `column` is not one of them."""
    if column not in schema.names:
        raise OptionError(f"{where} has no column '{column}'; it has {_columns(schema)}.")


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema) or "none"


def element_type(kind: Any) -> Any | None:
    """Return the type of the elements of a list type, None for any other type."""
    import pyarrow.types as types

    kind = getattr(kind, "storage_type", kind)
    if types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        return kind.value_type
    return None


def element_name(kind: Any) -> str:
    """Return the NumPy name of the element type of a list type."""
    return np.dtype(element_type(kind).to_pandas_dtype()).name  # type: ignore[union-attr]


def _is_float(kind: Any) -> bool:
    import pyarrow.types as types

    return kind is not None and types.is_floating(kind)


def _is_integer(kind: Any) -> bool:
    import pyarrow.types as types

    return types.is_integer(kind)


def width_of(array: pa.Array, where: str) -> int:
    """Return the length of the vectors: the type's own, or that of the first vector."""
    array = getattr(array, "storage", array)
    width = getattr(array.type, "list_size", None)
    if width is None and array.null_count:
        raise NotFiniteError(f"{where} has no vector in its first row; needed is one in every row.")
    if width is None:
        width = len(array[0])
    if not width:
        raise ShapeError(f"{where} has vectors without numbers; needed is at least one in each.")
    return int(width)


def to_matrix(array: pa.Array, width: int, where: str, first: int) -> Float[Array, "k d"]:
    """Return the vectors as a matrix that shares Arrow's memory.

    `first` is the row number of the first vector, for the messages.
    """
    array = getattr(array, "storage", array)
    if array.null_count:
        row = first + _first_null(array)
        raise NotFiniteError(
            f"{where} has no vector in {array.null_count} rows of this batch, first in row {row}; "
            "needed is one in every row. Drop these rows from both files, or pair by id."
        )
    if getattr(array.type, "list_size", width) != width or not hasattr(array.type, "list_size"):
        _check_lengths(array, width, where, first)
    values = array.flatten()
    if values.null_count:
        row = first + _first_null(values) // width
        raise NotFiniteError(f"{where} has {values.null_count} missing values, first in row {row}.")
    return values.to_numpy(zero_copy_only=True).reshape(-1, width)


def _check_lengths(array: pa.Array, width: int, where: str, first: int) -> None:
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(lengths != width)
    if wrong.size:
        raise ShapeError(
            f"{where} is ragged: row {first + wrong[0]} has {lengths[wrong[0]]} numbers, the rows "
            f"before it {width}; needed is one length. Pad or pool them to one length first."
        )


def _first_null(array: pa.Array) -> int:
    return int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
