"""Arrays in memory, of any library that follows the array API standard, kept where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.cuda import serves
from samespace.errors import DtypeError, NotFiniteError, ShapeError
from samespace.sources.elements import REAL, check_real, widen
from samespace.sources.source import RandomAccess
from samespace.sources.stream import take_rows

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


class MemorySource(RandomAccess):
    """An array of NumPy, PyTorch, CuPy, JAX or another array-API library, on its own device.

    Batches are slices: nothing is copied and nothing moves between devices. Lists and data frames
    become NumPy arrays. Integers and booleans become float64 batch by batch.
    """

    in_memory = True

    def __init__(self, values: Any, name: str) -> None:
        self._values = _as_array(values, name)
        self.n, self.d = check_shape(tuple(self._values.shape), name)
        self._numpy = isinstance(self._values, np.ndarray)
        self.on_gpu = lies_on_gpu(self._values)
        self.dtype = (
            check_real(self._values.dtype, name)
            if self._numpy
            else _device_dtype(self._values, name)
        )

    def chunks(self, start: int, rows: int) -> Iterator[Float[Array, "k d"]]:
        """Yield slices of the array."""
        for first in range(start, self.n, rows):
            yield self._floating(self._values[first : min(first + rows, self.n), :])

    def take(self, rows: Int[Array, " k"]) -> Float[Array, "k d"]:
        """Gather rows on the array's device."""
        return self._floating(take_rows(self._values, rows))

    def _floating(self, block: Any) -> Float[Array, "k d"]:
        if self._numpy:
            return widen(block, self.dtype)
        if "float" in self.dtype:
            return block
        from array_api_compat import array_namespace

        namespace = array_namespace(block)
        return namespace.astype(block, _widest(namespace))


def lies_on_gpu(array: Any) -> bool:
    """Whether an array is PyTorch's or CuPy's on a GPU."""
    return serves(array) or type(array).__module__.startswith("cupy")


def _widest(namespace: Any) -> Any:
    """Return float64, or float32 where the library has no wider type switched on, as JAX by default."""
    types = namespace.__array_namespace_info__().dtypes(kind="real floating")
    return types.get("float64", types["float32"])


def check_shape(shape: tuple[int, ...], name: str) -> tuple[int, int]:
    """Return (n, d), or raise `ShapeError` when `shape` is not that of a non-empty matrix."""
    if len(shape) != 2:
        raise ShapeError(
            f"{name} has {len(shape)} dimensions, shape {shape}; needed is (rows, columns). "
            + _shape_advice(len(shape))
        )
    if 0 in shape:
        raise ShapeError(
            f"{name} is empty, shape {shape}; needed is at least one row and one column."
        )
    return shape[0], shape[1]


def _shape_advice(dimensions: int) -> str:
    if dimensions == 0:
        return "A single number is not a representation."
    if dimensions == 1:
        return "Write X.reshape(-1, 1) if every row is one number, X.reshape(1, -1) if this is one row."
    return "Write X.reshape(len(X), -1), or pick one layer or token, for instance X[:, 0]."


def _as_array(values: Any, name: str) -> Any:
    """Return the array itself when a library of the standard made it, else a NumPy array of it."""
    if isinstance(values, np.ma.MaskedArray):
        raise NotFiniteError(
            f"{name} is a masked array; needed is a number in every place. "
            "Drop the masked rows, or write X.filled(value)."
        )
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    if hasattr(values, "tocsr"):
        raise DtypeError(f"{name} is a sparse matrix; needed is a dense one. Write X.toarray().")
    from array_api_compat import is_array_api_obj

    if is_array_api_obj(values):
        # An estimate is about values; holding on to the graph that made them would keep it alive.
        return values.detach() if hasattr(values, "detach") else values
    return _from_sequence(values, name)


def _from_sequence(values: Any, name: str) -> Array:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ShapeError(
            f"{name} is a ragged list ({error}); needed are rows of one length. "
            "Pad or pool them to one length first."
        ) from error


def _device_dtype(array: Any, name: str) -> str:
    """Return the element type of a non-NumPy array without the name of its library."""
    dtype = str(array.dtype).rpartition(".")[2]
    if dtype in ("float16", "bfloat16", "float32", "float64", "bool"):
        return dtype
    if dtype.lstrip("u").startswith("int"):
        return dtype
    raise DtypeError(
        f"{name} holds elements of type {dtype}; needed are {REAL}. Convert them first."
    )
