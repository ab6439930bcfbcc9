"""
Close losses, different spaces
==============================

Two models of the canonical family, both with a loss below 1e-8, whose representations are not the
same up to any affine map: the construction of Nielsen, Gresele and Dittadi (2024), Section 4.
"None" is a verdict.
"""

# %%
# Four labels in two dimensions. One model fans its labels out over 34 degrees with very long
# unembeddings, the other spreads them over the circle with shorter ones. Both are nearly certain
# of the right label everywhere.
import matplotlib.pyplot as plt
import numpy as np

import samespace as ss
from samespace.worlds.nielsen import close_losses_pair

pair = close_losses_pair(np.random.default_rng(0))
rows = np.arange(len(pair.labels))
for name, model in (("prime", pair.prime), ("star", pair.star)):
    print(f"loss of {name:5s} {-model.log_prob()[rows, pair.labels].mean():.1e}")

# %%
# The embeddings, coloured and marked by label: same inputs, same predictions, another shape.
figure, panels = plt.subplots(1, 2, figsize=(8.5, 4), layout="constrained")
for panel, f, title in zip(panels, (pair.prime.f, pair.star.f), ("prime", "star"), strict=True):
    for label, marker in enumerate("os^D"):
        of_label = f[pair.labels == label][:250]
        panel.plot(*of_label.T, marker, markersize=3, alpha=0.6, label=f"label {label}")
    panel.set(title=f"f of the {title} model", aspect="equal")
    panel.spines[["top", "right"]].set_visible(False)
panels[1].legend(frameon=False, markerscale=2, loc="upper right", bbox_to_anchor=(1.35, 1))
plt.show()

# %%
# The verdict on the embeddings, in both directions: no class holds.
result = ss.compare(pair.prime.f, pair.star.f, names=("prime", "star"))
print(result)
print("and back:", ss.compare(pair.star.f, pair.prime.f).verdict.name)
print(
    "mean canonical correlation:", round(ss.cca(pair.prime.f, pair.star.f).mean, 2), "(paper: 0.42)"
)

# %%
# Why theory does not help here: equal *losses* say that the right label gets the same
# probability. Theorem 1 asks for equal likelihoods of *all* labels, and those of the wrong labels
# differ by hundreds of nats.
gap = np.abs(pair.prime.log_prob() - pair.star.log_prob())
right = gap[rows, pair.labels].max()
print(
    f"largest gap in log-likelihood: {right:.0e} for the right label, {gap.max():.0f} for any label"
)
