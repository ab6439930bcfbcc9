"""One pass of ``Moments`` against the bare products X'X, X'Y, Y'Y of the same precision in the same process.

    python benchmarks/bench_moments.py [--rows 200000] [--width 768] [--repeats 3] [--device cuda]

On a device the products are the device library's, and the rows lie on it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import ratios

import samespace as ss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--device", default="cpu", help="cpu, or cuda for PyTorch tensors on the GPU"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, written nowhere")
    options = parser.parse_args()
    if options.quick:
        options.rows //= 10
    rng = np.random.default_rng(0)
    shape = (options.rows, options.width)
    X = rng.standard_normal(shape, dtype=np.float32)
    Y = rng.standard_normal(shape, dtype=np.float32)
    values: dict[str, Any] = {
        "rows": options.rows,
        "width": options.width,
        "device": options.device,
    }
    for precision in ("float64", "float32"):
        print(precision, flush=True)
        run = host if options.device == "cpu" else device
        seconds = ratios.interleaved(run(X, Y, precision, options.device), repeats=options.repeats)
        values[precision] = {
            "seconds": seconds,
            "over_products": ratios.ratio(seconds, "Moments, 10 folds", "bare products"),
            "folds_cost": ratios.ratio(seconds, "Moments, 10 folds", "Moments, 1 fold"),
        }
    command = f"python benchmarks/bench_moments.py --rows {options.rows} --width {options.width}"
    name = "moments" if options.device == "cpu" else f"moments_{options.device}"
    ratios.report(name, f"{command} --device {options.device}", values, keep=not options.quick)


def host(X: np.ndarray, Y: np.ndarray, precision: str, _: str) -> dict[str, Callable[[], Any]]:
    """NumPy's own products, on arrays already of the precision, against the pass over float32 rows."""
    wide_x, wide_y = X.astype(precision, copy=False), Y.astype(precision, copy=False)

    def products() -> tuple[np.ndarray, ...]:
        return wide_x.T @ wide_x, wide_x.T @ wide_y, wide_y.T @ wide_y

    def moments(folds: int) -> float:
        return float(ss.Moments.of(X, Y, folds=folds, precision=precision).Sxy[0, 0])

    return {
        "bare products": products,
        "Moments, 10 folds": lambda: moments(10),
        "Moments, 1 fold": lambda: moments(1),
    }


def device(X: np.ndarray, Y: np.ndarray, precision: str, name: str) -> dict[str, Callable[[], Any]]:
    """The same with PyTorch tensors on a device; each contestant waits for the device to finish."""
    import torch

    x, y = (torch.from_numpy(a).to(name) for a in (X, Y))
    wide_x, wide_y = (a.to(getattr(torch, precision)) for a in (x, y))

    def products() -> None:
        for a, b in ((wide_x, wide_x), (wide_x, wide_y), (wide_y, wide_y)):
            a.T @ b
        torch.cuda.synchronize()

    products()  # loads the library

    def moments(folds: int) -> ss.Moments:
        sums = ss.Moments.of(x, y, folds=folds, precision=precision)
        torch.cuda.synchronize()
        return sums

    moments(10)
    return {
        "bare products": products,
        "Moments, 10 folds": lambda: moments(10),
        "Moments, 1 fold": lambda: moments(1),
        "Moments, 10 folds, read on the host": lambda: moments(10).Sxy,
    }


if __name__ == "__main__":
    main()
