"""Is the verdict right, and do its intervals cover? Thousands of synthetic pairs with known answers.

Each pair is drawn from a known population: a class of maps, a spectrum of X, noise, tails, outliers, widths,
and a number of rows. Its true verdict is the rule of ``samespace.compare`` applied to the *population*
moments, so borderline pairs have a right answer too. Published: the confusion matrix of verdicts, and how
often each class's interval contains the population share of the very map that was handed over.

    python benchmarks/bench_calibration.py --pairs 2000 --out benchmarks/results/calibration.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

# One process a core, so one BLAS thread in each; before NumPy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import ratios

import samespace as ss
from samespace.lattice import CLASSES
from samespace.lifted import HEAD, ONE
from samespace.maps import Affine, Identity, Orthogonal, Permutation
from samespace.maps.base import squared_error

MAPS = {
    "identity": Identity,
    "permutation": Permutation,
    "orthogonal": Orthogonal,
    "affine": Affine,
}
TOLERANCE, FLOOR = 0.01, 0.9
LARGEST = 4_000_000  # rows times width of one pair


@dataclass(frozen=True)
class Design:
    """One synthetic population and how many rows are drawn from it."""

    seed: int
    n: int
    d_x: int
    d_y: int
    kind: str  # the class that made the signal
    noise: float  # share of Y's variance that is noise
    decay: float  # power of the spectrum's fall: 0 white, 1 strongly correlated
    tails: float  # degrees of freedom of the common row scale; inf for Gaussian
    outliers: float  # share of rows ten times as large


def draw_design(seed: int) -> Design:
    """A design from all over the ranges the issue of calibration names."""
    rng = np.random.default_rng([seed, 1])
    d = round(2 ** rng.uniform(1, 9))
    n = round(min(np.exp(rng.uniform(np.log(50), np.log(100_000))), max(LARGEST / d, 50)))
    kind = str(rng.choice(["identity", "permutation", "orthogonal", "affine", "none"]))
    wide = kind in ("orthogonal", "affine") and rng.random() < 0.25
    noise = (
        rng.uniform(0.2, 1.0) if kind == "none" else rng.choice([0, 1e-6, 1e-3, 0.01, 0.05, 0.15])
    )
    return Design(
        seed=seed,
        n=n,
        d_x=d,
        d_y=round(d * rng.uniform(1.1, 2)) + 1 if wide else d,
        kind=kind,
        noise=float(noise),
        decay=float(rng.choice([0.0, 0.5, 1.0])),
        tails=float(rng.choice([np.inf, np.inf, 10.0, 5.0])),
        outliers=float(rng.choice([0.0, 0.0, 0.001])),
    )


@dataclass(frozen=True, eq=False)
class Population:
    """Y = X A + shift + noise, X ~ scale * N(0, diag(spectrum)) rotated; all second moments known."""

    design: Design
    root: np.ndarray  # X = z @ root
    A: np.ndarray
    shift: np.ndarray
    noise_sd: np.ndarray

    @classmethod
    def of(cls, design: Design) -> Population:
        rng = np.random.default_rng([design.seed, 2])
        d = design.d_x
        spectrum = np.arange(1, d + 1) ** -design.decay
        root = np.sqrt(spectrum)[:, None] * orthogonal(d, d, rng)
        A = signal(design, rng)
        variance = np.einsum("ij,ij->j", root @ A, root @ A)
        share = min(design.noise, 0.999)
        noise_sd = np.full(design.d_y, np.sqrt(variance.mean() * share / (1 - share)))
        shift = (
            np.zeros(design.d_y) if design.kind == "identity" else rng.standard_normal(design.d_y)
        )
        return cls(design, root, A, shift, noise_sd)

    def rows(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        d = self.design
        scale = self._row_scale(rng)[:, None]
        X = scale * (rng.standard_normal((d.n, d.d_x)) @ self.root)
        noise = scale * rng.standard_normal((d.n, d.d_y)) * self.noise_sd
        return X, X @ self.A + self.shift + noise

    def moments(self) -> ss.Moments:
        """Population moments in the form the product reads, as if of 1e6 rows."""
        d, n = self.design, 10**6
        power = self._row_power()
        Sxx = self.root.T @ self.root
        Sxy = Sxx @ self.A
        Syy = self.A.T @ Sxy + np.diag(self.noise_sd**2)
        gram = np.zeros((1, HEAD + d.d_x + d.d_y, HEAD + d.d_x + d.d_y))
        gram[0, ONE, ONE] = n
        gram[0, HEAD:, HEAD:] = n * power * np.block([[Sxx, Sxy], [Sxy.T, Syy]])
        return ss.Moments.from_grams(gram, np.concatenate([np.zeros(d.d_x), self.shift]), d_x=d.d_x)

    def _row_scale(self, rng: np.random.Generator) -> np.ndarray:
        d = self.design
        scale = np.ones(d.n)
        if np.isfinite(d.tails):
            scale = np.sqrt(d.tails / rng.chisquare(d.tails, d.n))
        return scale * np.where(rng.random(d.n) < d.outliers, 10.0, 1.0)

    def _row_power(self) -> float:
        d = self.design
        power = d.tails / (d.tails - 2) if np.isfinite(d.tails) else 1.0
        return power * (1 + 99 * d.outliers)


def orthogonal(a: int, b: int, rng: np.random.Generator) -> np.ndarray:
    """A random (semi-)orthogonal matrix."""
    tall = np.linalg.qr(rng.standard_normal((max(a, b), min(a, b))))[0]
    return tall if a >= b else tall.T


def signal(design: Design, rng: np.random.Generator) -> np.ndarray:
    d_x, d_y = design.d_x, design.d_y
    if design.kind == "identity":
        return np.eye(d_x)
    if design.kind == "permutation":
        return (
            np.eye(d_x)[:, rng.permutation(d_x)]
            * rng.uniform(0.5, 2, d_x)
            * rng.choice([-1, 1], d_x)
        )
    if design.kind == "orthogonal":
        return rng.uniform(0.5, 2) * orthogonal(d_x, d_y, rng)
    left, right = orthogonal(d_x, d_x, rng), orthogonal(d_x, d_y, rng)
    return left * np.exp(rng.normal(0, rng.uniform(0.05, 1.0), d_x)) @ right


def true_shares(population: ss.Moments) -> dict[str, float]:
    """The least that any map of each class leaves unexplained in the population."""
    names = CLASSES if population.d_x == population.d_y else CLASSES[2:]
    total = float(np.trace(population.Syy))
    fits = {
        name: MAPS[name].fit(population, **({"ridge": 0.0} if name == "affine" else {}))
        for name in names
    }
    return {name: squared_error(population, fit) / total for name, fit in fits.items()}


def true_verdict(shares: dict[str, float]) -> str:
    """The rule on population numbers."""
    for name, u in shares.items():
        if u <= 1 - FLOOR and u - shares["affine"] <= TOLERANCE:
            return name
    return "none"


def run_one(seed: int) -> dict:
    """Draw, compare, and set the answer beside the truth."""
    design = draw_design(seed)
    population = Population.of(design)
    X, Y = population.rows(np.random.default_rng([seed, 3]))
    started = time.perf_counter()
    result = ss.compare(X, Y, tolerance=TOLERANCE, floor=FLOOR)
    seconds = time.perf_counter() - started
    truth = population.moments()
    shares = true_shares(truth)
    total = float(np.trace(truth.Syy))
    intervals = {}
    for one in result.classes:
        if one.applies:
            handed = squared_error(truth, one.map) / total
            intervals[one.name] = {
                "true": handed,
                "estimate": one.unexplained,
                "low": one.interval.low,
                "high": one.interval.high,
            }
    return {
        "design": asdict(design),
        "true": true_verdict(shares),
        "shares": shares,
        "verdict": result.verdict.name,
        "seconds": seconds,
        "effective_rows": result.diagnostics.effective_rows_y,
        "intervals": intervals,
    }


def covered(interval: dict) -> bool | None:
    """Whether the interval holds the truth; None where both are rounding."""
    if interval["true"] < 1e-12 and interval["high"] < 1e-12:
        return None
    return interval["low"] <= interval["true"] <= interval["high"]


def summarise(records: list[dict]) -> dict:
    """Confusion, error rates and coverage, whole and by condition."""
    confusion: dict[str, Counter] = defaultdict(Counter)
    for r in records:
        confusion[r["true"]][r["verdict"]] += 1
    wrong = [r for r in records if r["verdict"] not in (r["true"], "undecided")]
    undecided = [r for r in records if r["verdict"] == "undecided"]
    return {
        "pairs": len(records),
        "wrong": len(wrong) / len(records),
        "undecided": len(undecided) / len(records),
        "confusion": {true: dict(row) for true, row in sorted(confusion.items())},
        "wrong_by": {key: rate(records, key, lambda r: r in wrong) for key in conditions()},
        "undecided_by": {key: rate(records, key, lambda r: r in undecided) for key in conditions()},
        "coverage": coverage(records, lambda r: "all"),
        "coverage_by": {key: coverage(records, of) for key, of in conditions().items()},
    }


def conditions() -> dict:
    """How records are grouped."""
    return {
        "rows_per_dimension": lambda r: bucket(
            r["design"]["n"] / r["design"]["d_x"], [2, 5, 20, 100]
        ),
        "n": lambda r: bucket(r["design"]["n"], [200, 1000, 10_000]),
        "tails": lambda r: str(r["design"]["tails"]),
        "outliers": lambda r: str(r["design"]["outliers"]),
        "noise": lambda r: bucket(r["design"]["noise"], [1e-9, 1e-4, 0.02, 0.1, 0.2]),
    }


def bucket(value: float, edges: list[float]) -> str:
    below = [e for e in edges if value >= e]
    above = [e for e in edges if value < e]
    return f"{below[-1] if below else 0:g} to {above[0] if above else 'inf'}"


def rate(records: list[dict], key: str, hit) -> dict:
    groups = defaultdict(list)
    for r in records:
        groups[conditions()[key](r)].append(bool(hit(r)))
    return {
        name: {"rate": float(np.mean(g)), "pairs": len(g)} for name, g in sorted(groups.items())
    }


def coverage(records: list[dict], of) -> dict:
    groups: dict[str, list[bool]] = defaultdict(list)
    for r in records:
        for name, interval in r["intervals"].items():
            hit = covered(interval)
            if hit is not None:
                groups[f"{of(r)} / {name}"].append(hit)
                groups[f"{of(r)} / every class"].append(hit)
    return {
        k: {"coverage": float(np.mean(v)), "intervals": len(v)} for k, v in sorted(groups.items())
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path)
    parser.add_argument("--records", type=Path, help="also write one JSON line a pair")
    parser.add_argument("--quick", action="store_true", help="100 pairs, written nowhere")
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.out = 100, None
    seeds = range(options.first_seed, options.first_seed + options.pairs)
    started, records = time.time(), []
    with ProcessPoolExecutor(options.workers) as pool:
        for i, record in enumerate(pool.map(run_one, seeds, chunksize=4), 1):
            records.append(record)
            if i % 50 == 0 or i == options.pairs:
                left = (time.time() - started) / i * (options.pairs - i)
                print(f"{i} of {options.pairs} pairs, {left:.0f} s left", flush=True)
    summary = summarise(records) | {
        "command": "python benchmarks/bench_calibration.py "
        f"--pairs {options.pairs} --first-seed {options.first_seed}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "numpy": np.__version__,
        "commit": ratios.commit(),
        "taken": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "seconds": round(time.time() - started),
    }
    if options.records:
        options.records.write_text("".join(json.dumps(r) + "\n" for r in records))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(summary, indent=1) + "\n")
    print(
        json.dumps(
            {k: summary[k] for k in ("wrong", "undecided", "confusion", "coverage")}, indent=1
        )
    )


if __name__ == "__main__":
    main()
