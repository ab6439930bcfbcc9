"""Kernels of a stacked perceptron in mixed precision: each makes a layer and its rectifier in one pass.

Rows between layers are bfloat16 in homogeneous coordinates, as `samespace.learn.wide_layers` has them:
the units, a 1, zeros up to a multiple of 64. The outer sides of the first and last layer are float32.
"""

# Triton reads the annotations of kernels and knows none but its own, and compiles what follows a branch
# unless that is its `else`.
# ruff: noqa: SIM108
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl

_SIZES = ["rows"]
"""No kernel is compiled anew for numbers of rows that happen to be multiples of 16."""


@triton.jit
def lift_kernel(
    weight,
    bias,
    out,
    D: tl.constexpr,
    D_OUT: tl.constexpr,
    UNITS: tl.constexpr,
    UNITS_OUT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write [[weight, 0], [bias, 1]] in bfloat16, zeros around it."""
    member = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = at // UNITS_OUT, at % UNITS_OUT
    value = tl.load(
        weight + (member * D + row) * D_OUT + column, (row < D) & (column < D_OUT), other=0.0
    )
    value += tl.load(bias + member * D_OUT + column, (row == D) & (column < D_OUT), other=0.0)
    value = tl.where((row == D) & (column == D_OUT), 1.0, value)
    tl.store(out + member * UNITS * UNITS_OUT + at, value.to(tl.bfloat16))


@triton.jit(do_not_specialize=_SIZES)
def first_kernel(
    x,
    weight,
    bias,
    out,
    rows,
    D: tl.constexpr,
    D_OUT: tl.constexpr,
    UNITS: tl.constexpr,
    PADDED: tl.constexpr,
    SLOPE: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write the rectified first layer of float32 rows."""
    member = tl.program_id(1)
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c, u = tl.arange(0, PADDED), tl.arange(0, UNITS)
    own = _narrow(x, member, at, rows, D, PADDED)
    matrix = tl.load(
        weight + (member * D + c)[:, None] * D_OUT + u[None, :],
        (c < D)[:, None] & (u < D_OUT)[None, :],
        other=0.0,
    )
    value = tl.dot(own, matrix, input_precision="ieee")
    value += tl.load(bias + member * D_OUT + u, u < D_OUT, other=0.0)[None, :]
    value = tl.where(value > 0.0, value, SLOPE * value)
    value = tl.where((u == D_OUT)[None, :], 1.0, value)
    to = (member.to(tl.int64) * rows + at)[:, None] * UNITS + u[None, :]
    tl.store(out + to, value.to(tl.bfloat16), (at < rows)[:, None])


@triton.jit(do_not_specialize=_SIZES)
def product_kernel(
    a,
    b,
    gate,
    out,
    rows,
    INNER: tl.constexpr,
    OUTER: tl.constexpr,
    STEP_INNER: tl.constexpr,
    STEP_OUTER: tl.constexpr,
    SLOPE: tl.constexpr,
    GATED: tl.constexpr,
    ROWS: tl.constexpr,
    UNITS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Write a @ b, then rectified; or `GATED`, multiplied by the slopes of the rectified rows `gate`."""
    member = tl.program_id(1).to(tl.int64)
    # Programs that follow each other share rows of a, which then come from the cache.
    at = tl.program_id(0) // (OUTER // UNITS) * ROWS + tl.arange(0, ROWS)
    u = tl.program_id(0) % (OUTER // UNITS) * UNITS + tl.arange(0, UNITS)
    k = tl.arange(0, DEPTH)
    left = a + (member * rows + tl.minimum(at, rows - 1))[:, None] * INNER + k[None, :]
    right = b + member * INNER * OUTER + k[:, None] * STEP_INNER + u[None, :] * STEP_OUTER
    value = tl.zeros([ROWS, UNITS], tl.float32)
    for _ in range(0, INNER, DEPTH):
        value = tl.dot(tl.load(left), tl.load(right), value)
        left += DEPTH
        right += DEPTH * STEP_INNER
    to = (member * rows + at)[:, None] * OUTER + u[None, :]
    inside = (at < rows)[:, None]
    if GATED:
        positive = tl.load(gate + to, inside, other=0.0) > 0.0
    else:
        positive = value > 0.0
    tl.store(out + to, tl.where(positive, value, SLOPE * value).to(tl.bfloat16), inside)


@triton.jit(do_not_specialize=_SIZES)
def last_kernel(
    below,
    weight,
    bias,
    out,
    rows,
    D: tl.constexpr,
    D_OUT: tl.constexpr,
    UNITS: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write the last layer, in float32 and not rectified."""
    member = tl.program_id(1)
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c, u = tl.arange(0, PADDED), tl.arange(0, UNITS)
    inside = (at < rows)[:, None]
    own = (member.to(tl.int64) * rows + at)[:, None] * UNITS + u[None, :]
    matrix = tl.load(
        weight + (member * D + u)[:, None] * D_OUT + c[None, :],
        (u < D)[:, None] & (c < D_OUT)[None, :],
        other=0.0,
    )
    units = tl.load(below + own, inside, other=0.0).to(tl.float32)
    value = tl.dot(units, matrix, input_precision="ieee")
    value += tl.load(bias + member * D_OUT + c, c < D_OUT, other=0.0)[None, :]
    to = (member.to(tl.int64) * rows + at)[:, None] * D_OUT + c[None, :]
    tl.store(out + to, value, inside & (c < D_OUT)[None, :])


@triton.jit(do_not_specialize=_SIZES)
def last_backward_kernel(
    grad,
    weight,
    below,
    out,
    rows,
    D: tl.constexpr,
    D_OUT: tl.constexpr,
    UNITS: tl.constexpr,
    PADDED: tl.constexpr,
    SLOPE: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write the gradient of what the last layer's rectified inputs `below` were made of."""
    member = tl.program_id(1)
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c, u = tl.arange(0, PADDED), tl.arange(0, UNITS)
    inside = (at < rows)[:, None]
    matrix = tl.load(
        weight + (member * D + u)[None, :] * D_OUT + c[:, None],
        (u < D)[None, :] & (c < D_OUT)[:, None],
        other=0.0,
    )
    value = tl.dot(_narrow(grad, member, at, rows, D_OUT, PADDED), matrix, input_precision="ieee")
    to = (member.to(tl.int64) * rows + at)[:, None] * UNITS + u[None, :]
    positive = tl.load(below + to, inside, other=0.0) > 0.0
    tl.store(out + to, tl.where(positive, value, SLOPE * value).to(tl.bfloat16), inside)


@triton.jit(do_not_specialize=["rows", "length"])
def narrow_gradient_kernel(
    wide,
    narrow,
    out,
    rows,
    length,
    D: tl.constexpr,
    UNITS: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write wide' [narrow, 1] of one part of the rows, (parts, members, units, padded)."""
    part, member = tl.program_id(0), tl.program_id(1)
    c, u = tl.arange(0, PADDED), tl.arange(0, UNITS)
    total = tl.zeros([UNITS, PADDED], tl.float32)
    last = tl.minimum(rows, (part + 1) * length)
    for start in range(part * length, last, ROWS):
        at = start + tl.arange(0, ROWS)
        own = (member.to(tl.int64) * rows + at)[None, :] * UNITS + u[:, None]
        left = tl.load(wide + own, (at < last)[None, :], other=0.0).to(tl.float32)
        right = tl.where((c == D)[None, :], 1.0, _narrow(narrow, member, at, last, D, PADDED, rows))
        total += tl.dot(left, right, input_precision="ieee")
    to = (part * tl.num_programs(1) + member) * UNITS * PADDED
    tl.store(out + to + u[:, None] * PADDED + c[None, :], total)


@triton.jit
def _narrow(base, member, at, last, D: tl.constexpr, PADDED: tl.constexpr, rows=None):
    """Load float32 rows up to `last`, padded with zeros; `rows` of a member, where that is not all."""
    c = tl.arange(0, PADDED)
    step = last if rows is None else rows
    own = (member.to(tl.int64) * step + at)[:, None] * D + c[None, :]
    return tl.load(base + own, (at < last)[:, None] & (c < D)[None, :], other=0.0)
