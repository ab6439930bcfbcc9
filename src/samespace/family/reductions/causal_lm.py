"""Autoregressive language models are in the family (Roeder 2021, Appendix D.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.family.canonical import CanonicalModel
from samespace.family.head import check_membership, embed, find_head, probe
from samespace.family.tokens import Tokens, next_tokens

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array


def causal_lm(
    model: Any,
    *,
    tokens: Tokens | None = None,
    head: str | None = None,
    name: str | None = None,
) -> CanonicalModel:
    """Read a `transformers` causal language model as a model of the family.

    log P(u_i | u_<i) = W_{u_i} h_i - log sum over j of exp(W_j h_i): f(x) is what the output layer
    takes (after the final norm), g(y) its row of token y, tied or not, with the bias if there is
    one. An input x is a *prefix*: a text of T tokens gives T - 1 rows, one for each prefix whose
    next token is known, in order of the texts.

    Parameters
    ----------
    model
        A PreTrainedModel with a language-modelling head, on any device. It is left as it was.
    tokens
        How inputs become batches; by default rows of token numbers, 16 at a time.
    head
        The output layer's name where it cannot be found.

    Notes
    -----
    Refused with `FamilyError`: logits that are no inner product (Gemma 2's soft cap). A constant
    scale of the logits (Cohere, Granite) is part of f. A causal model reads only to the left, so
    padding on the right changes nothing.
    """
    tokens = tokens or Tokens()
    last = find_head(model, name=head)
    check_membership(model, last, probe(model))
    g = last.unembeddings()
    return CanonicalModel(
        f=lambda inputs: embed(model, last, tokens.batches(inputs), lambda b: next_tokens(b) >= 0),
        g=lambda labels: g[labels],
        dim=last.dim,
        labels=slice(None),
        bias=last.bias,
        targets=lambda inputs: _observed(tokens, inputs),
        name=name or type(model).__name__,
    )


def _observed(tokens: Tokens, inputs: Any) -> Int[Array, " n"]:
    wanted = [next_tokens(batch) for batch in tokens.batches(inputs)]
    return np.concatenate([each[each >= 0] for each in wanted])
