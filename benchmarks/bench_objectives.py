"""The chunked contrastive objectives on CPU against their own arithmetic at the paper's batch; their memory.

The bound of a similarity is the time of the elementary operations that its value and gradient cannot do
without (products or passes over coordinates, maxima, exponentials, sums), on one block that stays in
cache, times the number of blocks; it knows nothing of rows, members, autograd or ragged ends.

    python benchmarks/bench_objectives.py [--batch 6144] [--width 10] [--repeats 5]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ratios
import torch

from samespace.learn.contrastive import contrastive
from samespace.learn.logsumexp import BLOCK
from samespace.learn.similarity import DotProduct, PowerDistance

LARGE = 65_536


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=6144)
    parser.add_argument("--width", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--memory", type=int, help="print the peak memory of one batch of this size"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a third of the batch, written nowhere"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        print(peak(options.memory, options.width))
        return
    if options.quick:
        options.batch //= 3
    values: dict[str, Any] = {
        "batch": options.batch,
        "width": options.width,
        "threads": options.threads,
    }
    for p in (0, 1, 2, 3):
        print(f"p = {p}", flush=True)
        seconds = ratios.interleaved(
            {"bound": bound(p, options.batch, options.width), "contrastive": step(p, options)},
            repeats=options.repeats,
        )
        over = ratios.ratio(seconds, "contrastive", "bound")
        values[f"p{p}"] = {"seconds": seconds, "over_bound": over}
    if not options.quick:
        values["peak_mb"] = {str(rows): measured(rows, options) for rows in (6144, LARGE)}
    command = (
        f"python benchmarks/bench_objectives.py --batch {options.batch} --width {options.width}"
    )
    ratios.report("objectives", command, values, keep=not options.quick)


def step(p: int, options: argparse.Namespace) -> Callable[[], None]:
    """Value and gradient of the paper's loss: the negatives are the batch's own anchors."""
    generator = torch.Generator().manual_seed(0)
    shape = (options.batch, options.width)
    anchors = torch.rand(shape, generator=generator, requires_grad=True)
    positives = torch.rand(shape, generator=generator, requires_grad=True)
    similarity = DotProduct() if p == 0 else PowerDistance(p)

    def run() -> None:
        loss = contrastive(anchors, positives, anchors, similarity=similarity).mean()
        torch.autograd.grad(loss, (anchors, positives))

    return run


def bound(p: int, batch: int, width: int) -> Callable[[], None]:
    """The bare operations, on one resident block over and over."""
    rows = max(1, BLOCK // batch)
    d = width + 2 if p == 2 else width
    a, b = torch.rand(rows, d), torch.rand(batch, d)
    columns = list(zip(a.T.contiguous(), b.T.contiguous(), strict=True))
    block, scratch, size = (torch.empty(rows, batch) for _ in range(3))
    forward, backward = (_product, _pull_product) if p in (0, 2) else (_powers, _pull_powers)

    def run() -> None:
        for _ in range(batch // rows):
            forward(p, a, b, columns, block, scratch)
            block.sub_(block.amax(1)[:, None]).exp_().sum(1).log_()
            forward(p, a, b, columns, block, scratch)
            block.sub_(1.0).exp_().mul_(0.5)
            backward(p, a, b, columns, block, scratch, size)

    return run


def _product(p: int, a: Any, b: Any, columns: Any, block: Any, scratch: Any) -> None:
    torch.mm(a, b.T, out=block)


def _pull_product(
    p: int, a: Any, b: Any, columns: Any, block: Any, scratch: Any, size: Any
) -> None:
    block @ b
    block.T @ a


def _powers(p: int, a: Any, b: Any, columns: Any, block: Any, scratch: Any) -> None:
    block.zero_()
    for left, right in columns:
        if p == 1:
            torch.maximum(left[:, None], right, out=scratch)
        else:
            torch.sub(left[:, None], right, out=scratch).abs_().pow_(p)
        block.sub_(scratch)


def _pull_powers(p: int, a: Any, b: Any, columns: Any, block: Any, scratch: Any, size: Any) -> None:
    for left, right in columns:
        torch.sub(left[:, None], right, out=scratch)
        if p != 1:
            torch.abs(scratch, out=size).pow_(p - 1)
            scratch.sign_().mul_(size)
        else:
            scratch.sign_()
        scratch.mul_(block)
        scratch.sum(0)
        scratch.sum(1)


def peak(rows: int, width: int) -> float:
    """Peak memory of this process in MB after one value and gradient of the dot product's loss."""
    step(0, argparse.Namespace(batch=rows, width=width))()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(rows: int, options: argparse.Namespace) -> float:
    """The same in a process of its own, since a peak never falls."""
    command = [sys.executable, __file__, "--memory", str(rows), "--width", str(options.width)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(answer.stdout)


if __name__ == "__main__":
    main()
