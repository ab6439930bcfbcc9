"""Is the test of equivalence calibrated, does its interval cover, what does it see, how fast is it?

Designs: contexts from 5 to 5,000, even or Zipfian; draws from 20 to 2,000 a symbol, equal or one symbol ten
times the other. Published for each:

- *type-I rate*: how often two equal symbols are called different, at p <= 0.05, 0.01 and 0.001; beside it the
  chi-square test of homogeneity, the textbook alternative;
- *power* at 0.05 against a mixture that moves a tenth of the probability to fresh contexts, and against one
  that moves it among the frequent ones;
- *coverage* of the 95% interval of D under the second alternative;
- *false equivalence*: how often a pair exactly at the margin is called equivalent at 0.05 (at most 5%);
- end to end: false discoveries among 300 symbols in 100 classes, both kinds, and classes found whole.

    python benchmarks/bench_equivalence.py [--repeats 4000] [--quick]
"""

from __future__ import annotations

import argparse
import itertools
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import ratios
from scipy import special

from samespace.theory.agreement import agreement
from samespace.theory.equivalence import DIFFERENT, EQUIVALENT, _interval, _p_beyond, equivalence
from samespace.theory.occurrences import Occurrences

LEVELS = (0.05, 0.01, 0.001)
MARGIN = 0.1
DESIGNS = [
    {"contexts": contexts, "shape": shape, "draws": draws, "imbalance": imbalance}
    for contexts, shape, draws, imbalance in itertools.product(
        (5, 100, 5000), ("even", "zipf"), (20, 200, 2000), (1, 10)
    )
]


def base(contexts: int, shape: str) -> np.ndarray:
    weights = np.ones(contexts) if shape == "even" else 1 / np.arange(1, contexts + 1)
    return weights / weights.sum()


