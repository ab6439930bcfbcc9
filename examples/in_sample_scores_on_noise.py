"""
In-sample scores lie on noise
=============================

Two representations that have nothing to do with each other. Scores computed on the rows that they
were fitted to rise with the width all the same; held-out scores do not.
"""

# %%
# Independent Gaussian noise, 1,000 rows, at widths from 8 to 400. Held out, the affine map has the
# ridge that ``compare`` chooses.
import matplotlib.pyplot as plt
import numpy as np

import samespace as ss

rng = np.random.default_rng(0)
n = 1000
widths = [8, 32, 128, 256, 400]
in_sample = {"mean CCA": [], "$R^2$": [], "linear CKA": []}
held_out = {name: [] for name in in_sample}

for d in widths:
    m = ss.Moments.of(rng.standard_normal((n, d)), rng.standard_normal((n, d)))
    correlations, alignment, result = ss.cca(m), ss.cka(m), ss.compare(m)
    in_sample["mean CCA"].append(correlations.mean)
    held_out["mean CCA"].append(correlations.held_out_mean)
    in_sample["$R^2$"].append(ss.r2(m, held_out=False).mean)
    held_out["$R^2$"].append(1 - result.affine.unexplained)
    in_sample["linear CKA"].append(alignment.biased)
    held_out["linear CKA"].append(alignment.debiased)

# %%
# Nothing is shared, so the right answer is 0 everywhere. The left panel is what is commonly
# published.
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
styles = {"mean CCA": "o-", "$R^2$": "s--", "linear CKA": "^:"}
titles = ("in-sample, biased", "held-out, debiased")
for panel, values, title in zip(panels, (in_sample, held_out), titles, strict=True):
    panel.axhline(0, color="0.6", linewidth=1)
    for name, style in styles.items():
        panel.plot(widths, values[name], style, label=name)
    panel.set(xscale="log", xlabel="width of both representations", title=title, ylim=(-0.1, 1))
    panel.set_xticks(widths, [str(d) for d in widths])
    panel.minorticks_off()
panels[0].set_ylabel("similarity of pure noise")
panels[0].legend(frameon=False)
plt.show()

# %%
# The verdict is made from the right panel, and from intervals. On the widest pair it is
print(result.verdict.name, "-", result.verdict.reason)
