"""
Moments merge across machines
=============================

Moments are a monoid: those of two parts of the data add up to those of the whole, whatever the
parts. So each worker passes over its own shard, and the sums travel instead of the vectors.
"""

# %%
# One data set, and its moments taken in one go.
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import samespace as ss

rng = np.random.default_rng(0)
n, d = 40_000, 32
old = 100.0 + rng.standard_normal((n, d))
new = old @ rng.standard_normal((d, d)) + 0.5 * rng.standard_normal((n, d))
ids = np.arange(n)
whole = ss.Moments.of(old, new, on=(ids, ids))

# %%
# Seven workers, each with an uneven shard of shuffled rows. Each saves a file of a size that does
# not depend on how many rows it saw. Folds and the kept sample go by a hash of the row's id, so
# every worker puts a row where every other one would.
folder = Path(tempfile.mkdtemp())
edges = np.sort(rng.choice(np.arange(1000, n - 1000), size=6, replace=False))
shards = np.split(rng.permutation(n), edges)


def work(number):
    """What one machine does."""
    rows = shards[number]
    moments = ss.Moments.of(old[rows], new[rows], on=(ids[rows], ids[rows]))
    moments.save(folder / f"worker-{number}.safetensors")
    return moments.n


with ThreadPoolExecutor(2) as pool:
    print("rows per worker:", list(pool.map(work, range(7))))

# %%
# Whoever collects the files adds them, in any order.
parts = [ss.Moments.load(path) for path in sorted(folder.glob("*.safetensors"), reverse=True)]
merged = reduce(add, parts)

for name in ("mean_x", "mean_y", "Sxx", "Sxy", "Syy"):
    a, b = getattr(merged, name), getattr(whole, name)
    print(f"{name:7s} differs by {np.abs(a - b).max() / np.abs(b).max():.1e} of its largest entry")

# %%
# So does every fold, and with the folds everything held out: the verdict, its interval and the
# map.
first, second = ss.compare(whole), ss.compare(merged)
print(first.verdict, second.verdict)
print(f"{first.affine.unexplained:.9f} {second.affine.unexplained:.9f}")
print("same sample of rows:", set(whole.reservoir.keys) == set(merged.reservoir.keys))

# %%
# What each worker could have said on its own, with its interval, and what the sum says.
shares = [ss.compare(part).affine for part in (*parts, merged)]
estimates = np.array([share.unexplained for share in shares])
ends = np.array([(share.interval.low, share.interval.high) for share in shares])
rows = [part.n for part in (*parts, merged)]

figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
for which, colour, label in (
    (slice(0, -1), "0.45", "one worker"),
    (slice(-1, None), "C0", "merged"),
):
    bars = np.abs(ends[which] - estimates[which, None]).T
    axes.errorbar(
        rows[which], estimates[which], bars, fmt="o", color=colour, capsize=3, label=label
    )
axes.axhline(estimates[-1], color="0.8", zorder=0)
axes.set(xscale="log", xlabel="rows", ylabel="unexplained, held out")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
