"""The fused kernels on a GPU: exactness, time beside the chip's limit, memory, and the step around them.

A kernel's limit is the larger of two times: its instructions over what the multiprocessors issue, and its
exponentials over what their special units take, both at the clock that the chip reports as its highest.
Bytes do not matter: rows are read from caches.

    python benchmarks/bench_kernels.py [--out benchmarks/results/kernels.json] [--no-sweep]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ratios
import torch

from samespace.learn.contrastive import contrastive
from samespace.learn.encoders import BoxHead, SphereHead, StackedMLP
from samespace.learn.fused import launch
from samespace.learn.fused.launch import Plan
from samespace.learn.similarity import DotProduct, PowerDistance
from samespace.learn.steps import CapturedStep
from samespace.learn.training import Recipe

POWERS = (0, 1, 2, 3)
MEMBERS, BATCH, WIDTH, LARGE = 5, 6144, 10, 65_536
WIDTHS = [WIDTH, 100, 500, 500, 500, 500, 100, WIDTH]

PLANS = [
    Plan(owners, unroll, warps, 0) for owners, unroll, warps in product((2, 4), (2, 4), (2, 4))
]
PROGRAMS = (480, 792, 1188, 1584, 1980, 3168)

# Per pair: what the similarity, its exponentials and its slopes cannot do without. A coordinate takes 1, 2,
# 2 and 3 instructions forwards; backwards its share of the gradient is 1 more, 2 for p = 1.
FORWARD = {p: WIDTH * each + 4 for p, each in zip(POWERS, (1, 2, 2, 3), strict=True)}
BACKWARD = {p: WIDTH * each + 6 for p, each in zip(POWERS, (2, 4, 3, 4), strict=True)}
EXPONENTIALS = {"forward": 1, "backward": 2}
PER_CLOCK = {"instructions": 128, "exponentials": 16}  # lanes of a Hopper multiprocessor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ratios.RESULTS / "kernels.json")
    parser.add_argument("--no-sweep", action="store_true", help="time the plans in use alone")
    parser.add_argument("--no-steps", action="store_true", help="leave whole training steps out")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("bench_kernels.py times CUDA kernels and found no GPU.")
    started = time.perf_counter()
    values: dict[str, Any] = {"members": MEMBERS, "batch": BATCH, "width": WIDTH, "chip": chip()}
    values["error"] = {f"p{p}": errors(p) for p in POWERS}
    told("errors against float64", values["error"], started)
    values["kernels"] = {f"p{p}": kernels(p, values["chip"]) for p in POWERS}
    told("kernels, ms per model", values["kernels"], started)
    values["large"] = {f"p{p}": large(p) for p in POWERS}
    told(f"one model at {LARGE} rows", values["large"], started)
    keep(values, options.out)
    if not options.no_steps:
        values["steps"] = {f"p{p}": steps(p) for p in POWERS}
        told("training steps, ms per model", values["steps"], started)
        keep(values, options.out)
    if not options.no_sweep:
        values["sweep"] = sweep()
        told("sweep, ms per model: owners, unroll, warps, programs", values["sweep"], started)
    keep(values, options.out)


def chip() -> dict[str, Any]:
    one = torch.cuda.get_device_properties(0)
    return {
        "name": one.name,
        "multiprocessors": one.multi_processor_count,
        "clock_mhz": _highest_clock(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


def _highest_clock(otherwise: float = 1980.0) -> float:
    query = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"]
    try:
        asked = subprocess.run(query, capture_output=True, text=True, check=True)
        return float(asked.stdout.splitlines()[0])
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return otherwise


def rows(p: int, k: int, n: int, *, seed: int = 0) -> torch.Tensor:
    """Rows as an encoder would give them: on the sphere for p = 0, else in a box."""
    generator = torch.Generator("cuda").manual_seed(seed)
    if p == 0:
        drawn = torch.randn(k, n, WIDTH, generator=generator, device="cuda")
        return torch.nn.functional.normalize(drawn, dim=-1)
    return torch.rand(k, n, WIDTH, generator=generator, device="cuda")


def errors(p: int) -> dict[str, float]:
    """Relative errors of one member's values and gradients against all pairs in float64."""
    a = rows(p, 1, BATCH)
    scale = torch.full((1,), math.log2(math.e) / 0.5, device="cuda")
    base_2, natural = launch.logsumexp(a, a, scale, p, False)
    grad = 1.0 + torch.rand_like(natural)
    by = base_2, grad
    ours = launch.gradient(a, a, scale, by, by, p, False)
    exact = a[0].double().requires_grad_()
    powers = (-((x[:, None] - x).abs() ** p) for x in exact.T)
    s = exact @ exact.T if p == 0 else sum(powers)
    lse = (s / 0.5).logsumexp(1)
    [theirs] = torch.autograd.grad((lse * grad[0].double()).sum(), exact)
    again = launch.gradient(a, a, scale, by, by, p, False)
    return {
        "value": float(((natural[0] - lse).abs() / lse.abs()).max().detach()),
        "gradient": float((ours[0] - theirs).norm() / theirs.norm()),
        "gradient_worst": float((ours[0] - theirs).abs().max() / theirs.abs().max()),
        "again": float((ours - again).abs().max()),
    }


