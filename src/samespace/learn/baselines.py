"""Supervised objectives, one loss per member: the baselines that contrastive ones are held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor


def mean_squared_error(
    predicted: Float[Tensor, "*k n d"], target: Float[Tensor, "*k n d"]
) -> Float[Tensor, "*k"]:
    """Return the mean over rows and coordinates of (predicted - target)^2, per member."""
    return (predicted - target).square().mean(dim=(-2, -1))


def cross_entropy(
    logits: Float[Tensor, "*k n labels"], labels: Int[Tensor, "*k n"]
) -> Float[Tensor, "*k"]:
    """Return the mean over rows of -log softmax(logits)[label], per member."""
    flat = functional.cross_entropy(logits.flatten(end_dim=-2), labels.flatten(), reduction="none")
    return flat.unflatten(0, labels.shape).mean(dim=-1)
