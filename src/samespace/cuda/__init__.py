"""What PyTorch's tensors on a GPU get beyond array operations: copies that do not wait, and kernels.

Everything here is a quicker way to what the callers also do by the array API alone, for CuPy and others.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import ndarray as Array


def serves(array: Any) -> bool:
    """Whether an array is PyTorch's on a GPU."""
    return bool(getattr(array, "is_cuda", False))


def has_kernels(array: Any) -> bool:
    """Whether there are kernels for such an array: they are written in Triton, which PyTorch brings along."""
    return serves(array) and _has_triton()


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


def upload(array: Array, *, like: Any) -> Any:
    """A copy of a NumPy array beside a tensor, without waiting for what runs there.

    From pinned memory, since a copy from any other waits for all work before it.
    """
    import torch

    return torch.from_numpy(array).pin_memory().to(like.device, non_blocking=True)
