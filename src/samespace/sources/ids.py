"""Row ids: integers or strings, and the 64-bit keys that pairing, folds and sampling use."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import DtypeError, PairingError, ShapeError

if TYPE_CHECKING:
    import pyarrow as pa
    from jaxtyping import UInt64
    from numpy import ndarray as Array

ADVICE = "Ids need to be integers or strings, one per row."


def hash_ids(ids: Any) -> UInt64[Array, " n"]:
    """Return a 64-bit key per id: an integer's own value, or the hash of a string's UTF-8 bytes.

    The key of a row depends on its id alone: not on the batch, the machine, the process or the seed.
    Two strings share a key with probability n^2 / 2^65: about one in a million for five million ids.

    Examples
    --------
    >>> hash_ids([7, 8])
    array([7, 8], dtype=uint64)
    >>> hash_ids(["doc-1"]) == hash_ids(["doc-0", "doc-1"])[1:]
    array([ True])
    """
    ids = to_ids(ids, "ids")
    if ids.dtype.kind in "iu":
        return ids.astype(np.uint64)
    texts = (text.encode() if isinstance(text, str) else text for text in ids.tolist())
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64, copy=False)


def kind_of(ids: Array) -> str:
    """Return ``"integers"`` or ``"strings"``: only ids of one kind can equal each other."""
    return "integers" if ids.dtype.kind in "iu" else "strings"


def to_ids(ids: Any, name: str) -> Array:
    """Return ids as a vector of integers or of strings, or raise what is wrong with them."""
    if hasattr(ids, "detach"):
        ids = ids.detach().cpu()  # ids are matched on the host, wherever the vectors are
    ids = np.asarray(ids)
    if ids.ndim != 1:
        raise ShapeError(f"{name} have shape {ids.shape}. {ADVICE}")
    if ids.dtype.kind in "iuUS":
        return ids
    if ids.dtype.kind in "OT":
        return _of_objects(ids, name)
    raise DtypeError(f"{name} are of type {ids.dtype}. {ADVICE} Write ids.astype('int64').")


def _of_objects(ids: Array, name: str) -> Array:
    """Accept Python strings, bytes or integers, all of one kind."""
    kinds = {type(value) for value in ids.tolist()}
    if kinds <= {str} or kinds <= {bytes}:
        return ids
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        return ids.astype(np.int64)
    if type(None) in kinds:
        row = ids.tolist().index(None)
        raise PairingError(f"{name} are missing, first in row {row}. {ADVICE} Drop these rows.")
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise DtypeError(f"{name} are of types {found}. {ADVICE}")


def from_arrow(array: pa.Array, where: str, first: int) -> Array:
    """Return a column of ids as NumPy integers or strings; `first` is the row number it starts at."""
    import pyarrow as pa
    import pyarrow.types as types

    if array.null_count:
        row = first + int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise PairingError(
            f"{where} has missing ids, first in row {row}. {ADVICE} Drop these rows."
        )
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    kind = array.type
    textual = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if types.is_integer(kind) or types.is_fixed_size_binary(kind) or any(t(kind) for t in textual):
        return array.to_numpy(zero_copy_only=False)
    raise DtypeError(f"{where} holds {kind}. {ADVICE} Cast the column to string.")
