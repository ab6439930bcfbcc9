"""Similarities between rows, and the two passes over a block of them that objectives need.

A *similarity* is any function from ``a`` (..., R, d) and ``b`` (..., C, d) to (..., R, C), larger for
what is more alike: a lambda, a module with weights of its own. The two of the papers are
`DotProduct` and `PowerDistance`. They also have kernels, which write a block in place and pull
a weighted block back to gradients, so that no autograd graph of the block is ever kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from samespace.errors import OptionError

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

Similarity = Callable[["Tensor", "Tensor"], "Tensor"]


class Kernel(Protocol):
    """The arithmetic of one block of similarities, forwards and backwards, without autograd."""

    def block(
        self,
        a: Float[Tensor, "rows d"],
        b: Float[Tensor, "columns d"],
        out: Tensor,
        scratch: Tensor,
    ) -> None:
        """Write the similarities of rows and columns to `out`."""

    def pull(
        self,
        weight: Float[Tensor, "rows columns"],
        a: Float[Tensor, "rows d"],
        b: Float[Tensor, "columns d"],
        grad_a: Float[Tensor, "rows d"],
        grad_b: Float[Tensor, "columns d"],
        scratch: Tensor,
    ) -> None:
        """Add the gradient of sum(weight * similarities) to `grad_a` and `grad_b`."""


@dataclass(frozen=True)
class DotProduct:
    """a'b: the similarity of the sphere (Zimmermann's p = 0) and of the canonical family."""

    def __call__(
        self, a: Float[Tensor, "*k r d"], b: Float[Tensor, "*k c d"]
    ) -> Float[Tensor, "*k r c"]:
        if a.shape[-2] == 1:  # a row of its own for each: many tiny matrix products would be slow
            return (a * b).sum(-1)[..., None, :]
        return a @ b.mT

    def lift(
        self, a: Float[Tensor, "*k r d"], b: Float[Tensor, "*k c d"], temperature: Tensor
    ) -> tuple[Tensor, Tensor, Kernel]:
        """Return rows and a kernel whose similarities are these, divided by the temperature."""
        return a / temperature, b, _ProductKernel()


@dataclass(frozen=True)
class PowerDistance:
    """-sum_i |a_i - b_i|^p: minus the p-th power (no root) of the L^p distance, p >= 1."""

    p: float

    def __post_init__(self) -> None:
        if self.p < 1:
            raise OptionError(
                f"A power distance needs p >= 1 for its gradient to exist at 0; got p={self.p}."
            )

    def __call__(
        self, a: Float[Tensor, "*k r d"], b: Float[Tensor, "*k c d"]
    ) -> Float[Tensor, "*k r c"]:
        return -(a[..., :, None, :] - b[..., None, :, :]).abs().pow(self.p).sum(-1)

    def lift(
        self, a: Float[Tensor, "*k r d"], b: Float[Tensor, "*k c d"], temperature: Tensor
    ) -> tuple[Tensor, Tensor, Kernel]:
        """Return rows and a kernel whose similarities are these, divided by the temperature.

        p = 2 is a product of longer rows, -|a - b|^2 = [2a, -|a|^2, 1]'[b, 1, -|b|^2]; of the others
        the temperature is an inverse p-th power of the rows' scale.
        """
        # Distances do not change with the origin; near it, the differences cancel least.
        origin = b.detach().mean(dim=-2, keepdim=True)
        scale = temperature.pow(-1.0 / self.p)
        a, b = (a - origin) * scale, (b - origin) * scale
        if self.p == 2:
            return *_squares(a, b), _ProductKernel()
        return a, b, _PowerKernel(self.p)


def _squares(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    size_a, size_b = a.square().sum(-1, keepdim=True), b.square().sum(-1, keepdim=True)
    left = torch.cat([2.0 * a, -size_a, torch.ones_like(size_a)], dim=-1)
    right = torch.cat([b, torch.ones_like(size_b), -size_b], dim=-1)
    return left, right


class _ProductKernel:
    """Dot products: one matrix product forwards, two backwards."""

    def block(self, a: Tensor, b: Tensor, out: Tensor, scratch: Tensor) -> None:
        torch.mm(a, b.T, out=out)

    def pull(
        self, weight: Tensor, a: Tensor, b: Tensor, grad_a: Tensor, grad_b: Tensor, scratch: Tensor
    ) -> None:
        grad_a.addmm_(weight, b)
        grad_b.addmm_(weight.T, a)


class _PowerKernel:
    """Minus sums of |a_i - b_i|^p, one coordinate at a time through a block that stays in cache."""

    def __init__(self, p: float) -> None:
        self.p = p

    def block(self, a: Tensor, b: Tensor, out: Tensor, scratch: Tensor) -> None:
        if self.p == 1:
            _absolute_block(a, b, out, scratch)
            return
        out.zero_()
        for a_i, b_i in zip(a.T, b.T.contiguous(), strict=True):
            torch.sub(a_i[:, None], b_i, out=scratch)
            out.sub_(scratch.abs_().pow_(self.p))

    def pull(
        self, weight: Tensor, a: Tensor, b: Tensor, grad_a: Tensor, grad_b: Tensor, scratch: Tensor
    ) -> None:
        size = torch.empty_like(scratch) if self.p != 1 else scratch
        for i, (a_i, b_i) in enumerate(zip(a.T, b.T.contiguous(), strict=True)):
            torch.sub(a_i[:, None], b_i, out=scratch)
            if self.p != 1:
                torch.abs(scratch, out=size)
            slope = scratch.sign_()
            if self.p != 1:
                slope.mul_(size.pow_(self.p - 1.0))
            slope.mul_(weight)
            grad_a[:, i].sub_(slope.sum(1), alpha=self.p)
            grad_b[:, i].add_(slope.sum(0), alpha=self.p)


def _absolute_block(a: Tensor, b: Tensor, out: Tensor, scratch: Tensor) -> None:
    """Write -|a - b|_1 by |s - t| = 2 max(s, t) - s - t: one pass over the block less than by abs."""
    out.zero_()
    for a_i, b_i in zip(a.T, b.T.contiguous(), strict=True):
        torch.maximum(a_i[:, None], b_i, out=scratch)
        out.sub_(scratch)
    out.mul_(2.0).add_(a.sum(1)[:, None]).add_(b.sum(1))