def fresh(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A tenth of q lies on contexts that p does not have."""
    size = max(1, len(p) // 10)
    q = np.concatenate([0.9 * p, np.full(size, 0.1 / size)])
    return np.concatenate([p, np.zeros(size)]), q


def moved(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A tenth of q is taken from the first half of the contexts, in order, and given to the second."""
    q = p.copy()
    half = len(p) // 2
    q[:half] *= 1 - 0.1 / q[:half].sum()
    q[half:] *= 1 + 0.1 / q[half:].sum()
    return p, q


def at_margin(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mix p with fresh contexts until D = MARGIN exactly."""
    size = max(1, len(p) // 10)
    first = np.concatenate([p, np.zeros(size)])
    other = np.concatenate([np.zeros(len(p)), np.full(size, 1 / size)])
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if distance(first, mix(first, other, middle)) < MARGIN else (low, middle)
        )
    return first, mix(first, other, low)


def mix(p: np.ndarray, r: np.ndarray, share: float) -> np.ndarray:
    return (1 - share) * p + share * r


def distance(p: np.ndarray, q: np.ndarray) -> float:
    return float(((p - q) ** 2).sum() / ((p**2).sum() + (q**2).sum()))


def drawn(p, q, n, m, repeats, rng):
    """Repeats of a pair, as the rows of one table of counts."""
    table = np.concatenate([rng.multinomial(n, p, repeats), rng.multinomial(m, q, repeats)])
    where = np.nonzero(table)
    data = Occurrences.from_codes(list(range(2 * repeats)), *where, count=table[where])
    return data, agreement(data, np.arange(repeats), np.arange(repeats, 2 * repeats)), table


def chi_square(table: np.ndarray) -> np.ndarray:
    """p-values of the chi-square test of homogeneity, each repeat over the contexts that it has."""
    x, y = np.split(table, 2)
    t, n, m = x + y, x.sum(1), y.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(t > 0, (x * m[:, None] - y * n[:, None]) ** 2 / t, 0.0)
    return special.chdtrc((t > 0).sum(1) - 1, terms.sum(1) / (n * m))


def one_design(design: dict, repeats: int, rng: np.random.Generator) -> dict:
    p = base(design["contexts"], design["shape"])
    n, m = design["draws"], design["draws"] * design["imbalance"]
    _, null, table = drawn(p, p, n, m, repeats, rng)
    textbook = chi_square(table)
    result = {
        "type_1": {str(level): float((null.p_equal <= level).mean()) for level in LEVELS},
        "type_1_chi_square": {str(level): float((textbook <= level).mean()) for level in LEVELS},
    }
    for name, alternative in (("fresh", fresh), ("moved", moved)):
        _, found, _ = drawn(*alternative(p), n, m, repeats // 4, rng)
        result[f"power_{name}"] = float((found.p_equal <= 0.05).mean())
        result[f"true_distance_{name}"] = distance(*alternative(p))
    low, high = _interval(found, 0.95, exact=False)
    truth = result["true_distance_moved"]
    result["coverage"] = float(((low <= truth) & (truth <= high)).mean())
    result["mean_width"] = float((high - low).mean())
    _, border, _ = drawn(*at_margin(p), n, m, repeats // 4, rng)
    result["false_equivalence"] = float((_p_beyond(border, MARGIN) <= 0.05).mean())
    return result


def end_to_end(draws: int, rng: np.random.Generator, *, rounds: int = 5) -> dict:
    """300 symbols in 100 classes of three: what is found, and how much of it is false."""
    false = {EQUIVALENT: 0, DIFFERENT: 0}
    made = {EQUIVALENT: 0, DIFFERENT: 0}
    whole = 0
    for _ in range(rounds):
        classes = rng.dirichlet(np.full(200, 0.3), 100)
        table = np.stack([rng.multinomial(draws, classes[symbol // 3]) for symbol in range(300)])
        where = np.nonzero(table)
        found = equivalence(Occurrences.from_codes(list(range(300)), *where, count=table[where]))
        same = found.pairs.first // 3 == found.pairs.second // 3
        for kind, wrong in ((EQUIVALENT, ~same), (DIFFERENT, same)):
            made[kind] += int((found.relation == kind).sum())
            false[kind] += int(((found.relation == kind) & wrong).sum())
        whole += sum(
            len({s // 3 for s in c.symbols}) == 1 and len(c.symbols) == 3 for c in found.classes
        )
    return {
        "draws_per_symbol": draws,
        "equivalent": {
            "made": made[EQUIVALENT],
            "false": false[EQUIVALENT],
            "true_pairs": 300 * rounds,
        },
        "different": {
            "made": made[DIFFERENT],
            "false": false[DIFFERENT],
            "true_pairs": 44_550 * rounds,
        },
        "classes_whole": whole / (100 * rounds),
    }


def speed(rng: np.random.Generator, symbols: int = 10_000) -> dict:
    """A vocabulary of 10,000 Zipfian symbols, 400 tokens each on average, over 20,000 contexts."""
    tokens = 400 * symbols
    weights = 1 / np.arange(1, symbols + 1)
    symbol = rng.choice(symbols, tokens, p=weights / weights.sum())
    topic = symbol % 500
    context = (topic * 37 + rng.zipf(1.3, tokens)) % 20_000
    begun = time.perf_counter()
    data = Occurrences.from_codes(list(range(symbols)), symbol, context)
    collected = time.perf_counter() - begun
    kept = data.select([s for s, n in zip(data.symbols, data.totals, strict=True) if n >= 20])
    begun = time.perf_counter()
    found = equivalence(kept)
    return {
        "symbols": len(kept.symbols),
        "cells": int(kept.cells.nnz),
        "pairs_with_an_estimate": found.comparable,
        "pairs_tested": len(found.relation),
        "seconds_collecting": round(collected, 2),
        "seconds_judging": round(time.perf_counter() - begun, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="100 repeats, written nowhere")
    options = parser.parse_args()
    if options.quick:
        options.repeats = 100
    rng = np.random.default_rng(options.seed)
    designs = []
    for design in DESIGNS:
        # Wide tables cost memory: fewer repeats, and the record says how many.
        repeats = options.repeats if design["contexts"] <= 100 else options.repeats // 4
        designs.append(design | {"repeats": repeats} | one_design(design, repeats, rng))
        print(designs[-1], flush=True)
    values = {
        "designs": designs,
        "end_to_end": [end_to_end(draws, rng) for draws in (50, 300, 2000)],
        "speed": speed(rng),
    }
    for part in (*values["end_to_end"], values["speed"]):
        print(part)
    command = f"python benchmarks/bench_equivalence.py --repeats {options.repeats}"
    ratios.report("equivalence", command, values, keep=not options.quick)


if __name__ == "__main__":
    main()
