"""A stacked perceptron whose wide layers multiply bfloat16, with the weights kept in float32.

Its first and last layer stay in float32: they touch what it sees and what it is judged by. A wide layer
acts in homogeneous coordinates: a row carries a 1 behind its units, the bias is one more row of the
weight matrix, and a column of it hands the 1 on (a leaky rectifier leaves 1 as it is). So the bias costs
nothing forwards, and its gradient falls out of the weight's backwards. Rows are padded with zeros to a
multiple of 64 units: matrix units want it, and zeros stay zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional

from samespace.learn import fused
from samespace.learn.fused.homogeneous import padded, transposed_product

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

Layers = Sequence[tuple["Float[Tensor, 'k d d_out']", "Float[Tensor, 'k 1 d_out']"]]


def mixed_layers(
    x: Float[Tensor, "k n d_in"], layers: Layers, *, slope: float
) -> Float[Tensor, "k n d_out"]:
    """Return what three or more layers (weight, bias) make of rows, rectified after each but the last."""
    if fused.applies_to_layers(x, [weight for weight, _ in layers]):
        return fused.through_layers(x, layers, slope)
    (first, first_bias), *wide, (last, last_bias) = layers
    x = functional.leaky_relu(torch.baddbmm(first_bias, x, first), slope)
    return torch.baddbmm(last_bias, wide_layers(x, wide, slope=slope), last)


def wide_layers(
    x: Float[Tensor, "k n d_in"], layers: Layers, *, slope: float
) -> Float[Tensor, "k n d_out"]:
    """Return the float32 output of layers (weight, bias), each followed by a leaky rectifier.

    Products take bfloat16 numbers (8 bits of mantissa) and add them in float32, forwards and backwards;
    gradients reach the float32 weights. A relative error of 2^-9 in every activation remains.
    """
    flat = [part for layer in layers for part in layer]
    return _WideLayers.apply(x, slope, *flat)  # type: ignore[no-untyped-call]  # torch's gap


class _WideLayers(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float, *flat: Tensor) -> Tensor:
        pairs = zip(flat[::2], flat[1::2], strict=True)
        lifted = [_lifted_layer(weight, bias) for weight, bias in pairs]
        rows = [_lifted_rows(x)]
        for weight in lifted:
            rows.append(functional.leaky_relu_(torch.bmm(rows[-1], weight), slope))
        ctx.save_for_backward(*lifted, *rows)
        ctx.slope, ctx.widths = slope, [x.shape[-1], *[bias.shape[-1] for bias in flat[1::2]]]
        return rows[-1][..., : ctx.widths[-1]].float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        depth = len(ctx.widths) - 1
        lifted, rows = ctx.saved_tensors[:depth], ctx.saved_tensors[depth:]
        above = functional.pad(grad, (0, rows[-1].shape[-1] - grad.shape[-1])).to(torch.bfloat16)
        grads: list[Tensor] = []
        for layer in reversed(range(depth)):
            # A leaky rectifier keeps signs, so its output tells its slope.
            above = torch.ops.aten.leaky_relu_backward(above, rows[layer + 1], ctx.slope, True)
            d_in, d_out = ctx.widths[layer], ctx.widths[layer + 1]
            product = transposed_product(rows[layer], above)
            grads[:0] = [product[:, :d_in, :d_out], product[:, d_in : d_in + 1, :d_out]]
            # What arrives at the constant 1 goes to nobody: only the 1 below is its input.
            above = torch.bmm(above, lifted[layer].mT)
        return above[..., : ctx.widths[0]].float(), None, *grads


def _lifted_rows(x: Float[Tensor, "k n d"]) -> Float[Tensor, "k n units"]:
    """Return rows [x, 1, 0, ...] in bfloat16."""
    d = x.shape[-1]
    rows = x.new_zeros(*x.shape[:-1], padded(d), dtype=torch.bfloat16)
    rows[..., :d], rows[..., d] = x, 1.0
    return rows


def _lifted_layer(
    weight: Float[Tensor, "k d d_out"], bias: Float[Tensor, "k 1 d_out"]
) -> Float[Tensor, "k units units_out"]:
    """Return [[weight, 0], [bias, 1]] in bfloat16, padded with zeros."""
    k, d, d_out = weight.shape
    lifted = weight.new_zeros(k, padded(d), padded(d_out), dtype=torch.bfloat16)
    lifted[:, :d, :d_out], lifted[:, d, :d_out], lifted[:, d, d_out] = weight, bias[:, 0], 1.0
    return lifted
