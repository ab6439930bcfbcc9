"""Tensors with JSON metadata in one safetensors file: how moments and maps are kept. Never pickle."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import FormatError, MissingSourceError, OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy import ndarray as Array

_VERSION = 1


def save_tensors(
    path: str | Path, *, kind: str, tensors: Mapping[str, Array], metadata: Mapping[str, Any]
) -> None:
    """Write atomically: a reader sees the old file or the whole new one."""
    from safetensors.numpy import save

    header = {"samespace": json.dumps({"kind": kind, "version": _VERSION, **metadata})}
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(save({k: np.ascontiguousarray(v) for k, v in tensors.items()}, header))
        partial.replace(target)
    except OSError as error:
        raise OutputError(
            f"cannot write {str(path)!r} ({error.strerror}); give a path in a folder that exists and "
            "that you may write to."
        ) from error
    finally:
        with suppress(OSError):  # it may never have been there
            partial.unlink()


def load_tensors(path: str | Path, *, kind: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Tensors and metadata that :func:`save_tensors` wrote for this kind of object."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise MissingSourceError(f"no file at {str(path)!r}; it should hold saved {kind}.")
    try:
        with safe_open(str(path), framework="numpy") as file:
            header = (file.metadata() or {}).get("samespace")
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
    except SafetensorError as error:
        raise FormatError(f"{str(path)!r} is not a whole safetensors file ({error}).") from error
    metadata = json.loads(header) if header else {}
    found = metadata.get("kind", "tensors of another program")
    if found != kind:
        raise FormatError(f"{str(path)!r} holds {found}; {kind} saved by samespace are needed.")
    if metadata["version"] > _VERSION:
        raise FormatError(
            f"{str(path)!r} was written by a newer samespace (format {metadata['version']}); upgrade."
        )
    return tensors, metadata