def kernels(p: int, on: dict[str, Any]) -> dict[str, Any]:
    """Forward and backward with the plans in use, and how near their limits they come."""
    forward, backward = passes(p, MEMBERS, BATCH)
    found: dict[str, Any] = {}
    for name, run, instructions in (
        ("forward", forward, FORWARD[p]),
        ("backward", backward, BACKWARD[p]),
    ):
        ms = timed(run) / MEMBERS
        least = bound(instructions, EXPONENTIALS[name], on)
        found[name] = {"ms": ms, "limit_ms": least, "share_of_limit": least / ms}
        found[name]["instructions_per_pair"] = instructions
    found["through_autograd_ms"] = timed(differentiated(p, MEMBERS, BATCH)) / MEMBERS
    return found


def bound(instructions: int, exponentials: int, on: dict[str, Any]) -> float:
    """Milliseconds that all pairs of a batch take at least."""
    per_ms = on["multiprocessors"] * on["clock_mhz"] * 1e3
    counts = {"instructions": instructions, "exponentials": exponentials}
    return max(BATCH**2 * n / (PER_CLOCK[unit] * per_ms) for unit, n in counts.items())


def passes(p: int, k: int, n: int, plan: Plan | None = None) -> tuple[Callable[[], Any], ...]:
    a = rows(p, k, n)
    scale = torch.full((k,), math.log2(math.e), device="cuda")
    lse, natural = launch.logsumexp(a, a, scale, p, False)
    by = lse, torch.rand_like(natural)

    def forward() -> Any:
        return launch.logsumexp(a, a, scale, p, False, plan)

    def backward() -> Any:
        return launch.gradient(a, a, scale, by, by, p, False, plan)

    return forward, backward


def similarity_of(p: int) -> DotProduct | PowerDistance:
    return DotProduct() if p == 0 else PowerDistance(p)


def differentiated(p: int, k: int, n: int) -> Callable[[], Any]:
    """Value and gradient of the paper's loss: the negatives are the batch's own anchors."""
    a, b = rows(p, k, n).requires_grad_(), rows(p, k, n, seed=1).requires_grad_()
    # A number would be copied to the device, which a graph cannot hold.
    one = torch.ones(k, device="cuda")

    def run() -> Any:
        loss = contrastive(a, b, a, similarity=similarity_of(p), temperature=one).mean(-1).sum()
        return torch.autograd.grad(loss, (a, b))

    return run


def large(p: int) -> dict[str, float]:
    """Time and peak memory of value and gradient of a batch whose matrix would be 17 GB."""
    run = differentiated(p, 1, LARGE)
    run()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    peak = torch.cuda.max_memory_allocated() - before
    return {"ms": timed(run, inside=1, repeats=5), "peak_mb": peak / 2**20}


