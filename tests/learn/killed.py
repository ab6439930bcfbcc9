"""A training that a test kills: run as a program, with the checkpoint's path and the steps as arguments."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from samespace.learn.baselines import cross_entropy
from samespace.learn.encoders import Classifier, StackedMLP
from samespace.learn.streams import WorldStream
from samespace.learn.training import Recipe, train
from samespace.worlds.radial import RadialWorld


def fit(checkpoint: Path | None, steps: int) -> torch.nn.Module:
    """Train two members; every step is followed by a checkpoint."""
    world, seeds = RadialWorld(classes=5, noise=2), [0, 1]
    model = Classifier(StackedMLP(seeds, [world.d_x, 8, 2]), seeds, labels=5, d=2)
    train(
        model,
        WorldStream([lambda generator: world.labelled(16, generator)] * 2, seeds),
        lambda model, batch: cross_entropy(model(batch.x), batch.labels),
        Recipe(steps=steps, learning_rate=1e-2),
        checkpoint=checkpoint,
        seconds=0.0,
    )
    return model


if __name__ == "__main__":
    fit(Path(sys.argv[1]), int(sys.argv[2]))
