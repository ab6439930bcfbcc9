"""How mapped vectors lie in a file: what comes before the rows, and what after.

The rows of a ``.npy`` or ``.safetensors`` file are its bytes, so the file of unfinished rows becomes
the output by a header in front of it: nothing is written twice.
"""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np

from samespace.migrate.partial import Partial
from samespace.sources.safetensors import SafetensorsSource, Tensor
from samespace.sources.source import Source

Progress = Callable[[str, int, int], None]

VECTOR = "vector"  # the column's or tensor's name where the input has none
_SAFE_NAMES = {"float16": "F16", "float32": "F32", "float64": "F64"}
_COPY_BYTES = 16 << 20


@dataclass(frozen=True)
class Layout(ABC):
    """The layout of one output file.

    Attributes
    ----------
    shape, dtype
        Of the mapped vectors.
    dropped
        What the input holds beside the vectors and this layout does not keep.
    """

    shape: tuple[int, int]
    dtype: str
    dropped: tuple[str, ...] = ()

    @property
    def row_bytes(self) -> int:
        """The size of a row of vectors."""
        return self.shape[1] * np.dtype(self.dtype).itemsize

    @classmethod
    @abstractmethod
    def plan(cls, source: Source, shape: tuple[int, int], dtype: str) -> Self:
        """Return the layout for what `source` holds: its vectors mapped, the rest as it is."""

    @abstractmethod
    def header(self) -> bytes:
        """Return the bytes before the first row."""

    @abstractmethod
    def finish(self, partial: Partial, progress: Progress | None) -> Path:
        """Complete the output once all rows are there; return the file that it is in."""


@dataclass(frozen=True)
class NpyLayout(Layout):
    """A ``.npy`` file: one matrix and nothing else."""

    @classmethod
    def plan(cls, source: Source, shape: tuple[int, int], dtype: str) -> Self:
        return cls(shape, dtype, source.beside)

    def header(self) -> bytes:
        buffer = io.BytesIO()
        layout = {"descr": np.dtype(self.dtype).str, "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(buffer, layout)
        return buffer.getvalue()

    def finish(self, partial: Partial, progress: Progress | None) -> Path:
        return partial.rows_path


@dataclass(frozen=True)
class SafetensorsLayout(Layout):
    """A ``.safetensors`` file: the vectors under their old name, then the other tensors as they were."""

    name: str = VECTOR
    others: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def plan(cls, source: Source, shape: tuple[int, int], dtype: str) -> Self:
        if isinstance(source, SafetensorsSource) and len(source.paths) == 1:
            return cls(shape, dtype, name=source.tensor.name, others=source.others)
        return cls(shape, dtype, source.beside)

    def header(self) -> bytes:
        end = self.shape[0] * self.row_bytes
        entries = {self.name: _entry(_SAFE_NAMES[self.dtype], self.shape, 0, end)}
        for name, tensor in self.others.items():
            entries[name] = _entry(tensor.dtype, tensor.shape, end, end + tensor.size)
            end += tensor.size
        text = json.dumps(entries).encode()
        text += b" " * (-len(text) % 8)  # the format aligns the data to eight bytes
        return len(text).to_bytes(8, "little") + text

    def finish(self, partial: Partial, progress: Progress | None) -> Path:
        for tensor in self.others.values():
            _copy(tensor, partial)
        return partial.rows_path


def _entry(dtype: str, shape: tuple[int, ...], start: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def _copy(tensor: Tensor, partial: Partial) -> None:
    with tensor.path.open("rb") as file:
        file.seek(tensor.offset)
        left = tensor.size
        while left:
            data = file.read(min(left, _COPY_BYTES))
            partial.append_bytes(data)
            left -= len(data)
