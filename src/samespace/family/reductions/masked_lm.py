"""Masked language models (BERT) are in the family (Roeder 2021, Appendix D.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import OptionError
from samespace.family.canonical import CanonicalModel
from samespace.family.head import check_membership, embed, find_head, probe
from samespace.family.tokens import Batch, Tokens, corrupt

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array


def masked_lm(
    model: Any,
    *,
    tokens: Tokens | None = None,
    head: str | None = None,
    mask_share: float = 0.15,
    seed: int = 0,
    name: str | None = None,
) -> CanonicalModel:
    """Read a `transformers` masked language model as a model of the family.

    log p(masked | corrupted) ~ sum over masked t of [H(x)_t'e(x_t) - log sum over x' of
    exp(H(x)_t'e(x'))]: f(x) is the transformer *with its head transform* at a masked position, g(y)
    the decoder's row of token y and its bias.

    Parameters
    ----------
    tokens
        How inputs become batches. Inputs that carry ``labels`` (-100 where nothing is asked) are
        taken as they are; of all others, `mask_share` of the tokens (at least one a row, never a
        special one) are masked here.
    mask_share, seed
        How many tokens to mask, and which: the same inputs and seed always give the same rows.

    Notes
    -----
    The likelihood is that of each masked token on its own; as the paper says, their joint
    likelihood is only approximated by the product. BERT's training also keeps or replaces a fifth
    of the chosen tokens; here all become the mask, as in the paper's D.3. To use that scheme, pass
    inputs with labels.
    """
    if not 0.0 < mask_share <= 1.0:
        raise OptionError(
            f"mask_share is a share of the tokens, above 0 and at most 1; got {mask_share}."
        )
    tokens = tokens or Tokens()
    last = find_head(model, name=head)
    check_membership(model, last, probe(model))
    g = last.unembeddings()

    def batches(inputs: Any) -> Iterator[Batch]:
        if isinstance(inputs, Mapping) and "labels" in inputs:
            yield from tokens.batches(inputs)
            return
        first = 0
        for batch in tokens.batches(inputs):
            yield corrupt(
                batch, share=mask_share, first_row=first, seed=seed, **_vocabulary(model, tokens)
            )
            first += len(batch["input_ids"])

    def observed(inputs: Any) -> Int[Array, " n"]:
        return np.concatenate([b["labels"][b["labels"] >= 0] for b in batches(inputs)])

    return CanonicalModel(
        f=lambda inputs: embed(model, last, batches(inputs), lambda b: b["labels"] >= 0),
        g=lambda labels: g[labels],
        dim=last.dim,
        labels=slice(None),
        bias=last.bias,
        targets=observed,
        name=name or type(model).__name__,
    )


def _vocabulary(model: Any, tokens: Tokens) -> dict[str, Any]:
    """Return the mask token and the tokens that must never be masked."""
    known = tokens.tokenizer or model.config
    mask = getattr(known, "mask_token_id", None)
    if mask is None:
        raise OptionError(
            "To mask tokens here a tokenizer with a mask token is needed: pass "
            "tokens=Tokens(tokenizer=...), or inputs with "
            "labels of their own."
        )
    return {"mask_token": mask, "special": list(getattr(known, "all_special_ids", [mask]))}
