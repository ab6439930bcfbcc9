"""What layers in homogeneous coordinates share, whoever multiplies them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

_UNITS = 64
_ROWS = 3072
"""Rows that one partial sum of a weight's gradient goes over: enough of them to occupy a GPU."""


def padded(d: int) -> int:
    """Return the units that d of them and a 1 take."""
    return -(-(d + 1) // _UNITS) * _UNITS


def transposed_product(
    rows: Float[Tensor, "k n d"], above: Float[Tensor, "k n d_out"]
) -> Float[Tensor, "k d d_out"]:
    """Return rows' @ above in float32, as a sum of partial products over parts of the rows."""
    k, n, _ = rows.shape
    parts = n // _ROWS if n % _ROWS == 0 else 1
    split = [side.reshape(k * parts, n // parts, side.shape[-1]) for side in (rows, above)]
    partial = torch.bmm(split[0].mT, split[1])
    return partial.view(k, parts, *partial.shape[1:]).sum(1, dtype=torch.float32)
