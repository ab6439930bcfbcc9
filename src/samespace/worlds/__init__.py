"""Data-generating processes, one per file; each gives observations together with their latents.

Names are imported when first used, so that a world made of NumPy alone does not need torch.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "Box": "spaces",
    "ClusterWorld": "clusters",
    "GeneralisedNormal": "laws",
    "Labelled": "samples",
    "LatentWorld": "latent",
    "Mixing": "mixing",
    "Observed": "samples",
    "Pairs": "samples",
    "RadialWorld": "radial",
    "Sphere": "spaces",
    "Unbounded": "spaces",
    "Uniform": "laws",
    "VonMisesFisher": "vmf",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
