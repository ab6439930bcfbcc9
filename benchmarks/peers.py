"""The measures beside published packages: the same arrays, every difference explained, and time ratios.

A row of the result holds our value and the peer's. Where the two differ by definition, the peer's definition
is written out from our own numbers (``ours_by_their_definition``) and must agree instead; a row that agrees
neither way makes the script fail. Peers are no dependency of the project, and one that is missing is skipped
with its reason:

    pip install cca-zoo==4.0 torch-cka repsim        # none of them replaces the torch that is installed
    python benchmarks/peers.py                       # about two minutes; --quick for the small timings alone

Times are the best of several alternating runs in one process: wall clock and processor seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import ratios

import samespace as ss
from samespace.measures import cca, cka, procrustes, pwcca, svcca

AGREES = 1e-9
RESULTS = Path(__file__).with_name("results") / "peers.json"


@dataclass(frozen=True)
class Row:
    """One value of ours beside a peer's."""

    measure: str
    peer: str
    ours: float
    theirs: float
    explanation: str
    ours_by_their_definition: float | None = None
    tolerance: float = AGREES

    @property
    def difference(self) -> float:
        """Left once definitions agree."""
        ours = self.ours if self.ours_by_their_definition is None else self.ours_by_their_definition
        return abs(ours - self.theirs)

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "difference": self.difference, "agrees": self.agrees}

    @property
    def agrees(self) -> bool:
        return bool(self.difference <= self.tolerance)


class Skipped(Exception):
    """A peer that is not here, and why."""


def peer(package: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Skipped(f"{package} cannot be imported here ({error})") from error


def data(n: int, d_x: int, d_y: int, *, noise: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of different spread and mean; Y an affine function of X plus noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d_x)) * np.linspace(1, 6, d_x) + np.arange(d_x)
    Y = X @ rng.standard_normal((d_x, d_y)) + noise * rng.standard_normal((n, d_y))
    return X, Y