def steps(p: int) -> dict[str, float]:
    """The paper's training step replayed from a graph, and its parts: each step without one of them."""
    whole = stepped(p, similarity_of(p))
    encoder = stepped(p, None)
    no_optimiser = stepped(p, None, optimised=False)
    return {
        "whole_ms": whole,
        "encoder_and_adam_ms": encoder,
        "adam_ms": encoder - no_optimiser,
        "objective_ms": whole - encoder,
    }


def stepped(p: int, similarity: Any, *, optimised: bool = True) -> float:
    seeds = list(range(MEMBERS))
    head = SphereHead() if p == 0 else BoxHead(MEMBERS, WIDTH)
    encoder = StackedMLP(seeds, WIDTHS, head=head, precision="bfloat16").cuda().train()
    optimiser: Any = Recipe(steps=1).optimiser_of(encoder)
    if not optimised:
        optimiser = _Still(optimiser)
    batch = torch.rand(MEMBERS, 2 * BATCH, WIDTH, device="cuda")
    one = torch.ones(MEMBERS, device="cuda")

    def loss(model: Any, x: torch.Tensor) -> torch.Tensor:
        anchors, positives = model(x).chunk(2, dim=1)
        if similarity is None:
            return (anchors * positives).sum(-1).mean(-1)
        each = contrastive(anchors, positives, anchors, similarity=similarity, temperature=one)
        return each.mean(-1)

    step = CapturedStep(encoder, optimiser, loss)
    for _ in range(5):
        step(batch, rate=1e-4)
    return _events(lambda: step(batch, rate=1e-4), inside=20, repeats=10) / MEMBERS


class _Still:
    """An optimiser that leaves the weights where they are."""

    def __init__(self, optimiser: torch.optim.Optimizer) -> None:
        self.param_groups, self.zero_grad = optimiser.param_groups, optimiser.zero_grad

    def step(self) -> None:
        pass


def sweep() -> dict[str, Any]:
    """Milliseconds per model of every plan, the best first; plans are compiled side by side before."""
    jobs = list(product(POWERS, PLANS))
    workers = min(12, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        list(pool.map(_compiled, jobs))
    found: dict[str, Any] = {}
    for p in POWERS:
        for which, name in enumerate(("forward", "backward")):
            tried = []
            for plan, programs in product(PLANS, PROGRAMS):
                one = Plan(plan.owners, plan.unroll, plan.warps, programs)
                ms = timed(passes(p, MEMBERS, BATCH, one)[which], inside=4, repeats=5) / MEMBERS
                tried.append((round(ms, 5), one.owners, one.unroll, one.warps, programs))
            found[f"p{p} {name}"] = sorted(tried)
    return found


def _compiled(job: tuple[int, Plan]) -> None:
    """Leave a plan's kernels in Triton's cache on disk."""
    p, plan = job
    for run in passes(p, 1, 512, Plan(plan.owners, plan.unroll, plan.warps, 1)):
        run()
    torch.cuda.synchronize()


def timed(run: Callable[[], Any], *, inside: int = 10, repeats: int = 15) -> float:
    """Median milliseconds of a run, replayed from a CUDA graph so that no launch is waited for."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(2):
            run()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=beside):
        for _ in range(inside):
            run()
    return _events(graph.replay, inside=1, repeats=repeats) / inside


def _events(run: Callable[[], Any], *, inside: int, repeats: int) -> float:
    found = []
    run()
    for _ in range(repeats):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(inside):
            run()
        last.record()
        torch.cuda.synchronize()
        found.append(first.elapsed_time(last) / inside)
    return statistics.median(found)


def told(title: str, table: dict[str, Any], started: float) -> None:
    print(f"{title}  [{time.perf_counter() - started:.0f} s]")
    for name, values in table.items():
        shown = values[:4] if isinstance(values, list) else values
        print(f"  {name:<12} {json.dumps(_rounded(shown))}", flush=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return value


def keep(values: dict[str, Any], path: Path) -> None:
    """Write what is known so far, with the code and the chip that said so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = values | {
        "command": "python benchmarks/bench_kernels.py",
        "commit": ratios.commit(),
        "taken": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
