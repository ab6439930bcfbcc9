"""Kernels for wide rows and the dot product: tiles of similarities, three tensor-core passes each.

The counterparts of `registers`, of the same arguments. Products are of float32 in three parts of
tf32, since one tf32 product keeps but three digits.
"""

# Triton reads the annotations of kernels and knows none but its own.
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl

_SIZES = ["rows", "columns", "length", "step_a", "step_b"]
"""No kernel is compiled anew for sizes that happen to be 1 or multiples of 16."""

_FAR = tl.constexpr(-1e30)
"""Below every similarity, and finite, so that nothing is taken from itself at infinity."""


@triton.jit(do_not_specialize=_SIZES)
def logsumexp_kernel(
    a,
    b,
    scale,
    out,
    rows,
    columns,
    length,
    step_a,
    step_b,
    D: tl.constexpr,
    PADDED: tl.constexpr,
    SKIP_OWN: tl.constexpr,
    TILE: tl.constexpr,
):
    """Write log2 sum 2^(scale s) over one part of the columns, (parts, members, rows)."""
    part, member = tl.program_id(1), tl.program_id(2)
    own = tl.program_id(0) * TILE + tl.arange(0, TILE)
    x = _rows(a + member.to(tl.int64) * step_a, own, rows, D, PADDED)
    others = b + member.to(tl.int64) * step_b
    scaled = tl.load(scale + member)
    top = tl.full([TILE], _FAR, tl.float32)
    total = tl.zeros([TILE], tl.float32)
    last = tl.minimum(columns, (part + 1) * length)
    for start in range(part * length, last, TILE):
        at = start + tl.arange(0, TILE)
        s = _similarity(x, _rows(others, at, last, D, PADDED), own, at, last, SKIP_OWN) * scaled
        highest = tl.maximum(top, tl.max(s, 1))
        total = total * tl.exp2(top - highest) + tl.sum(tl.exp2(s - highest[:, None]), 1)
        top = highest
    to = out + (part * tl.num_programs(2) + member).to(tl.int64) * rows + own
    tl.store(to, top + tl.log2(total), mask=own < rows)


@triton.jit(do_not_specialize=_SIZES)
def gradient_kernel(
    a,
    b,
    scale,
    lse_a,
    grad_lse_a,
    lse_b,
    grad_lse_b,
    out,
    rows,
    columns,
    length,
    step_a,
    step_b,
    D: tl.constexpr,
    PADDED: tl.constexpr,
    SKIP_OWN: tl.constexpr,
    BY_A: tl.constexpr,
    BY_B: tl.constexpr,
    TILE: tl.constexpr,
):
    """Write, for owners a, the gradient through one part of b, (parts, members, rows, d)."""
    part, member = tl.program_id(1), tl.program_id(2)
    own = tl.program_id(0) * TILE + tl.arange(0, TILE)
    held = tl.minimum(own, rows - 1)
    x = _rows(a + member.to(tl.int64) * step_a, own, rows, D, PADDED)
    others = b + member.to(tl.int64) * step_b
    scaled = tl.load(scale + member)
    total = tl.zeros([TILE, PADDED], tl.float32)
    last = tl.minimum(columns, (part + 1) * length)
    for start in range(part * length, last, TILE):
        at = start + tl.arange(0, TILE)
        y = _rows(others, at, last, D, PADDED)
        s = _similarity(x, y, own, at, last, SKIP_OWN) * scaled
        weight = tl.zeros([TILE, TILE], tl.float32)
        if BY_A:
            lse = tl.load(lse_a + member * rows + held)
            grad = tl.load(grad_lse_a + member * rows + held)
            weight += grad[:, None] * tl.exp2(s - lse[:, None])
        if BY_B:
            reached = tl.minimum(at, last - 1)
            lse = tl.load(lse_b + member * columns + reached)
            grad = tl.load(grad_lse_b + member * columns + reached)
            weight += grad[None, :] * tl.exp2(s - lse[None, :])
        total += tl.dot(weight, y, input_precision="tf32x3")
    to = out + ((part * tl.num_programs(2) + member).to(tl.int64) * rows + own[:, None]) * D
    c = tl.arange(0, PADDED)[None, :]
    unit = (
        scaled * 0.6931471805599453
    )  # of log2, in which the weights are, to the natural logarithm
    tl.store(to + c, total * unit, mask=(own[:, None] < rows) & (c < D))


@triton.jit
def _similarity(x, y, own, at, last, SKIP_OWN: tl.constexpr):
    s = tl.dot(x, tl.trans(y), input_precision="tf32x3")
    there = at[None, :] < last
    if SKIP_OWN:
        there = there & (own[:, None] != at[None, :])
    return tl.where(there, s, float("-inf"))


@triton.jit
def _rows(base, index, count, D: tl.constexpr, PADDED: tl.constexpr):
    """Load rows, with zeros after their end and after the last of them."""
    c = tl.arange(0, PADDED)[None, :]
    at = base + index.to(tl.int64)[:, None] * D + c
    return tl.load(at, mask=(index[:, None] < count) & (c < D), other=0.0)
