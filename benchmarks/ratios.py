"""What the speed benchmarks share: interleaved timing, so that a ratio compares like with like; records."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy

RESULTS = Path(__file__).parent / "results"


def interleaved(
    contestants: dict[str, Callable[[], Any]], *, repeats: int
) -> dict[str, list[float]]:
    """Seconds of each contestant, taken in turns: what else the machine does falls on all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats):
        for name, run in contestants.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
            print(
                f"  turn {turn + 1} of {repeats}: {name:<34} {seconds[name][-1]:8.3f} s", flush=True
            )
    return seconds


def ratio(seconds: dict[str, list[float]], above: str, below: str) -> dict[str, float]:
    """Ratio of the fastest runs (the least disturbed ones), and the median of the ratios turn by turn."""
    return {
        "of_fastest": min(seconds[above]) / min(seconds[below]),
        "median_of_turns": statistics.median(
            a / b for a, b in zip(seconds[above], seconds[below], strict=True)
        ),
    }


def report(name: str, command: str, values: dict[str, Any], *, keep: bool) -> None:
    """Print the record, and keep it under results/: it says which code on which machine said so."""
    record = values | {
        "command": command,
        "commit": commit(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "taken": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }
    if keep:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({k: v for k, v in record.items() if k != "seconds"}, indent=1))


def commit() -> str | None:
    """What SAMESPACE_COMMIT says, of a copy of some commit; else the commit of this checkout."""
    if said := os.environ.get("SAMESPACE_COMMIT"):
        return said
    here = Path(__file__).parent
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or None
