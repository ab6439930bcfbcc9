"""What Theorem 2 and the distances cost beside the logits' own matrix product, in one run.

Two models, M = 768, 50,000 labels, 20,000 inputs by default. The yardstick is the plain product of f and g'
of *both* models in the same blocks and precision, results thrown away. Times are processor seconds on one
BLAS thread, so that a busy machine slows neither side of a ratio; with ``--device cuda`` the models lie on
the GPU, times are the clock's, the host's threads are left alone, and all is done once before it is timed, so
that both sides find their libraries loaded.

    python benchmarks/bench_theory.py --out benchmarks/results/theory.json
    python benchmarks/bench_theory.py --device cuda --out benchmarks/results/theory_cuda.json
    python benchmarks/bench_theory.py --quick
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if "cuda" not in sys.argv:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import ratios

from samespace.theory import ModelPair, d_llv, d_svd, logit_distance, theorem2

QUICK = {"inputs": 2_000, "labels": 5_000, "dim": 128}
FULL = {"inputs": 20_000, "labels": 50_000, "dim": 768}
BLOCK, BLOCK_ON_GPU = (1024, 2048), (8192, 8192)  # rows and labels, as the product takes them


def two_models(size: dict[str, int], dtype: str) -> tuple[np.ndarray, ...]:
    """The second model is the first in other coordinates, with noise in f."""
    rng = np.random.default_rng(0)
    n, k, m = size["inputs"], size["labels"], size["dim"]
    f = 3.0 * rng.standard_normal((n, m)) / np.sqrt(m)
    g = rng.standard_normal((k, m))
    A = np.linalg.qr(rng.standard_normal((m, m)))[0]
    noise = 0.15 * rng.standard_normal((n, m)) / np.sqrt(m)
    return tuple(part.astype(dtype) for part in (f, g, f @ A + noise, g @ A))


def plain_logits(models: tuple[Any, ...], rows: int, labels: int) -> None:
    for f, g in (models[:2], models[2:]):
        for row in range(0, len(f), rows):
            for label in range(0, len(g), labels):
                f[row : row + rows] @ g[label : label + labels].T


def on_gpu(models: tuple[np.ndarray, ...], device: str) -> tuple[Any, ...]:
    import torch

    return tuple(torch.from_numpy(part).to(device) for part in models)


def parts_of(pair: ModelPair) -> dict[str, Callable[[], Any]]:
    """What is timed; in this order each part pays for what it is the first to need."""
    return {
        "log-normalisers and divergences (one pass over all logits)": lambda: pair.likelihoods,
        "triangle of (f*, f, log Z*, log Z)": lambda: pair.joint_normalised_inputs,
        "triangle of (g*, g)": lambda: pair.joint_labels,
        "choice of labels": lambda: pair.label_diversity,
        "choice of inputs": lambda: pair.input_diversity,
        "second moments of (f, f*)": lambda: pair.second_f,
        "Theorem 2 at the best anchors": lambda: theorem2(pair),
        "Theorem 2 over all labels and inputs": lambda: theorem2(pair, labels="all", inputs="all"),
        "d_LLV": lambda: d_llv(pair),
        "d_SVD of f": lambda: d_svd(pair),
        "d_SVD of g": lambda: d_svd(pair, of="g"),
        "logit distance": lambda: logit_distance(pair),
    }


def timed(work: Callable[[], Any], device: str) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    if device != "cpu":
        import torch

        torch.cuda.synchronize()
    return time.process_time() - cpu, time.perf_counter() - wall


def memory_on(device: str) -> float | None:
    """The most that was allocated at once, in GB."""
    if device == "cpu":
        return None
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**30, 2)


def measure(size: dict[str, int], dtype: str, device: str) -> dict[str, Any]:
    models = two_models(size, dtype)
    bare = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    block = BLOCK
    if device != "cpu":
        models, block = on_gpu(models, device), BLOCK_ON_GPU
    for _ in range(1 if device == "cpu" else 2):
        yardstick, yardstick_wall = timed(lambda: plain_logits(models, *block), device)
        pair = ModelPair.of(*models)
        costs = {name: timed(work, device) for name, work in parts_of(pair).items()}
    on_device = memory_on(device)
    cpu, wall = (sum(cost[i] for cost in costs.values()) for i in (0, 1))
    extra = timed(lambda: d_llv(pair, labels="all"), device)
    return {
        "size": size,
        "dtype": dtype,
        "device": device,
        "logits_of_both_models_cpu_s": round(yardstick, 2),
        "parts_cpu_s": {name: round(cost[0], 2) for name, cost in costs.items()},
        "logits_of_both_models_wall_s": round(yardstick_wall, 3),
        "parts_wall_s": {name: round(cost[1], 3) for name, cost in costs.items()},
        "total_cpu_s": round(cpu, 2),
        "ratio": round(cpu / yardstick if device == "cpu" else wall / yardstick_wall, 3),
        "ratio_wall": round(wall / yardstick_wall, 3),
        "not_counted_d_LLV_over_every_label_cpu_s": round(extra[0], 2),
        "largest_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "largest_memory_on_the_device_gb": on_device,
        "memory_of_the_inputs_gb": round(bare / 2**20, 2),
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "blas_threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "numpy": np.__version__,
        "command": f"python benchmarks/bench_theory.py --device {device} --dtype {dtype}",
        "commit": ratios.commit(),
        "taken": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 inputs, 5,000 labels, M = 128")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda for tensors on the GPU")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    for name, value in FULL.items():
        parser.add_argument(f"--{name}", type=int, help=f"default {value:,}")
    parser.add_argument("--out", type=Path, help="write the numbers there as JSON, by dtype")
    given = parser.parse_args()
    size = dict(QUICK if given.quick else FULL)
    size |= {name: getattr(given, name) for name in FULL if getattr(given, name) is not None}
    found = measure(size, given.dtype, given.device)
    print(json.dumps(found, indent=1))
    if given.out is not None:
        known = json.loads(given.out.read_text("utf-8")) if given.out.exists() else {}
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps(known | {given.dtype: found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
