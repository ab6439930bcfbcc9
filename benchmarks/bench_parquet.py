"""``Moments`` of Parquet files bigger than memory: speed against its two limits, and memory at three sizes.

    python benchmarks/bench_parquet.py [--gigabytes 1 4 16] [--width 768] [--folder DIR]

The limits, taken in the same run: pyarrow reading the same two files alone, and the products X'X, X'Y, Y'Y
of as many rows alone. The pass runs in a process of its own, whose peak memory is read from the system.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import ratios

BLOCK = 16_384

PASS = """
import json, sys, time
import samespace as ss
started = time.perf_counter()
moments = ss.Moments.of(sys.argv[1], sys.argv[2])
trace = float(moments.Sxy.trace())
seconds = time.perf_counter() - started
# Not getrusage: what it calls the largest is inherited from the process that started this one.
[peak] = [int(line.split()[1]) / 1024 for line in open("/proc/self/status") if "VmHWM" in line]
print(json.dumps({"rows": moments.n, "seconds": seconds, "peak_megabytes": peak}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--gigabytes", type=float, nargs="+", default=[1, 4, 16], help="both files together"
    )
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument(
        "--folder", type=Path, help="where the files are generated; removed afterwards"
    )
    parser.add_argument("--quick", action="store_true", help="0.25 GB only, written nowhere")
    options = parser.parse_args()
    sizes = [0.25] if options.quick else options.gigabytes
    values = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            values[f"{size:g} GB"] = measure(Path(folder), size, options.width)
    ratios.report(
        "parquet",
        f"python benchmarks/bench_parquet.py --width {options.width}",
        {"width": options.width, "sizes": values},
        keep=not options.quick,
    )


def measure(folder: Path, gigabytes: float, width: int) -> dict[str, Any]:
    """Generate two files and set the pass beside its limits."""
    rows = round(gigabytes * 1e9 / (2 * width * 4))
    files = [folder / "old.parquet", folder / "new.parquet"]
    for seed, file in enumerate(files):
        generate(file, rows, width, seed)
    read, multiplied = reading(files), products(rows, width)
    asked = subprocess.run(
        [sys.executable, "-c", PASS, *map(str, files)], capture_output=True, text=True, check=True
    )
    passed = json.loads(asked.stdout)
    seconds = passed["seconds"]
    print(
        f"  {gigabytes:g} GB: reading {read:.1f} s, products {multiplied:.1f} s, pass {seconds:.1f} s"
    )
    return passed | {
        "reading_alone": read,
        "products_alone": multiplied,
        "share_of_the_slower_limit": max(read, multiplied) / passed["seconds"],
    }


def generate(file: Path, rows: int, width: int, seed: int) -> None:
    """Random float32 vectors as a FixedSizeList column, row group by row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), width))])
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, BLOCK):
            k = min(BLOCK, rows - start)
            values = rng.standard_normal(k * width, dtype=np.float32)
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), width)
            ids = pa.array(np.arange(start, start + k))
            writer.write_batch(pa.record_batch([ids, vectors], schema=schema))


def reading(files: list[Path]) -> float:
    """Seconds pyarrow needs to read the vectors of both files and do nothing."""
    import pyarrow.parquet as pq

    started = time.perf_counter()
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(batch_size=BLOCK, columns=["vector"]):
            assert batch.num_rows
    return time.perf_counter() - started


def products(rows: int, width: int) -> float:
    """Seconds of the bare float64 products of as many rows, block by block from memory."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, BLOCK, width))
    started = time.perf_counter()
    for start in range(0, rows, BLOCK):
        x, y = X[: rows - start], Y[: rows - start]
        x.T @ x, x.T @ y, y.T @ y
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
