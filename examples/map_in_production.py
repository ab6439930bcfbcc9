"""
The map in production
=====================

A retrained two-tower model meets an index that still speaks the old space. Map the queries back
into it, or the index forward, and judge the result between the two baselines that decide: keep
the old model, or re-embed everything.
"""

# %%
# Items and queries live in a shared space of meanings; each model sees it through its own random
# network, with its own noise. Every query is about one item. The new model is the better one: it
# is less noisy.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import samespace as ss

rng = np.random.default_rng(0)
items, queries, meaning, width = 8000, 1000, 24, 64
item_meaning = rng.standard_normal((items, meaning))
relevant = rng.integers(items, size=queries)
query_meaning = item_meaning[relevant] + 0.9 * rng.standard_normal((queries, meaning))


def model(noise):
    """Train a model, so to speak: a random linear view of the meaning, and noise of its own."""
    view = rng.standard_normal((meaning, width)) / np.sqrt(meaning)

    def embed(x):
        return x @ view + noise * rng.standard_normal((len(x), width))

    return embed


old_model, new_model = model(0.25), model(0.1)
old_items, new_items = old_model(item_meaning), new_model(item_meaning)
old_queries, new_queries = old_model(query_meaning), new_model(query_meaning)

# %%
# Fit on a sample of items that both models embedded; no query is needed for it.
sample = rng.choice(items, size=3000, replace=False)
forward = ss.compare(old_items[sample], new_items[sample], names=("old", "new"))
backward = ss.compare(new_items[sample], old_items[sample], names=("new", "old"))
print("index into the new space:", forward.verdict.name, f"R2 {1 - forward.affine.unexplained:.3f}")
print(
    "query into the old space:", backward.verdict.name, f"R2 {1 - backward.affine.unexplained:.3f}"
)

# %%
# The map is a file of a few kilobytes, loaded where it serves.
path = Path(tempfile.mkdtemp()) / "old-to-new.safetensors"
forward.affine.map.save(path)
old_to_new = ss.maps.Map.load(path)
new_to_old = backward.affine.map
print(old_to_new, f"{path.stat().st_size / 1024:.0f} KB")


# %%
# Retrieval is what counts, and a map is judged between its two baselines.
def recall(query_vectors, item_vectors, k=10):
    """Share of queries whose item is among the k nearest."""
    squares = (item_vectors**2).sum(axis=1)
    closeness = 2 * query_vectors @ item_vectors.T - squares
    best = np.argpartition(-closeness, k, axis=1)[:, :k]
    return (best == relevant[:, None]).any(axis=1).mean()


recalls = {
    "keep the old model": recall(old_queries, old_items),
    "new queries mapped, old index": recall(new_to_old.transform(new_queries), old_items),
    "new queries, old index mapped": recall(new_queries, old_to_new.transform(old_items)),
    "re-embed everything": recall(new_queries, new_items),
}

figure, axes = plt.subplots(figsize=(8, 2.4), layout="constrained")
for place, value in enumerate(recalls.values()):
    baseline = place in (0, 3)
    axes.plot(value, place, "s" if baseline else "o", color="0.45" if baseline else "#3346a8")
    axes.annotate(f"{value:.3f}", (value, place), (8, 0), textcoords="offset points", va="center")
for value, style in ((recalls["keep the old model"], ":"), (recalls["re-embed everything"], "--")):
    axes.axvline(value, color="0.7", linestyle=style, zorder=0)
axes.set_yticks(range(4), list(recalls))
axes.invert_yaxis()
axes.margins(x=0.12, y=0.2)
axes.spines[["top", "right"]].set_visible(False)
axes.set_xlabel("recall at 10 (squares: the baselines that decide)")
plt.show()

# %%
# In a shell, the item side is ``samespace apply old-to-new.safetensors index/ new-index/``:
# streaming, atomic, and resumable.
