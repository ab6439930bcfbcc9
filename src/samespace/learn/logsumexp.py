"""Row-wise log-sum-exp of a similarity matrix that is never stored.

This is the one function that a fused kernel replaces: everything contrastive is a sum over rows of
its value and of similarities of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from samespace.learn import fused
from samespace.learn.similarity import DotProduct, Kernel, PowerDistance, Similarity

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

# Numbers in a block of similarities: with its scratch, 2 MiB in float32, what a core's cache holds.
BLOCK = 1 << 18


def logsumexp_rows(
    a: Float[Tensor, "*k rows d"],
    b: Float[Tensor, "*k columns d"],
    *,
    similarity: Similarity,
    temperature: Float[Tensor, "*k"],
    skip_own: bool = False,
) -> Float[Tensor, "*k rows"]:
    """Return log sum_j exp(similarity(a_i, b_j) / temperature) per row, in memory linear in rows.

    Forwards keeps one number per row; backwards makes the blocks again. `DotProduct` and
    `PowerDistance` go through kernels of their own (`samespace.learn.fused` for float32 on a GPU),
    any other similarity through autograd on one block of rows at a time.

    Parameters
    ----------
    skip_own
        Leave column i out of row i: the row itself, where a and b are the same rows.
    """
    if not isinstance(similarity, DotProduct | PowerDistance):
        return _by_autograd(a, b, similarity, temperature[..., None, None], skip_own)
    if fused.applies(a, b, similarity):
        return fused.logsumexp_rows(a, b, similarity, temperature, skip_own)
    a, b, kernel = similarity.lift(a, b, temperature[..., None, None])
    members = a.shape[:-2]
    flat = _Kernelled.apply(  # type: ignore[no-untyped-call]  # torch does not annotate it
        a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]), kernel, skip_own
    )
    return flat.reshape(*members, a.shape[-2])


class _Kernelled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, kernel: Kernel, skip_own: bool) -> Tensor:
        lse = a.new_empty(a.shape[:2])
        for k, rows, block, scratch in _blocks(a, b):
            kernel.block(a[k, rows], b[k], block, scratch)
            _skip(block, rows, skip_own)
            top = block.amax(dim=1)
            total = block.sub_(top[:, None]).exp_().sum(1)
            torch.add(top, total.log_(), out=lse[k, rows])
        ctx.save_for_backward(a, b, lse)
        ctx.kernel, ctx.skip_own = kernel, skip_own
        return lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        a, b, lse = ctx.saved_tensors
        grad_a, grad_b = torch.zeros_like(a), torch.zeros_like(b)
        for k, rows, block, scratch in _blocks(a, b):
            ctx.kernel.block(a[k, rows], b[k], block, scratch)
            _skip(block, rows, ctx.skip_own)
            weight = block.sub_(lse[k, rows, None]).exp_().mul_(grad[k, rows, None])
            ctx.kernel.pull(weight, a[k, rows], b[k], grad_a[k, rows], grad_b[k], scratch)
        return grad_a, grad_b, None, None


def _by_autograd(
    a: Tensor, b: Tensor, similarity: Similarity, temperature: Tensor, skip_own: bool
) -> Tensor:
    def reduced(part: Tensor, start: int) -> Tensor:
        block = similarity(part, b) / temperature
        if skip_own:
            own = _own(slice(start, start + part.shape[-2]), block)
            block = block.masked_fill(own, -torch.inf)
        return block.logsumexp(-1)

    step = _rows_per_block(b.shape[-2])
    starts = range(0, a.shape[-2], step)
    parts = [
        checkpoint(reduced, a[..., start : start + step, :], start, use_reentrant=False)
        for start in starts
    ]
    return torch.cat(parts, dim=-1)


def _blocks(a: Tensor, b: Tensor) -> Iterator[tuple[int, slice, Tensor, Tensor]]:
    """Go through members and their rows, with the same memory for every block and its scratch."""
    members, rows, columns = a.shape[0], a.shape[1], b.shape[1]
    step = min(rows, _rows_per_block(columns))
    block, scratch = a.new_empty(step, columns), a.new_empty(step, columns)
    for k in range(members):
        for start in range(0, rows, step):
            count = min(step, rows - start)
            yield k, slice(start, start + count), block[:count], scratch[:count]


def _rows_per_block(columns: int) -> int:
    return max(1, BLOCK // columns)


def _skip(block: Tensor, rows: slice, skip_own: bool) -> None:
    if skip_own:
        block.masked_fill_(_own(rows, block), -torch.inf)


def _own(rows: slice, block: Tensor) -> Tensor:
    """Mark, in a block of these rows, each row's own column."""
    columns = torch.arange(block.shape[-1], device=block.device)
    return columns == torch.arange(rows.start, rows.stop, device=block.device)[:, None]
