"""
One pass over Parquet
=====================

Vectors of two models in Parquet files, in different orders, with rows missing on either side, and
more of them than one wants to hold in memory. Pairing goes by id, and one pass over the files is
enough.
"""

# %%
# Write 60,000 vectors of each model in four files each, shuffled differently, with some ids
# missing.
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import samespace as ss
from samespace.report import figures

rng = np.random.default_rng(0)
n, d_old, d_new = 60_000, 32, 48
old = rng.standard_normal((n, d_old)).astype(np.float32)
new = (old @ rng.standard_normal((d_old, d_new)) + 0.3 * rng.standard_normal((n, d_new))).astype(
    np.float32
)
folder = Path(tempfile.mkdtemp())


def write(name, vectors, keep):
    """Write the rows in ``keep``, in that order, as a folder of four Parquet files."""
    (folder / name).mkdir()
    for part, rows in enumerate(np.array_split(keep, 4)):
        column = pa.FixedSizeListArray.from_arrays(vectors[rows].ravel(), vectors.shape[1])
        table = pa.table({"id": [f"item-{row}" for row in rows], "embedding": column})
        pq.write_table(table, folder / name / f"part-{part}.parquet")


write("old", old, rng.permutation(n)[: n - 500])
write("new", new, rng.permutation(n)[: n - 1000])

# %%
# ``Moments`` reads both folders once. What it holds afterwards does not depend on the number of
# rows: ten folds of sums, and a sample of 2,048 rows for pictures and neighbours.
moments = ss.Moments.of(folder / "old", folder / "new", on="id")
print(moments)
print("unmatched:", moments.pairing["unmatched_x"], "old,", moments.pairing["unmatched_y"], "new")

# %%
# Every linear question is answered from the moments, without the files.
result = ss.compare(moments, names=("old", "new"))
print(result)

# %%
# The picture is drawn from the rows that the pass kept: old, new, and old after the map.
points = figures.points(result)

# %%
# On the command line, all of this is ``samespace compare old/ new/ --on id --html report.html``.
