"""From what training saw to the numbers and curves that a record keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.registry import Settings
from samespace.reproduce.semantic_learners import verdicts

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.learn.semantic_training import ContrastiveHistory
    from samespace.reproduce.semantic_learners.populations import Outcome


def values(outcome: Outcome, settings: Settings) -> dict[str, Any]:
    """Return everything that a record of one variant holds."""
    found = distances(outcome.contrastive, settings)
    if outcome.contrastive.context_covariance is not None:
        found["free_direction"] = free_direction(outcome.contrastive, settings)
    return found | accuracies(outcome, settings)


def apart(settings: Settings) -> Int[Array, " pairs"]:
    """Return for each pair of symbols how far apart their classes lie on the circle of remainders."""
    i, j = np.triu_indices(settings["numbers"], 1)
    step = (i - j) % settings["modulus"]
    return np.minimum(step, settings["modulus"] - step)


def distances(history: ContrastiveHistory, settings: Settings) -> dict[str, Any]:
    """Summarise distances within and between classes over training."""
    within, all_distances = apart(settings) == 0, history.distances()
    inside, outside = all_distances[:, :, within], all_distances[:, :, ~within]
    inner, outer, points = inside.mean(axis=2), outside.mean(axis=2), settings["points"]
    return {
        "epochs": kept(history.epochs, points),
        "within": _spread(inside, points),
        "between": _spread(outside, points),
        "loss": kept(history.loss[1:], points),
        "ratio": shares(inner[-1], outer[-1]),
        "ratio_before": shares(inner[0], outer[0]),
        "epochs_to_half": verdicts.first_time(history.epochs, inner < verdicts.CLOSE * outer),
        "final_distances": all_distances[-1].round(5).tolist(),
    }


def free_direction(history: ContrastiveHistory, settings: Settings) -> dict[str, Any]:
    r"""Split the differences within classes along the direction in which contexts agree and across it.

    Eq. 2 sees of a difference delta between two symbols only how its product with a context varies over
    contexts, ``sqrt(delta' C delta)`` with C the covariance of the contexts' embeddings: a *difference of
    logits*. The unit vector n of C's smallest eigenvalue is the direction in which contexts agree best, and
    ``delta . n`` is what the free constant of each symbol may be.
    """
    covariance, points = history.context_covariance, settings["points"]
    assert covariance is not None
    within, differences = apart(settings) == 0, history.differences()
    eigenvalues, vectors = np.linalg.eigh(covariance)
    free = vectors[..., 0]
    along = np.abs(np.einsum("empd,emd->emp", differences, free))
    across = np.sqrt(np.maximum(history.distances() ** 2 - along**2, 0.0))
    seen = np.sqrt(np.einsum("empd,emdk,empk->emp", differences, covariance, differences).clip(0))
    inside, outside = seen[:, :, within].mean(axis=2), seen[:, :, ~within].mean(axis=2)
    return {
        "along": kept(along[:, :, within].mean(axis=2), points),
        "across": kept(across[:, :, within].mean(axis=2), points),
        "logits_within": kept(inside, points),
        "logits_between": kept(outside, points),
        "logit_ratio_before": shares(inside[0], outside[0]),
        "logit_ratio": shares(inside[-1], outside[-1]),
        "eigenvalues": [shares(one, np.full_like(one, one.sum())) for one in eigenvalues[-1]],
        "kept_of_first": kept_of_first(differences[:, :, within], free[-1]),
    }


def kept_of_first(
    differences: Float[Array, "evaluations models pairs d"], free: Float[Array, "models d"]
) -> dict[str, list[float]]:
    """Return how much of the first differences is left in the last: 1 all of it, 0 nothing.

    It is the slope of the last on the first, without intercept, along one direction and across it.
    """
    first, last = differences[0], differences[-1]
    both, own = (last * first).sum(axis=(1, 2)), (first**2).sum(axis=(1, 2))
    first, last = (np.einsum("mpd,md->mp", part, free) for part in (first, last))
    both_along, own_along = (last * first).sum(axis=1), (first**2).sum(axis=1)
    return {
        "along": (both_along / own_along).tolist(),
        "across": ((both - both_along) / (own - own_along)).tolist(),
    }


def accuracies(outcome: Outcome, settings: Settings) -> dict[str, Any]:
    """Summarise how fast classifiers learn from the two starts; empty where none were trained."""
    if outcome.pretrained is None or outcome.random is None:
        return {}
    epochs = outcome.pretrained.epochs
    starts = {"pretrained": outcome.pretrained.accuracy, "random": outcome.random.accuracy}
    points = settings["points"]
    return {
        "accuracy": {name: kept(accuracy, points) for name, accuracy in starts.items()},
        "epochs_to_95": {
            name: verdicts.first_time(epochs, accuracy >= 0.95) for name, accuracy in starts.items()
        },
        "advantage": (starts["pretrained"] - starts["random"]).mean(axis=0).round(5).tolist(),
    }


def shares(parts: Float[Array, " n"], wholes: Float[Array, " n"]) -> list[float | None]:
    """Return parts / wholes; None where there is no whole: a model that put everything in one point."""
    pairs = zip(np.asarray(parts).tolist(), np.asarray(wholes).tolist(), strict=True)
    return [None if whole == 0 else round(part / whole, 7) for part, whole in pairs]


def _spread(distances: Float[Array, "evaluations models pairs"], points: int) -> dict[str, Any]:
    parts = {"mean": distances.mean(axis=2), "low": distances.min(axis=2), "high": distances.max(2)}
    return {name: kept(part, points) for name, part in parts.items()}


def kept(curve: Array, points: int) -> list[Any]:
    """Return at most so many evaluations of a curve, the first and the last among them."""
    index = np.unique(np.linspace(0, len(curve) - 1, points).round().astype(int))
    return np.asarray(curve)[index].round(6).tolist()
