"""Kernels for narrow rows: a thread holds a few whole rows in registers, all others stream by.

A row that is held, its *owner*, sums over the *others*: their log-sum-exp forwards, the slopes towards
them backwards. An owner is one lane of a block of Triton's, its coordinates a tuple of blocks, and one
other is a tuple of scalars, so that nothing is ever exchanged between threads. Exponents are to
base 2, which the hardware has: `scale` is log2(e) / temperature.
"""

# Triton reads the annotations of kernels and knows none but its own; it has no starred tuples either, and
# compiles what follows a branch unless that is its `else`.
# ruff: noqa: RUF005, RET505
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl

# Triton's interpreter, which runs the kernels where there is no GPU, knows no inline assembly.
_INTERPRETED = tl.constexpr(triton.knobs.runtime.interpret)
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
    P: tl.constexpr,
    D: tl.constexpr,
    PAIRED: tl.constexpr,
    SKIP_OWN: tl.constexpr,
    OWNERS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """Write log2 sum 2^(scale s) over one part of the columns, (parts, members, rows)."""
    part, member = tl.program_id(1), tl.program_id(2)
    own = tl.program_id(0) * OWNERS + tl.arange(0, OWNERS)
    x = _owner(a + member.to(tl.int64) * step_a, tl.minimum(own, rows - 1), D)
    others = b + member.to(tl.int64) * step_b
    scaled = tl.load(scale + member)
    top = tl.full([OWNERS], _FAR, tl.float32)
    total = tl.zeros([OWNERS], tl.float32)
    first, last = part * length, tl.minimum(columns, (part + 1) * length)
    whole = first + (last - first) // UNROLL * UNROLL
    for j in range(first, whole, UNROLL):
        top, total = _added(top, total, x, own, others, j, scaled, P, D, PAIRED, SKIP_OWN, UNROLL)
    for j in range(whole, last):
        top, total = _added(top, total, x, own, others, j, scaled, P, D, PAIRED, SKIP_OWN, 1)
    to = out + (part * tl.num_programs(2) + member).to(tl.int64) * rows + own
    tl.store(to, top * scaled + tl.log2(total), mask=own < rows)


@triton.jit
def _added(
    top,
    total,
    x,
    own,
    others,
    start,
    scale,
    P: tl.constexpr,
    D: tl.constexpr,
    PAIRED: tl.constexpr,
    SKIP_OWN: tl.constexpr,
    COUNT: tl.constexpr,
):
    """Add `COUNT` others to sums that are kept relative to the largest similarity so far."""
    found = ()
    highest = top
    for u in tl.static_range(COUNT):
        s, _ = _similarity(x, _other(others, start + u, D, PAIRED), P, D)
        if SKIP_OWN:
            s = tl.where(own == start + u, float("-inf"), s)
        found = found + (s,)
        highest = tl.maximum(highest, s)
    offset = highest * scale
    total = total * tl.exp2(top * scale - offset)
    for u in tl.static_range(COUNT):
        total += tl.exp2(found[u] * scale - offset)
    return highest, total


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
    P: tl.constexpr,
    D: tl.constexpr,
    PAIRED: tl.constexpr,
    SKIP_OWN: tl.constexpr,
    BY_A: tl.constexpr,
    BY_B: tl.constexpr,
    OWNERS: tl.constexpr,
    UNROLL: tl.constexpr,
):
    """Write, for owners a, the gradient through one part of b, (parts, members, rows, d).

    A pair weighs 2^(scale s - lse) times the gradient of lse, by the log-sum-exp of a's row, of b's
    row, or of both where a and b are the same rows.
    """
    part, member = tl.program_id(1), tl.program_id(2)
    own = tl.program_id(0) * OWNERS + tl.arange(0, OWNERS)
    held = tl.minimum(own, rows - 1)
    x = _owner(a + member.to(tl.int64) * step_a, held, D)
    others = b + member.to(tl.int64) * step_b
    scaled = tl.load(scale + member)
    lse, grad = held.to(tl.float32), held.to(tl.float32)
    if BY_A:
        lse = tl.load(lse_a + member * rows + held)
        grad = tl.load(grad_lse_a + member * rows + held)
    lse_b += member * columns
    grad_lse_b += member * columns
    mass = tl.zeros([OWNERS], tl.float32)
    sums = ()
    for _ in tl.static_range(D):
        sums = sums + (mass,)
    first, last = part * length, tl.minimum(columns, (part + 1) * length)
    whole = first + (last - first) // UNROLL * UNROLL
    for j in range(first, whole, UNROLL):
        for u in tl.static_range(UNROLL):
            sums, mass = _pulled(
                sums, mass, x, own, lse, grad, others, lse_b, grad_lse_b, j + u, scaled,
                P, D, PAIRED, SKIP_OWN, BY_A, BY_B,
            )  # fmt: skip
    for j in range(whole, last):
        sums, mass = _pulled(
            sums, mass, x, own, lse, grad, others, lse_b, grad_lse_b, j, scaled,
            P, D, PAIRED, SKIP_OWN, BY_A, BY_B,
        )  # fmt: skip
    to = out + ((part * tl.num_programs(2) + member).to(tl.int64) * rows + own) * D
    unit = (
        scaled * 0.6931471805599453
    )  # of log2, in which the weights are, to the natural logarithm
    for c in tl.static_range(D):
        tl.store(to + c, _slope_sum(sums[c], mass, P) * unit, mask=own < rows)


