"""The demo: two models that are the same up to a map, and two that only look so.

Everything is made here, from seeds: two small classifiers of the canonical family, trained apart on
Roeder's Figure 2 world; and Nielsen's two models, whose losses are both next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError
from samespace.family import CanonicalModel, ModelComparison, compare_models, from_arrays
from samespace.measures import cca

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.learn.encoders import Classifier
    from samespace.worlds.samples import Labelled

    Progress = Callable[[str, int, int], None]

STEPS = 10_000
BATCH = 512
HELD_OUT = 10_000


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One pair of models of the demo: its comparison, how good both models are, and its files."""

    comparison: ModelComparison
    losses: tuple[float, float]
    mean_cca: float
    report: Path
    representations: tuple[Path, Path]


def trained_pair(
    folder: Path,
    *,
    steps: int = STEPS,
    seeds: tuple[int, int] = (0, 1),
    progress: Progress | None = None,
) -> Shown:
    """Train two classifiers that differ by their seeds alone, compare them on held-out points, report.

    An interrupted training is kept in `folder` and goes on from there; a finished one is not kept.
    """
    if steps < 1:
        raise OptionError(f"The demo trains for at least 1 step; got {steps}.")
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "unfinished.pt"
    model, held_out = _train(steps, seeds, checkpoint, progress)
    f, g = _outputs(model, held_out)
    names = tuple(f"seed {seed}" for seed in seeds)
    models = [from_arrays(f[k], g[k], name=names[k]) for k in range(2)]
    shown = _show(folder, "same", ("old", "new"), models, held_out.labels.numpy())
    checkpoint.unlink()
    return shown


def close_losses(folder: Path) -> Shown:
    """Compare Nielsen's two models: both all but certain of every label, and not the same space."""
    from samespace.worlds.nielsen import close_losses_pair

    folder.mkdir(parents=True, exist_ok=True)
    pair = close_losses_pair(np.random.default_rng(0))
    models = [
        from_arrays(one.f, one.g, name=name)
        for one, name in ((pair.prime, "theta'"), (pair.star, "theta*"))
    ]
    return _show(folder, "not-the-same", ("prime", "star"), models, pair.labels)


def _train(
    steps: int, seeds: tuple[int, int], checkpoint: Path, progress: Progress | None
) -> tuple[Classifier, Labelled]:
    import torch  # only the demo's training needs it

    from samespace.learn.baselines import cross_entropy
    from samespace.learn.encoders import Classifier, StackedMLP
    from samespace.learn.streams import WorldStream
    from samespace.learn.training import Recipe, train
    from samespace.worlds.radial import RadialWorld

    world = RadialWorld()
    model = Classifier(StackedMLP(seeds, [world.d_x, 64, 64, 2]), seeds, labels=world.classes, d=2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # products this small only wait for a second thread
    try:
        train(
            model,
            WorldStream([lambda generator: world.labelled(BATCH, generator)] * 2, seeds),
            lambda model, batch: cross_entropy(model(batch.x), batch.labels),
            Recipe(steps=steps, learning_rate=3e-3, schedule="cosine", warmup=100),
            checkpoint=checkpoint,
            seconds=5.0,
            progress=progress,
        )
    finally:
        torch.set_num_threads(threads)
    return model, world.labelled(HELD_OUT, torch.Generator().manual_seed(2**40))


def _outputs(
    model: Classifier, held_out: Labelled
) -> tuple[Float[Array, "2 n 2"], Float[Array, "2 k 2"]]:
    import torch

    with torch.no_grad():
        f = model.f(held_out.x.expand(2, -1, -1))
    return f.numpy(), model.g.detach().numpy()


def _show(
    folder: Path,
    name: str,
    files: tuple[str, str],
    models: list[CanonicalModel],
    labels: Int[Array, " n"],
) -> Shown:
    comparison = compare_models(*models, observed=labels)
    report = folder / f"{name}.html"
    comparison.to_html(report)
    embedded = [model.embed() for model in models]
    paths = [folder / f"{file}.npy" for file in files]
    for path, rows in zip(paths, embedded, strict=True):
        np.save(path, rows)
    losses = [-float(model.log_likelihood(None, labels).mean()) for model in models]
    return Shown(
        comparison=comparison,
        losses=(losses[0], losses[1]),
        mean_cca=float(cca(*embedded).mean),
        report=report,
        representations=(paths[0], paths[1]),
    )
