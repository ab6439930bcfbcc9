"""XLNet, a language model over permutations, is in the family: the permutation is part of x (Yang
et al. 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from samespace.errors import OptionError
from samespace.family.canonical import CanonicalModel
from samespace.family.head import check_membership, embed, find_head, probe
from samespace.family.tokens import Batch, Tokens


def xlnet(
    model: Any, *, tokens: Tokens | None = None, head: str | None = None, name: str | None = None
) -> CanonicalModel:
    """Read a `transformers` XLNet as a model of the family.

    p(X_{z_t} = x | x_{z_<t}) ~ exp e(x)'g_theta(x_{z_<t}, z_t): the *query stream's* state at the
    position that is asked for is f (the paper calls it g), and the output layer's row of token x,
    with its bias, is g. An input is a text, which of its tokens each position may see, and which
    positions are asked for.

    Parameters
    ----------
    tokens
        How inputs become batches: mappings with ``input_ids``, ``perm_mask`` and ``target_mapping``
        as XLNet takes them, and ``labels`` (n, asked), -100 where nothing is asked.

    Notes
    -----
    Two XLNets must be compared on the same permutations: x includes them.
    """
    last = find_head(model, name=head)
    check_membership(model, last, probe(model))
    tokens, g = tokens or Tokens(), last.unembeddings()

    def wanted(batch: Batch) -> Any:
        if not {"perm_mask", "target_mapping", "labels"} <= batch.keys():
            raise OptionError(
                "XLNet's inputs need perm_mask, target_mapping and labels beside input_ids; got "
                f"{sorted(batch)}."
            )
        return batch["labels"]

    return CanonicalModel(
        f=lambda inputs: embed(model, last, tokens.batches(inputs), lambda b: wanted(b) >= 0),
        g=lambda labels: g[labels],
        dim=last.dim,
        labels=slice(None),
        bias=last.bias,
        targets=lambda inputs: np.concatenate(
            [w[w >= 0] for w in map(wanted, tokens.batches(inputs))]
        ),
        name=name or type(model).__name__,
    )
