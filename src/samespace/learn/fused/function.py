"""The kernels as one differentiable function: forwards keeps the log-sum-exp alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

from samespace.learn.fused import launch

if TYPE_CHECKING:
    from torch import Tensor


class FusedLogSumExp(torch.autograd.Function):
    """log sum_j exp(s(a_i, b_j) / temperature) per member and row; `b` None stands for a itself."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor | None, temperature: Tensor, p: int, skip_own: bool
    ) -> Tensor:
        scale = math.log2(math.e) / temperature
        base_2, natural = launch.logsumexp(a, a if b is None else b, scale, p, skip_own)
        ctx.save_for_backward(a, b, temperature, base_2)
        ctx.p, ctx.skip_own = p, skip_own
        return natural

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None, None, None]:
        a, b, temperature, lse = ctx.saved_tensors
        scale, grad = math.log2(math.e) / temperature, grad.contiguous()
        by = lse, grad
        if b is None:
            grad_a, grad_b = launch.gradient(a, a, scale, by, by, ctx.p, ctx.skip_own), None
        else:
            grad_a = launch.gradient(a, b, scale, by, None, ctx.p, ctx.skip_own)
            grad_b = launch.gradient(b, a, scale, None, by, ctx.p, ctx.skip_own)
        grad_t = None
        if ctx.needs_input_grad[2]:
            grad_t = _of_temperature(a, b, grad_a, grad_b, ctx.p) / temperature
        return grad_a, grad_b, grad_t, None, None


def _of_temperature(
    a: Tensor, b: Tensor | None, grad_a: Tensor, grad_b: Tensor | None, p: int
) -> Tensor:
    """Return minus sum_ij weight_ij s_ij / temperature, by Euler's theorem, from rows' gradients.

    A dot product is homogeneous of degree 1 in a, or 2 in both; a power distance of degree p in both, and
    it does not change with the origin, near which the products cancel least.
    """
    if p == 0:
        degree = 2 if b is None else 1
        return -(a * grad_a).sum((1, 2)) / degree
    origin = (a if b is None else b).mean(1, keepdim=True)
    total = ((a - origin) * grad_a).sum((1, 2))
    if b is not None and grad_b is not None:
        total = total + ((b - origin) * grad_b).sum((1, 2))
    return -total / p
