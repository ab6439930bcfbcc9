"""``.npy`` files: one matrix, or several read as one, memory-mapped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from samespace.errors import FormatError
from samespace.sources.agreement import check_agree
from samespace.sources.elements import check_real
from samespace.sources.mapped import MappedSource
from samespace.sources.memory import check_shape


def open_npy(paths: Sequence[Path]) -> MappedSource:
    """Map ``.npy`` files that together hold the rows of one representation."""
    parts = [_map(path) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        check_shape(part.shape, str(path))
    dtypes = [check_real(part.dtype, str(path)) for path, part in zip(paths, parts, strict=True)]
    check_agree(paths, [part.shape[1] for part in parts], dtypes)
    return MappedSource(parts, dtypes[0])


def _map(path: Path) -> np.memmap:
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is an empty file; needed is an array that np.save wrote.")
    try:
        # Never allow_pickle: a pickle can run any code when it is read.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FormatError(f"{path} {_what_is_wrong(str(error))} ({error})") from error
    if not isinstance(array, np.memmap):
        raise FormatError(f"{path} is an .npz archive; needed is one array. {UNPACK}")
    return array


UNPACK = "Write np.save('x.npy', np.load('x.npz')['name'])."


def _what_is_wrong(message: str) -> str:
    if "pickle" in message or "Python objects" in message:
        return (
            "is a pickle or holds Python objects, which is never loaded because it can run any code. "
            "Write np.save('x.npy', np.stack(rows).astype('float32'))."
        )
    if "mmap length" in message or "EOF" in message or "no data left" in message.lower():
        return "is truncated: its header promises more rows than the file holds. Write it again."
    return "is not a readable .npy file. Write it with np.save."
