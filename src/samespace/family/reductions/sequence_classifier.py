"""Classifiers of texts: a transformer whose representation is what its last linear layer takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import FamilyError
from samespace.family.canonical import CanonicalModel
from samespace.family.head import check_membership, embed, find_head, probe
from samespace.family.tokens import Tokens

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array


def sequence_classifier(
    model: Any,
    *,
    tokens: Tokens | None = None,
    head: str | None = None,
    name: str | None = None,
) -> CanonicalModel:
    """Read a `transformers` sequence classifier as a model of the family.

    The reduction is that of `classifier`: f(x) is the pooled and transformed state that the last
    linear layer takes (for decoders, the state of the last real token), g(y) that layer's row of
    class y and its bias. One row per text.

    Parameters
    ----------
    tokens
        How inputs become batches. A decoder that knows no padding token is given one text at a
        time.
    head
        The last layer's name; by default the last linear layer with as many outputs as there are
        classes.

    Notes
    -----
    With few classes (K <= M, that is nearly always: two classes, 768 features) the diversity
    condition fails, and two equal classifiers may represent texts quite differently.
    `compare_models` says so.
    """
    last = find_head(model, name=head)
    if last.layer.weight.shape[0] < 2:
        raise FamilyError(
            f"{type(model).__name__} has one output: a regression, not a distribution over labels. "
            "It is outside the family."
        )
    tokens = tokens or Tokens()
    if getattr(model.config.get_text_config(), "pad_token_id", None) is None:
        tokens = replace(tokens, size=1)
    check_membership(model, last, probe(model))
    g = last.unembeddings()

    return CanonicalModel(
        f=lambda inputs: embed(model, last, tokens.batches(inputs), lambda _: np.s_[:]),
        g=lambda labels: g[labels],
        dim=last.dim,
        labels=slice(None),
        bias=last.bias,
        targets=_observed,
        name=name or type(model).__name__,
    )


def _observed(inputs: Any) -> Int[Array, " n"] | None:
    labelled = isinstance(inputs, Mapping) and "labels" in inputs
    return np.asarray(inputs["labels"]) if labelled else None