@triton.jit
def _pulled(
    sums,
    mass,
    x,
    own,
    lse,
    grad,
    others,
    lse_b,
    grad_lse_b,
    j,
    scale,
    P: tl.constexpr,
    D: tl.constexpr,
    PAIRED: tl.constexpr,
    SKIP_OWN: tl.constexpr,
    BY_A: tl.constexpr,
    BY_B: tl.constexpr,
):
    """Add the slopes towards other j to the owners' sums."""
    s, slope = _similarity(x, _other(others, j, D, PAIRED), P, D)
    # A row's slope towards itself is 0; by halves its weight, often the largest, would have to cancel.
    if SKIP_OWN or (P == 1 and BY_A and BY_B):
        s = tl.where(own == j, float("-inf"), s)
    if BY_A:
        weight = grad * tl.exp2(s * scale - lse)
        if BY_B:
            weight += tl.load(grad_lse_b + j) * tl.exp2(s * scale - tl.load(lse_b + j))
    else:
        weight = tl.load(grad_lse_b + j) * tl.exp2(s * scale - tl.load(lse_b + j))
    added = ()
    for c in tl.static_range(D):
        added = added + (sums[c] + weight * _side(slope[c], P),)
    if P == 1:
        mass = _added_apart(mass, weight)
    return added, mass


@triton.jit
def _similarity(x, y, P: tl.constexpr, D: tl.constexpr):
    """Return s(x, y), and per coordinate what its slope is made of."""
    s = x[0] * 0.0
    slope = ()
    for c in tl.static_range(D):
        if P == 0:
            s = s + x[c] * y[c]
            slope = slope + (y[c],)
        else:
            apart = x[c] - y[c]
            if P == 1:
                s = s - tl.abs(apart)
                slope = slope + (apart,)
            elif P == 2:
                s = s - apart * apart
                slope = slope + (apart,)
            else:
                signed = apart * tl.abs(apart)
                s = s - signed * apart
                slope = slope + (signed,)
    return s, slope


@triton.jit
def _side(slope, P: tl.constexpr):
    """For p = 1 return (1 + sign) / 2, exactly a half at 0: one saturating instruction."""
    if P == 1:
        if _INTERPRETED:
            return tl.minimum(tl.maximum(slope * 8.507059173023462e37 + 0.5, 0.0), 1.0)
        else:
            return tl.inline_asm_elementwise(
                "fma.rn.sat.f32 $0, $1, 0f7E800000, 0f3F000000;",  # x 2^126 + 1/2
                "=f,f",
                [slope],
                dtype=tl.float32,
                is_pure=True,
                pack=1,
            )
    else:
        return slope


@triton.jit
def _added_apart(total, weight):
    """Return total + weight, the weight rounded first, as it is where its halves are added.

    Fused with the product that makes the weight, the mass would no longer be twice the sum of its halves, and
    coordinates that all tie would get a slope of some 1e-7 instead of none.
    """
    if _INTERPRETED:
        return total + weight
    else:
        return tl.inline_asm_elementwise(
            "add.rn.f32 $0, $1, $2;",  # named roundings are never fused
            "=f,f,f",
            [total, weight],
            dtype=tl.float32,
            is_pure=True,
            pack=1,
        )


@triton.jit
def _slope_sum(total, mass, P: tl.constexpr):
    if P == 0:
        return total
    elif P == 1:
        return mass - 2.0 * total
    else:
        return -P * total


@triton.jit
def _owner(rows, index, D: tl.constexpr):
    x = ()
    for c in tl.static_range(D):
        x = x + (tl.load(rows + tl.cast(index, tl.int64) * D + c),)
    return x


@triton.jit
def _other(rows, index, D: tl.constexpr, PAIRED: tl.constexpr):
    """Load one row: as `PAIRED` two coordinates at a time, which halves the loads."""
    y = ()
    if PAIRED:
        pairs = (rows + tl.cast(index, tl.int64) * D).to(tl.pointer_type(tl.int64))
        for c in tl.static_range(D // 2):
            two = tl.load(pairs + c)
            y = y + (two.to(tl.int32).to(tl.float32, bitcast=True),)
            y = y + ((two >> 32).to(tl.int32).to(tl.float32, bitcast=True),)
    else:
        for c in tl.static_range(D):
            y = y + (tl.load(rows + tl.cast(index, tl.int64) * D + c),)
    return y


@triton.jit
def merge_kernel(parts, out, count, size, natural, BLOCK: tl.constexpr):
    """Add the parts' log2-sums up, to base 2 (`out`) and e (`natural`)."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    top = tl.full([BLOCK], _FAR, tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(count):
        found = tl.load(parts + part * size.to(tl.int64) + at, mask=inside, other=0.0)
        higher = tl.maximum(top, found)
        total = total * tl.exp2(top - higher) + tl.exp2(found - higher)
        top = higher
    lse = top + tl.log2(total)
    tl.store(out + at, lse, mask=inside)
    tl.store(natural + at, lse * 0.6931471805599453, mask=inside)
