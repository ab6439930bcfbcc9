"""``.safetensors`` files: one tensor of each, memory-mapped, bfloat16 included."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samespace.errors import DtypeError, FormatError, OptionError
from samespace.sources.agreement import check_agree
from samespace.sources.elements import REAL
from samespace.sources.mapped import MappedSource
from samespace.sources.memory import check_shape

# The format's own names; bfloat16 is mapped as its bits, because NumPy lacks it.
_STORED = {
    "F64": ("float64", "<f8"),
    "F32": ("float32", "<f4"),
    "F16": ("float16", "<f2"),
    "BF16": ("bfloat16", "<u2"),
    "I64": ("int64", "<i8"),
    "I32": ("int32", "<i4"),
    "I16": ("int16", "<i2"),
    "I8": ("int8", "i1"),
    "U64": ("uint64", "<u8"),
    "U32": ("uint32", "<u4"),
    "U16": ("uint16", "<u2"),
    "U8": ("uint8", "u1"),
    "BOOL": ("bool", "?"),
}


@dataclass(frozen=True)
class Tensor:
    """Where one tensor lies in its file: its first byte and the number of its bytes."""

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int

    def map(self) -> np.memmap:
        """Map the tensor's bytes as an array of the stored type."""
        stored = _STORED[self.dtype][1]
        return np.memmap(self.path, stored, "r", offset=self.offset, shape=self.shape)


class SafetensorsSource(MappedSource):
    """One tensor of each file, read as one matrix.

    Attributes
    ----------
    paths
        The files.
    tensor, others
        Of the first file: the tensor that is read, and the ones beside it by name.
    """

    def __init__(
        self, paths: Sequence[Path], *, column: str | None = None, id_column: str | None = None
    ) -> None:
        headers = [read_header(path) for path in paths]
        tensors = [_pick(header, column, path) for header, path in zip(headers, paths, strict=True)]
        for tensor in tensors:
            check_shape(tensor.shape, f"tensor '{tensor.name}' of {tensor.path}")
        dtypes = [_STORED[tensor.dtype][0] for tensor in tensors]
        check_agree(paths, [tensor.shape[1] for tensor in tensors], dtypes)
        ids = []
        if id_column is not None:
            ids = [_ids(h, id_column, t) for h, t in zip(headers, tensors, strict=True)]
        super().__init__([tensor.map() for tensor in tensors], dtypes[0], ids)
        self.paths, self.tensor = tuple(paths), tensors[0]
        self.others = {k: t for k, t in headers[0].items() if k != self.tensor.name}

    @property
    def beside(self) -> tuple[str, ...]:
        """The other tensors of the first file."""
        return tuple(self.others)


def read_header(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by name, having checked that all their bytes are there."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise FormatError(
                f"{path} is not a safetensors file, or truncated: {size} bytes, of which the first 8 "
                "do not give the length of a header within it. Write it with safetensors' save_file."
            )
        text = file.read(length)
    tensors = _parse(path, text, 8 + length)
    for tensor in tensors.values():
        _check_complete(tensor, size)
    return tensors


def _parse(path: Path, text: bytes, data: int) -> dict[str, Tensor]:
    try:
        entries = json.loads(text)
        return {
            name: _tensor(path, name, entry, data)
            for name, entry in entries.items()
            if name != "__metadata__"
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(
            f"{path} has a header that is not safetensors' JSON ({error!r}). "
            "Write it with safetensors' save_file."
        ) from error


def _tensor(path: Path, name: str, entry: Mapping[str, Any], data: int) -> Tensor:
    start, end = entry["data_offsets"]
    return Tensor(path, name, entry["dtype"], tuple(entry["shape"]), data + start, end - start)


def _check_complete(tensor: Tensor, size: int) -> None:
    if tensor.offset + tensor.size > size:
        raise FormatError(
            f"{tensor.path} is truncated: tensor '{tensor.name}' ends at byte "
            f"{tensor.offset + tensor.size} of a file of {size}. Write it again."
        )
    if tensor.dtype not in _STORED:
        return  # said, if this tensor is the one asked for, by `_pick`
    if tensor.size != math.prod(tensor.shape) * np.dtype(_STORED[tensor.dtype][1]).itemsize:
        raise FormatError(
            f"{tensor.path} contradicts itself: tensor '{tensor.name}' of shape {list(tensor.shape)} and "
            f"type {tensor.dtype} cannot have {tensor.size} bytes. Write it again."
        )


def _pick(tensors: Mapping[str, Tensor], column: str | None, path: Path) -> Tensor:
    if column is not None:
        return _checked(_named(tensors, column, path))
    matrices = [t for t in tensors.values() if len(t.shape) == 2 and t.dtype in _STORED]
    if len(matrices) == 1:
        return matrices[0]
    found = ", ".join(f"{t.name} {list(t.shape)}" for t in tensors.values()) or "none"
    raise OptionError(
        f"{path} holds {len(matrices)} matrices, needed is one (tensors: {found}). "
        "Name the one that is meant: column='name' in Python, --column NAME on the command line."
    )


def _named(tensors: Mapping[str, Tensor], name: str, path: Path) -> Tensor:
    if name not in tensors:
        raise OptionError(
            f"{path} has no tensor '{name}'; it has {', '.join(sorted(tensors)) or 'none'}."
        )
    return tensors[name]


def _checked(tensor: Tensor) -> Tensor:
    if tensor.dtype not in _STORED:
        raise DtypeError(
            f"tensor '{tensor.name}' of {tensor.path} holds {tensor.dtype}; needed are {REAL}."
        )
    return tensor


def _ids(tensors: Mapping[str, Tensor], name: str, rows: Tensor) -> np.memmap:
    ids = _checked(_named(tensors, name, rows.path))
    if ids.dtype[0] not in "IU" or ids.shape != rows.shape[:1]:
        raise DtypeError(
            f"tensor '{name}' of {rows.path} is {ids.dtype} of shape {list(ids.shape)}; ids need to "
            f"be integers of shape [{rows.shape[0]}]."
        )
    return ids.map()
