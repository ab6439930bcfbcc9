"""
Is this data useful for that task?
==================================

Pre-training helps when the symbols that a task treats alike also occur alike in the data that one
pre-trains on. Here both are known exactly, so the answer can be checked; with a vocabulary of words
the same calls take counts.
"""

# %%
# The task: add two numbers modulo 8. The data: triples of two numbers and their sum, with one number
# masked. Numbers that agree modulo 8 are interchangeable in both.
import matplotlib.pyplot as plt
import numpy as np

from samespace.theory.alignment import alignment
from samespace.theory.occurrences import Occurrences
from samespace.worlds.modular import CModAdd, ModAdd

task = Occurrences.of(**ModAdd(numbers=16, modulus=8).triplets().columns())
data = Occurrences.of(**CModAdd(numbers=16, modulus=8).triplets().columns())
print(alignment(data, task))

# %%
# Two ways to spoil it. Data that prefer one context of each symbol tell equivalent numbers apart:
# the pairs are *missed*, and pre-training does not help. Data that add modulo 4 cannot tell 1 from 5,
# which the task must: the pairs are *confused*, and pre-training harms.
for name, world in (
    ("one context preferred", CModAdd(concentration=0.9)),
    ("modulo 4", CModAdd(modulus=4)),
):
    found = alignment(Occurrences.of(**world.triplets().columns()), task)
    worst = found.broken[0]
    print(f"{name}: score {found.score:.2f}, missed {found.missed}, confused {found.confused};")
    print(f"   the worst symbol is {worst.symbol}, farthest from {worst.example}")

# %%
# From samples the answer is a test, and "undecided" is one of its answers. How many draws does it
# need? Each point is the share of 20 samples that were called aligned; all of them are.
rng = np.random.default_rng(0)


def sampled(world, draws):
    columns = world.triplets().columns()
    rows = rng.choice(len(columns["symbol"]), draws, p=columns.pop("probability"))
    return Occurrences.of(**{name: column[rows] for name, column in columns.items()})


sizes = [1000, 3000, 6000, 10_000, 20_000]
verdicts = {
    n: [alignment(sampled(CModAdd(), n), sampled(ModAdd(), n)).verdict for _ in range(20)]
    for n in sizes
}
figure, axes = plt.subplots(figsize=(5.5, 3.3), layout="constrained")
for verdict, style in (("aligned", "o-"), ("undecided", "s--"), ("not aligned", "^:")):
    axes.plot(
        sizes, [np.mean([v == verdict for v in verdicts[n]]) for n in sizes], style, label=verdict
    )
axes.set(
    xscale="log",
    xlabel="draws from each data set",
    ylabel="share of samples",
    title="Two aligned data sets, judged from samples",
    ylim=(-0.03, 1.03),
)
axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
axes.minorticks_off()
axes.legend(frameon=False)
plt.show()
