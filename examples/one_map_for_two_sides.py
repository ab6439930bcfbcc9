"""
One map for both sides
======================

A model p(y | x) ~ exp f(x)'g(y) has two representations, of inputs and of labels. It stays the same
model when f turns into f A and g into g A^-T + c, and under no other affine maps. So two models
must be compared jointly: one matrix has to explain both sides.
"""

# %%
# The trap first. Rotate f one way and g the other: each side alone is a perfect copy, yet every
# probability has changed.
import matplotlib.pyplot as plt
import numpy as np
import torch

import samespace as ss
from samespace.family import compare_models, from_arrays
from samespace.learn.baselines import cross_entropy
from samespace.learn.encoders import Classifier, StackedMLP
from samespace.learn.streams import WorldStream
from samespace.learn.training import Recipe, train
from samespace.worlds.radial import RadialWorld

rng = np.random.default_rng(0)
f, g = rng.standard_normal((1000, 2)), rng.standard_normal((30, 2))
turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
model, turned = from_arrays(f, g, name="model"), from_arrays(f @ turn, g @ turn.T, name="turned")
apart = compare_models(model, turned)
print("mean CCA of f:", round(ss.cca(f, f @ turn).mean, 3))
print("mean CCA of g:", round(ss.cca(g, g @ turn.T).mean, 3))
print("joint verdict:", apart.verdict.name, "-", apart.verdict.reason)

# %%
# Now two real models: classifiers of Roeder's world, 18 classes by the angle of a point in the
# plane, trained from two seeds as one stacked module.
seeds, world = [0, 1], RadialWorld(classes=18, noise=0)
pair = Classifier(StackedMLP(seeds, [2, 64, 64, 2]), seeds, labels=18, d=2)
train(
    pair,
    WorldStream([lambda generator: world.labelled(256, generator)] * 2, seeds),
    lambda models, batch: cross_entropy(models(batch.x), batch.labels),
    Recipe(steps=1800, learning_rate=3e-3, schedule="cosine"),
)

# %%
# Both embed the same held-out inputs. The verdict is joint; the conclusion says what the theorem
# promises for these two models, and what was found.
held_out = world.labelled(2000, torch.Generator().manual_seed(99))
with torch.no_grad():
    F = pair.f(held_out.x.expand(2, -1, -1)).double().numpy()
    G = pair.g.double().numpy()
old, new = (from_arrays(F[i], G[i], name=f"seed {i}") for i in seeds)
joint = compare_models(old, new, observed=held_out.labels.numpy())
print(joint.conclusion)
for one in joint.classes:
    print(
        f"{one.name:12s} holds: {one.holds!s:6s} f: {one.f_unexplained:.2%}  g: {one.g_unexplained:.2%}"
    )

# %%
# The picture behind it. A is fitted to f alone; its inverse transpose then carries the label vectors
# of the first model onto those of the second, which the fit has never seen.
fitted = joint.joint("affine").map
carried = (G[0] - G[0].mean(axis=0)) @ np.linalg.inv(fitted.matrix).T
rows = slice(0, 700)
colours = plt.get_cmap("twilight_shifted")(held_out.labels[rows].numpy() / 18)
figure, panels = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for panel, points, title in (
    (panels[0], F[0], "f of seed 0"),
    (panels[1], F[1], "f of seed 1"),
):
    panel.scatter(*points[rows].T, c=colours, s=10, ec="#55524c", lw=0.2)
    panel.set(title=title, aspect="equal")
target = G[1] - G[1].mean(axis=0)
panels[2].plot(*target.T, "o", mfc="none", mec="#3346a8", ms=11, label="g of seed 1")
panels[2].plot(*carried.T, "x", color="#a8321f", ms=7, label="g of seed 0, times A^-T")
panels[2].set(title="labels, carried by the map of f", aspect="equal")
panels[2].legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
for panel in panels:
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
