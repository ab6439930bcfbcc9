"""Which kernel, over which grid: static choices by size, so that a CUDA graph can hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import triton

from samespace.learn.fused import registers, tensor_cores
from samespace.learn.fused.limits import NARROW

if TYPE_CHECKING:
    from torch import Tensor

    LogSumExp = tuple[Tensor, Tensor]
    """Of rows: to base 2, and the gradient that arrived for it."""


@dataclass(frozen=True)
class Plan:
    """The shape of a launch of the register kernels.

    Parameters
    ----------
    owners
        Rows that a thread holds.
    unroll
        Others that a turn of the loop takes.
    warps
        Of a program.
    programs
        How many to reach at least, by cutting the others into parts: some rounds of the whole chip.
    """

    owners: int
    unroll: int
    warps: int
    programs: int


_FORWARD = {p: Plan(owners=4, unroll=4, warps=4, programs=1980) for p in (0, 1, 2, 3)}
_BACKWARD = {p: Plan(owners=4, unroll=4, warps=4, programs=1980) for p in (0, 1, 2, 3)}
_TILE, _TILE_PROGRAMS = 32, 2048
"""Of the tensor-core kernels."""
_FEWEST = 128
"""Others in a part, at the least: what a program spends on its owners' own rows stays small."""


def logsumexp(
    a: Tensor, b: Tensor, scale: Tensor, p: int, skip_own: bool, plan: Plan | None = None
) -> tuple[Tensor, Tensor]:
    """Return the log-sum-exp of each row of a, (k, rows), to base 2 and to base e."""
    (k, rows, d), columns = a.shape, b.shape[1]
    plan = plan or planned(_FORWARD[p], d, held=1)
    tile = _tile(plan, d)
    parts, length = _cut(triton.cdiv(rows, tile) * k, columns, plan.unroll, _programs(plan, d))
    found = a.new_empty(parts, k, rows)
    a, b, paired = _addressable(a, b)
    sizes = rows, columns, length, a.stride(0), b.stride(0)
    grid = triton.cdiv(rows, tile), parts, k
    if d > NARROW:
        tensor_cores.logsumexp_kernel[grid](
            a,
            b,
            scale,
            found,
            *sizes,
            d,
            _power_of_2(d),
            skip_own,
            _TILE,
            num_warps=_tile_warps(d),
            num_stages=2,
        )
    else:
        registers.logsumexp_kernel[grid](
            a, b, scale, found, *sizes, p, d, paired, skip_own, tile, plan.unroll,
            num_warps=plan.warps,
        )  # fmt: skip
    out, natural = torch.empty_like(found[0]), torch.empty_like(found[0])
    registers.merge_kernel[triton.cdiv(k * rows, 256),](found, out, parts, k * rows, natural, 256)
    return out, natural


def gradient(
    a: Tensor,
    b: Tensor,
    scale: Tensor,
    by_a: LogSumExp | None,
    by_b: LogSumExp | None,
    p: int,
    skip_own: bool,
    plan: Plan | None = None,
) -> Tensor:
    """Return the gradient of a's rows, whose pairs weigh by a's log-sum-exp, by b's, or by both."""
    (k, rows, d), columns = a.shape, b.shape[1]
    plan = plan or planned(_BACKWARD[p], d, held=2)
    tile = _tile(plan, d)
    parts, length = _cut(triton.cdiv(rows, tile) * k, columns, plan.unroll, _programs(plan, d))
    out = a.new_empty(parts, k, rows, d)
    a, b, paired = _addressable(a, b)
    sizes = rows, columns, length, a.stride(0), b.stride(0)
    # A pointer that the kernel never follows is any pointer.
    given = *(by_a or (scale, scale)), *(by_b or (scale, scale))
    roles = by_a is not None, by_b is not None
    grid = triton.cdiv(rows, tile), parts, k
    if d > NARROW:
        tensor_cores.gradient_kernel[grid](
            a, b, scale, *given, out, *sizes, d, _power_of_2(d), skip_own, *roles, _TILE,
            num_warps=_tile_warps(d), num_stages=2,
        )  # fmt: skip
    else:
        registers.gradient_kernel[grid](
            a, b, scale, *given, out, *sizes, p, d, paired, skip_own, *roles, tile, plan.unroll,
            num_warps=plan.warps,
        )  # fmt: skip
    return out[0] if parts == 1 else out.sum(0)


def planned(plan: Plan, d: int, *, held: int) -> Plan:
    """Return the plan for rows of d, of which a thread holds `held` copies in its registers."""
    owners = plan.owners
    while owners > 1 and owners * d * held > 80:
        owners //= 2
    return Plan(owners, plan.unroll if d <= 16 else 2, plan.warps, plan.programs)


def _tile(plan: Plan, d: int) -> int:
    return _TILE if d > NARROW else plan.owners * plan.warps * 32


def _tile_warps(d: int) -> int:
    return 4 if d <= 64 else 8


def _programs(plan: Plan, d: int) -> int:
    return _TILE_PROGRAMS if d > NARROW else plan.programs


def _cut(tiles: int, columns: int, unroll: int, programs: int) -> tuple[int, int]:
    """Return in how many parts of what length to take the columns, none of them empty."""
    parts = max(1, min(triton.cdiv(programs, tiles), columns // _FEWEST))
    length = triton.cdiv(triton.cdiv(columns, parts), unroll) * unroll
    return triton.cdiv(columns, length), length


def _addressable(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, bool]:
    """Return tensors whose rows follow each other within a member, and if they can be read by pairs."""
    same = a is b
    a = _rows_together(a)
    b = a if same else _rows_together(b)
    starts = b.data_ptr() // 4, b.stride(0), b.shape[-1]
    return a, b, all(start % 2 == 0 for start in starts)


def _rows_together(x: Tensor) -> Tensor:
    return x if x.stride()[1:] == (x.shape[2], 1) else x.contiguous()


def _power_of_2(d: int) -> int:
    return max(16, triton.next_power_of_2(d))
