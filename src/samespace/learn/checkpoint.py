"""Unfinished training on disk: written whole or not at all, and never taken for another's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from samespace.errors import FormatError, InterruptedWorkError


def save(path: Path, state: Mapping[str, Any], *, identity: str) -> None:
    """Write the state to a temporary neighbour, flush it to the disk, and move it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with scratch.open("wb") as file:
        torch.save({"identity": identity, "state": dict(state)}, file)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def load(path: Path, *, identity: str, device: str | torch.device) -> dict[str, Any] | None:
    """Return the state saved under this identity, None if there is none yet."""
    if not path.exists():
        return None
    try:
        # weights_only: a checkpoint holds tensors and plain values, so nothing in it is executed.
        saved = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # torch raises several types for files that are not its own
        raise FormatError(
            f"{path} is not a checkpoint ({error}); delete it to start over."
        ) from error
    if saved["identity"] != identity:
        raise InterruptedWorkError(
            f"{path} holds the unfinished training of other settings ({saved['identity']}) than those "
            f"given now ({identity}); delete it to start over, or give another path."
        )
    return dict(saved["state"])
