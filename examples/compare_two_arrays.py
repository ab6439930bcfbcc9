"""
Compare two arrays
==================

Two models saw the same inputs. Are their representations the same space, and up to which map?
"""

# %%
# Two pairs of "models". The second model of the first pair is a rotated, scaled and shifted copy
# of the first one, with a little noise; that of the second pair is also sheared.
import numpy as np

import samespace as ss
from samespace.report import figures

rng = np.random.default_rng(0)
n, d = 6000, 24
old = rng.standard_normal((n, d)) * np.linspace(2.0, 0.5, d)
rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
noise = 0.05 * rng.standard_normal((n, d))

rotated = 3.0 * old @ rotation + 1.0 + noise
sheared = old @ rng.standard_normal((d, d)) + noise

# %%
# ``print`` shows the lattice: what each class of maps leaves unexplained on rows that it was not
# fitted to, its confidence interval, and what the same statistic reads when rows are paired at
# random.
result = ss.compare(old, rotated, names=("model A", "model B"))
print(result)

# %%
# The figure shows the same. A class holds when it lies left of both lines: it explains enough,
# and hardly less than the affine map does.
lattice = figures.lattice(result)

# %%
# The sheared pair needs the full affine map. An orthogonal one leaves much more unexplained, so
# an index built on the old space would return other neighbours until its vectors are mapped.
other = ss.compare(old, sheared, names=("model A", "model C"))
print(other.verdict.name, "-", other.verdict.reason)
lattice = figures.lattice(other)

# %%
# Every class carries its fitted map, and the map of the verdict is the one to use.
mapped = result.orthogonal.map.transform(old)
print(result.orthogonal.map)
print("largest error:", np.abs(mapped - rotated).max().round(2))
points = figures.points(result)
