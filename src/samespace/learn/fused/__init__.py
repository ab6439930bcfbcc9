"""Kernels that make similarities in registers or on tensor cores, and never store their matrix.

They are written in Triton, which comes with PyTorch for CUDA; it is imported on their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from samespace.cuda import has_kernels
from samespace.learn.fused.homogeneous import padded
from samespace.learn.fused.limits import ENDS, NARROW, WIDE
from samespace.learn.similarity import DotProduct, PowerDistance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jaxtyping import Float
    from torch import Tensor


def applies(a: Tensor, b: Tensor, similarity: DotProduct | PowerDistance) -> bool:
    """Tell whether there is a kernel for such rows."""
    if not (has_kernels(a) and has_kernels(b) and a.dtype == b.dtype == torch.float32):
        return False
    return bool(a.numel() and b.numel()) and covers(similarity, a.shape[-1])


def covers(similarity: DotProduct | PowerDistance, d: int) -> bool:
    """Tell whether a similarity has a kernel for rows of d numbers."""
    p = 0 if isinstance(similarity, DotProduct) else similarity.p
    return p in (0, 1, 2, 3) if d <= NARROW else p in (0, 2) and d + 2 <= WIDE


def logsumexp_rows(
    a: Float[Tensor, "*k rows d"],
    b: Float[Tensor, "*k columns d"],
    similarity: DotProduct | PowerDistance,
    temperature: Float[Tensor, "*k"],
    skip_own: bool,
) -> Float[Tensor, "*k rows"]:
    """Return what `samespace.learn.logsumexp.logsumexp_rows` does, one launch each way.

    Where a is b, both roles of a row are gathered by the same thread: one pass backwards, not two.
    """
    from samespace.learn.fused.function import FusedLogSumExp

    p = 0 if isinstance(similarity, DotProduct) else int(similarity.p)
    same = a is b
    if p == 2 and a.shape[-1] > NARROW:
        one = torch.ones_like(temperature)
        a, b, _ = similarity.lift(a, b, temperature[..., None, None])
        p, same, temperature = 0, False, one
    members = a.shape[:-2]
    flat_a = a.reshape(-1, *a.shape[-2:])
    flat_b = None if same else b.reshape(-1, *b.shape[-2:])
    flat = FusedLogSumExp.apply(flat_a, flat_b, temperature.reshape(-1), p, skip_own)  # type: ignore[no-untyped-call]  # torch does not annotate it
    return flat.reshape(*members, a.shape[-2])


def applies_to_layers(x: Tensor, weights: Sequence[Tensor]) -> bool:
    """Tell whether there are kernels for a perceptron of these weights, on rows that need no gradient."""
    if not has_kernels(x) or x.dtype != torch.float32 or x.requires_grad:
        return False
    (d_in, first), (last, d_out) = weights[0].shape[1:], weights[-1].shape[1:]
    ends = padded(first), padded(last)
    return max(d_in, d_out) < NARROW and all(end in ENDS for end in ends)


def through_layers(
    x: Float[Tensor, "k n d_in"], layers: Sequence[tuple[Tensor, Tensor]], slope: float
) -> Float[Tensor, "k n d_out"]:
    """Return what `samespace.learn.wide_layers.mixed_layers` does, a launch or two per layer each way."""
    from samespace.learn.fused.perceptron import FusedPerceptron

    flat = [part for layer in layers for part in layer]
    return FusedPerceptron.apply(x, slope, *flat)  # type: ignore[no-untyped-call]  # torch does not annotate it
