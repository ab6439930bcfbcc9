"""CLIP is in the family: two towers on the sphere, its learnt scale in f (Radford et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.family.canonical import CanonicalModel
from samespace.family.head import to_numpy
from samespace.family.reductions.two_tower import two_tower
from samespace.family.tokens import Batch, Tokens

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def clip(model: Any, *, tokens: Tokens | None = None, name: str | None = None) -> CanonicalModel:
    """Read a `transformers` CLIP as a model of the family: the text given the image.

    p(text | image, S) ~ exp(s cos(e_image, e_text)), s = exp(logit_scale): f is s times the unit
    image embedding, g the unit text embedding. Inputs are pixel values (n, channels, height,
    width), labels texts or token numbers; S comes with the data.

    Notes
    -----
    CLIP's loss averages both directions; the image given the text is the same model with f and g
    exchanged.
    """
    tokens = tokens or Tokens()

    def images(pixels: Any) -> Float[Array, "n m"]:
        return _run(model.get_image_features, tokens.batches({"pixel_values": pixels}), model)

    def texts(labels: Any) -> Float[Array, "k m"]:
        return _run(model.get_text_features, tokens.batches(labels), model)

    return two_tower(
        images,
        texts,
        dim=int(model.config.projection_dim),
        temperature=float(np.exp(-model.logit_scale.item())),
        normalise=True,
        name=name or type(model).__name__,
    )


def _run(tower: Any, batches: Iterator[Batch], model: Any) -> Float[Array, "n m"]:
    """Return one tower's projected embeddings, before they are scaled to length one."""
    import torch

    device, training = next(model.parameters()).device, model.training
    model.eval()
    try:
        with torch.no_grad():
            outs = [
                tower(**{k: torch.as_tensor(v, device=device) for k, v in b.items()})
                for b in batches
            ]
    finally:
        model.train(training)
    # transformers 5 returns an output whose pooler_output is the projection; version 4 the projection itself.
    return np.concatenate([to_numpy(getattr(out, "pooler_output", out)) for out in outs])
