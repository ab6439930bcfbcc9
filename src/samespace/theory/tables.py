"""Values of f and g in float64 on the host: whole tables, or their products with a few vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.representation import Representation
from samespace.theory.place import beside, double
from samespace.theory.triangle import block_rows

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def table(rows: Any) -> Float[Array, "n d"]:
    """Return anything the gate takes, checked, as one float64 array."""
    return np.asarray(to_host(Representation.of(rows).to_array()), dtype=np.float64)


def projected(rows: Any, vectors: Float[Array, "d c"]) -> Float[Array, "n c"]:
    """Return rows @ vectors, reading the rows in blocks."""
    source = Representation.of(rows)
    blocks = (
        double(batch) for batch in source.batches(block_rows(source.d, on_gpu=source.source.on_gpu))
    )
    return np.concatenate([to_host(block @ beside(block, vectors)) for block in blocks])