def correlations_of(scores: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.array(
        [np.corrcoef(a, b)[0, 1] for a, b in zip(scores[0].T, scores[1].T, strict=True)]
    )


def cca_zoo_values(X: np.ndarray, Y: np.ndarray) -> Iterator[Row]:
    linear = peer("cca-zoo", "cca_zoo.linear")
    ours = cca(X, Y)
    for name in ("CCA", "MCCA"):
        fitted = getattr(linear, name)(n_components=Y.shape[1]).fit([X, Y])
        theirs = correlations_of(fitted.transform([X, Y]))
        for i in (0, -1):
            which = "first" if i == 0 else "last"
            yield Row(
                f"cca, {which} correlation",
                f"cca-zoo {name}",
                float(ours.correlations[i]),
                float(theirs[i]),
                "the same quantity",
            )


def scikit_learn_values(X: np.ndarray, Y: np.ndarray) -> Iterator[Row]:
    model = peer("scikit-learn", "sklearn.cross_decomposition").CCA(n_components=Y.shape[1])
    theirs = correlations_of(model.set_params(max_iter=10_000, tol=1e-6).fit(X, Y).transform(X, Y))
    yield Row(
        "cca, first correlation",
        "scikit-learn CCA",
        float(cca(X, Y).correlations[0]),
        float(theirs[0]),
        "NIPALS, a power iteration: equal to within the square root of its stopping rule; with more columns "
        "its later components come unordered or stop early",
        tolerance=1e-3,
    )


def repsim_values(X: np.ndarray, Y: np.ndarray) -> Iterator[Row]:
    repsim = peer("repsim", "repsim")
    rho = cca(X, Y).correlations
    mean, squares = float(rho.mean()), float((rho**2).mean())
    pillai, yanai = (float(repsim.cca([X, Y], name)[0, 1]) for name in ("pillai", "yanai"))
    yield Row("cca, mean", "repsim pillai", mean, pillai, "the same quantity, under that name")
    said = "its 'yanai' summary is the mean of the *squared* correlations"
    yield Row("cca, mean", "repsim yanai", mean, yanai, said, squares)
    both = [pwcca(X, Y, side=side).similarity for side in ("x", "y")]
    yield Row(
        "pwcca",
        "repsim",
        both[0],
        float(repsim.pwcca([X, Y])[0, 1]),
        "it averages the two sides' weightings; ours weighs by the side asked for, here X, as the paper does",
        float(np.mean(both)),
    )
    found = svcca(X, Y, variance_kept=0.99)
    yield Row(
        "svcca, mean",
        "repsim pillai",
        found.mean,
        float(repsim.svcca([X, Y], "pillai")[0, 1]),
        "the same quantity: mean of the correlations at 99% of the variance",
    )
    yield from repsim_cka(repsim, X, Y)


def repsim_cka(repsim: Any, X: np.ndarray, Y: np.ndarray) -> Iterator[Row]:
    ours, n = cka(X, Y), len(X)
    biased = float(repsim.cka([X, Y], "linear", "gretton")[0, 1])
    yield Row("cka, biased", "repsim gretton", ours.biased, biased, "the same quantity")
    hsic = float(repsim.hsic([X, Y], "linear", "song")[0, 1])
    relative = "the same quantity, relative to ours"
    yield Row("unbiased HSIC", "repsim song", 1.0, hsic / ours.hsic_xy, relative)
    m = ss.Moments.of(X, Y)
    norms = np.linalg.norm(m.Sxx) * np.linalg.norm(m.Syy) / (n - 1) ** 2
    yield Row(
        "cka, debiased",
        "repsim song",
        ours.debiased,
        float(repsim.cka([X, Y], "linear", "song")[0, 1]),
        "it divides the unbiased HSIC by the *biased* norms, so a representation is not 1 with itself; ours "
        "debiases all three",
        ours.hsic_xy / norms,
    )


def torch_cka_values(X: np.ndarray, Y: np.ndarray) -> Iterator[Row]:
    CKA = peer("torch-cka", "torch_cka").CKA
    import torch

    class Rows(torch.nn.Module):
        """A model whose one layer gives the rows by their index."""

        def __init__(self, rows: np.ndarray) -> None:
            super().__init__()
            self.layer = torch.nn.Embedding.from_pretrained(torch.from_numpy(rows).float())

        def forward(self, index: Any) -> Any:
            return self.layer(index)

    def theirs(rows_a_batch: int) -> float:
        index = torch.utils.data.TensorDataset(torch.arange(len(X)))
        loader = torch.utils.data.DataLoader(index, batch_size=rows_a_batch)
        layers = ["layer"]
        both = CKA(Rows(X), Rows(Y), "x", "y", model1_layers=layers, model2_layers=layers)
        both.compare(loader)
        return float(both.export()["CKA"][0, 0])

    ours = cka(X, Y)
    yield Row(
        "cka, debiased",
        "torch-cka, one batch",
        ours.debiased,
        theirs(len(X)),
        "the same quantity, which it computes in single precision",
        tolerance=1e-5,
    )
    parts = [cka(X[i : i + 50], Y[i : i + 50]) for i in range(0, len(X), 50)]
    xy, xx, yy = (sum(getattr(p, f"hsic_{s}") for p in parts) for s in ("xy", "xx", "yy"))
    yield Row(
        "cka, debiased",
        "torch-cka, batches of 50",
        ours.debiased,
        theirs(50),
        "it averages the HSIC of the batches (Nguyen et al. 2021), which sees only pairs of rows within one "
        "batch; ours is over all pairs in one pass",
        float(xy / np.sqrt(xx * yy)),
        tolerance=1e-5,
    )


def scipy_values(X: np.ndarray, Y: np.ndarray) -> Iterator[Row]:
    disparity = peer("scipy", "scipy.spatial").procrustes(X[:, : Y.shape[1]], Y)[2]
    ours = procrustes(X[:, : Y.shape[1]], Y)
    yield Row(
        "procrustes, disparity", "scipy", ours.disparity, float(disparity), "the same quantity"
    )
    yield Row(
        "procrustes, distance",
        "scipy",
        ours.distance,
        float(disparity),
        "SciPy returns the squared distance after the best scale, 1 - s^2; ours, sqrt(2 - 2s), is a metric",
        1 - (1 - ours.distance**2 / 2) ** 2,
    )


def netrep_values(X: np.ndarray, Y: np.ndarray) -> Iterator[Row]:
    metrics = peer("netrep", "netrep.metrics")
    centred = [Z - Z.mean(0) for Z in (X[:, : Y.shape[1]], Y)]
    model = metrics.LinearMetric(alpha=1.0, center_columns=True, score_method="angular")
    angle = float(model.fit(*centred).score(*centred))
    yield Row("procrustes, angle", "netrep", procrustes(*centred).angle, angle, "the same quantity")


VALUES = (
    cca_zoo_values,
    scikit_learn_values,
    repsim_values,
    torch_cka_values,
    scipy_values,
    netrep_values,
)


@dataclass(frozen=True)
class Timing:
    """Best of several alternating runs, in seconds."""

    shape: str
    ours: str
    theirs: str
    our_wall: float
    their_wall: float
    our_processor: float
    their_processor: float

    def record(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "wall_ratio": self.their_wall / self.our_wall,
            "processor_ratio": self.their_processor / self.our_processor,
        }


def alternate(calls: list[Callable[[], Any]], runs: int) -> np.ndarray:
    """Best (wall, processor) seconds of each, measured in turn so that a busy machine slows all."""
    seconds = np.empty((runs, len(calls), 2))
    for i in range(runs):
        for j, call in enumerate(calls):
            wall, processor = time.perf_counter(), time.process_time()
            call()
            seconds[i, j] = time.perf_counter() - wall, time.process_time() - processor
    return seconds.min(axis=0)


def timed(
    shape: str, theirs: tuple[str, Callable], ours: dict[str, Callable], *, runs: int = 2
) -> list[Timing]:
    """One peer's call beside each of ours."""
    best = alternate([theirs[1], *ours.values()], runs).tolist()
    (their_wall, their_processor), *rest = best
    return [
        Timing(shape, name, theirs[0], wall, their_wall, processor, their_processor)
        for name, (wall, processor) in zip(ours, rest, strict=True)
    ]


def time_cca_zoo(*, quick: bool) -> list[Timing]:
    CCA = peer("cca-zoo", "cca_zoo.linear").CCA
    n, d = (4000, 64) if quick else (20_000, 512)
    X, Y = data(n, d, d, noise=30.0)
    ours = {
        "compare: the lattice, folds, intervals, null": lambda: ss.compare(X, Y),
        "one pass and CCA, in sample": lambda: cca(X, Y, held_out=False),
        "one pass and CCA, held out over 10 folds": lambda: cca(X, Y),
    }
    fit = (f"cca-zoo CCA({d}).fit", lambda: CCA(n_components=d).fit([X, Y]))
    return timed(f"{n} x {d}", fit, ours)


def time_scikit_learn(*, quick: bool) -> list[Timing]:
    CCA = peer("scikit-learn", "sklearn.cross_decomposition").CCA
    d = 16 if quick else 32
    X, Y = data(4000, d, d)
    fit = (f"scikit-learn CCA({d}).fit", lambda: CCA(n_components=d).fit(X, Y))
    ours = {"one pass and CCA, in sample": lambda: cca(X, Y, held_out=False)}
    return timed(f"4000 x {d}", fit, ours)


def time_kernels(*, quick: bool) -> list[Timing]:
    repsim = peer("repsim", "repsim")
    n = 1000 if quick else 2000
    X, Y = data(n, 64, 64)
    kernels = ("repsim cka, linear, song", lambda: repsim.cka([X, Y], "linear", "song"))
    return timed(f"{n} x 64", kernels, {"one pass and CKA, both forms": lambda: cka(X, Y)})


TIMINGS = (time_cca_zoo, time_scikit_learn, time_kernels)


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def run(*, quick: bool) -> dict[str, Any]:
    X, Y = data(300, 6, 5)
    rows: list[Row] = []
    timings: list[Timing] = []
    skipped: list[str] = []
    for values in VALUES:
        try:
            rows.extend(values(X, Y))
        except Skipped as reason:
            skipped.append(str(reason))
    for measure in TIMINGS:
        try:
            timings.extend(measure(quick=quick))
        except Skipped as reason:
            skipped.append(str(reason))
    packages = (
        "numpy",
        "scipy",
        "scikit-learn",
        "torch",
        "cca-zoo",
        "repsim",
        "torch-cka",
        "netrep",
    )
    return {
        "commit": ratios.commit(),
        "taken": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "command": "python benchmarks/peers.py" + (" --quick" if quick else ""),
        "machine": {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
            "blas_threads": os.environ.get("OMP_NUM_THREADS", "as BLAS chooses"),
            "load_average": os.getloadavg()[0],
        },
        "versions": {name: version(name) for name in packages},
        "values": [row.record() for row in rows],
        "timings": [each.record() for each in timings],
        "skipped": sorted(set(skipped)),
    }


def show(result: dict[str, Any]) -> None:
    for row in result["values"]:
        mark = "agrees" if row["agrees"] else "DIFFERS"
        print(
            f"{row['measure']:24s} {row['peer']:26s} {row['ours']:.6f} {row['theirs']:.6f} {mark}"
        )
        if row["ours_by_their_definition"] is not None:
            print(f"{'':24s} {row['explanation']}: {row['ours_by_their_definition']:.6f}")
    for each in result["timings"]:
        print(
            f"{each['shape']:12s} {each['ours']:45s} {each['our_wall']:8.3f} s   {each['theirs']:45s} "
            f"{each['their_wall']:8.3f} s   {each['wall_ratio']:.1f} times "
            f"(processor {each['processor_ratio']:.1f})"
        )
    for reason in result["skipped"]:
        print("skipped:", reason)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small timings, and no file written")
    quick = parser.parse_args().quick
    # Peers print progress and warn of their own iterations; their values are what is judged here.
    with (
        warnings.catch_warnings(),
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stderr(nowhere),
    ):
        warnings.simplefilter("ignore")
        result = run(quick=quick)
    show(result)
    if not quick:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    return 0 if all(row["agrees"] for row in result["values"]) else 1


if __name__ == "__main__":
    sys.exit(main())
