"""
A retrain, from the gate to the index
=====================================

Every week: gate the new model on this week's rows, keep the map, rewrite the index while it streams
past, and look at the retrieval between the two baselines before anything goes live.
"""

# %%
# Two models of the same documents and queries. Each sees the meaning through a network of its own
# (here a random linear one) and adds its noise; the retrained one is less noisy.
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import samespace as ss
from samespace.migrate import apply, evaluate_migration, gate

rng = np.random.default_rng(0)
meaning, width, n_documents, n_queries = 24, 48, 12_000, 800
documents = rng.standard_normal((n_documents, meaning))
relevant = rng.choice(n_documents, n_queries, replace=False)
queries = documents[relevant] + 0.8 * rng.standard_normal((n_queries, meaning))


def trained(noise):
    """Return a model: a view of the meaning drawn once, and noise in every embedding."""
    view = rng.standard_normal((meaning, width)) / np.sqrt(meaning)

    def embed(x):
        return (x @ view + noise * rng.standard_normal((len(x), width))).astype(np.float32)

    return embed


old_model, new_model = trained(noise=0.3), trained(noise=0.05)

# %%
# The index is a Parquet file of the old model's vectors. The new model has embedded a sample of the
# documents; they come in another order and are matched by id.
folder = Path(tempfile.mkdtemp())
sample = rng.choice(n_documents, 4000, replace=False)


def write(path, ids, vectors):
    """Write one row per document: its id, its vector, a title."""
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    titles = [f"title of {i}" for i in ids]
    pq.write_table(pa.table({"id": ids, "vector": column, "title": titles}), path)


old_documents, new_documents = old_model(documents), new_model(documents)
write(folder / "index.parquet", np.arange(n_documents), old_documents)
write(folder / "new-sample.parquet", sample, new_documents[sample])

# %%
# The gate: is the new model the old one up to an affine map that explains 70% of its variance? The old
# noise cannot be mapped away, so 98% would be too much to ask of this pair. On the command line this is
# ``samespace gate index.parquet new-sample.parquet --on id --min-score 0.7 --save-map map.safetensors``.
pair = ss.Pair.of(folder / "index.parquet", folder / "new-sample.parquet", on="id")
decision = gate(pair, require="affine", min_score=0.7)
print(pair, "-", pair.unmatched_x, "documents are not in the sample")
print(decision.outcome, f"R^2 {decision.score:.3f}:", decision.reason)
decision.map.save(folder / "map.safetensors")

# %%
# A model that learned something else does not pass, whatever its loss.
print(gate(old_documents, rng.permutation(new_documents), min_score=0.7).reason)

# %%
# The index is rewritten row group by row group: ids and titles stay. Stop it at any moment and the same
# call goes on; the new file appears when it is whole. ``samespace apply map.safetensors index.parquet
# mapped.parquet`` is the same.
made = apply(folder / "map.safetensors", folder / "index.parquet", folder / "mapped.parquet")
print(
    f"{made.rows:,} rows in {made.seconds:.2f} s;", pq.read_schema(folder / "mapped.parquet").names
)

# %%
# Retrieval decides: through the map, between keeping the old model (free) and embedding everything again
# (the price of a pass of the model over every document).
report = evaluate_migration(
    decision.map,
    old_queries=old_model(queries),
    new_queries=new_model(queries),
    old_documents=folder / "index.parquet",
    new_documents=new_documents,
    relevant=[[row] for row in relevant],
)
print(report)
print(json.dumps(report.to_dict()["gain"], indent=2))

# %%
# The same as a picture, with the standard error over the queries: squares are the two baselines.
ways = {
    "keep the old model": (report.keep_old, "s"),
    "map, old-to-new": (report.mapped, "o"),
    "re-embed everything": (report.reembed, "s"),
}
figure, axes = plt.subplots(figsize=(8, 2.3), layout="constrained")
for place, (found, marker) in enumerate(ways.values()):
    error = found.per_query["ndcg"].std() / np.sqrt(found.queries)
    colour = "C0" if marker == "o" else "0.45"
    axes.errorbar(found.ndcg, place, xerr=error, fmt=marker, color=colour, capsize=3)
axes.set_yticks(range(len(ways)), list(ways))
axes.invert_yaxis()
axes.margins(y=0.3)
axes.spines[["top", "right"]].set_visible(False)
axes.set_xlabel("nDCG@10")
plt.show()
