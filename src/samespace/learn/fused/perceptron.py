"""A stacked perceptron as one differentiable function of its fused layers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
import triton
from torch.autograd.function import once_differentiable

from samespace.learn.fused import layers as kernels
from samespace.learn.fused.homogeneous import padded, transposed_product

if TYPE_CHECKING:
    from torch import Tensor

    Layer = tuple[Tensor, Tensor]

_ROWS, _PART = 64, 512
"""Rows that a program of the narrow layers takes at once, and in all where it sums over rows."""
_HEIGHT = 128
"""Rows of a tile of the wide layers' products: with 128 units and a depth of 64 the fastest of 40 shapes."""


class FusedPerceptron(torch.autograd.Function):
    """Layers (weight, bias), a leaky rectifier after each but the last."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float, *flat: Tensor) -> Tensor:
        layers = list(zip(flat[::2], flat[1::2], strict=True))
        x = x.contiguous()
        lifted = [_lifted(*layer) for layer in layers[1:-1]]
        rows = [_first(x, *layers[0], slope)]
        for weight in lifted:
            rows.append(product(rows[-1], weight, slope))
        ctx.save_for_backward(x, layers[-1][0], *lifted, *rows)
        ctx.slope, ctx.widths = slope, [x.shape[-1], *[bias.shape[-1] for _, bias in layers]]
        return _last(rows[-1], *layers[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, *rest = ctx.saved_tensors
        lifted, rows = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        grad, widths = grad.contiguous(), ctx.widths
        d, d_out = widths[-2:]
        last = _narrow_gradient(rows[-1], grad)
        grads = [last[:, :d, :d_out], last[:, d : d + 1, :d_out]]
        above = _last_backward(grad, weight, rows[-1], ctx.slope)
        inner = zip(lifted, rows[:-1], pairwise(widths[1:-1]), strict=True)
        for matrix, below, (d, d_out) in reversed(list(inner)):
            whole = transposed_product(below, above)
            grads[:0] = [whole[:, :d, :d_out], whole[:, d : d + 1, :d_out]]
            above = product(above, matrix.mT, ctx.slope, gate=below)
        first = _narrow_gradient(above, x).mT
        d, d_out = widths[:2]
        grads[:0] = [first[:, :d, :d_out], first[:, d : d + 1, :d_out]]
        return None, None, *grads


def product(a: Tensor, b: Tensor, slope: float, *, gate: Tensor | None = None) -> Tensor:
    """Return rectified a @ b in bfloat16, or a @ b times the slopes of rectified rows."""
    (k, rows, inner), outer = a.shape, b.shape[-1]
    width = 128 if outer % 128 == 0 else 64
    out = a.new_empty(k, rows, outer)
    grid = triton.cdiv(rows, _HEIGHT) * (outer // width), k
    kernels.product_kernel[grid](
        a, b, out if gate is None else gate, out, rows, inner, outer, b.stride(1), b.stride(2),
        slope, gate is not None, _HEIGHT, width, 64, num_warps=4, num_stages=3,
    )  # fmt: skip
    return out


def _lifted(weight: Tensor, bias: Tensor) -> Tensor:
    k, d, d_out = weight.shape
    out = weight.new_empty(k, padded(d), padded(d_out), dtype=torch.bfloat16)
    grid = triton.cdiv(out[0].numel(), 1024), k
    kernels.lift_kernel[grid](weight, bias, out, d, d_out, *out.shape[1:], 1024)
    return out


def _first(x: Tensor, weight: Tensor, bias: Tensor, slope: float) -> Tensor:
    (k, rows, d), d_out = x.shape, bias.shape[-1]
    out = x.new_empty(k, rows, padded(d_out), dtype=torch.bfloat16)
    grid = triton.cdiv(rows, _ROWS), k
    kernels.first_kernel[grid](
        x, weight, bias, out, rows, d, d_out, out.shape[-1], _power_of_2(d), slope, _ROWS
    )
    return out


def _last(below: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    (k, rows, units), (_, d, d_out) = below.shape, weight.shape
    out = weight.new_empty(k, rows, d_out)
    grid = triton.cdiv(rows, _ROWS), k
    kernels.last_kernel[grid](
        below, weight, bias, out, rows, d, d_out, units, _power_of_2(d_out), _ROWS
    )
    return out


def _last_backward(grad: Tensor, weight: Tensor, below: Tensor, slope: float) -> Tensor:
    (k, rows, units), (_, d, d_out) = below.shape, weight.shape
    out = torch.empty_like(below)
    grid = triton.cdiv(rows, _ROWS), k
    kernels.last_backward_kernel[grid](
        grad, weight, below, out, rows, d, d_out, units, _power_of_2(d_out), slope, _ROWS
    )
    return out


def _narrow_gradient(wide: Tensor, narrow: Tensor) -> Tensor:
    """Return wide' [narrow, 1] in float32: partial sums over rows, added in a fixed order."""
    (k, rows, units), d = wide.shape, narrow.shape[-1]
    across = _power_of_2(d + 1)
    out = narrow.new_empty(triton.cdiv(rows, _PART), k, units, across)
    kernels.narrow_gradient_kernel[(len(out), k)](
        wide, narrow, out, rows, _PART, d, units, across, _ROWS
    )
    return out.sum(0)


def _power_of_2(d: int) -> int:
    return max(16, triton.next_power_of_2(d))
