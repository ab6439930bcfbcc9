"""Symbols and contexts of running text: one word of a sentence is masked, the rest is its context.

A population of symbol tables (a vector per word) is trained against transformers that read the sentence
around the mask, with the in-batch InfoNCE of semantic learners (Eq. 2 without labels; Appendix A.11).
Sentences have unequal lengths: no token attends to padding, and the context is read at the mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from samespace.errors import OptionError, ShapeError
from samespace.learn.semantic import ContrastiveModels, infonce_in_batch
from samespace.learn.stacked_transformer import Shape, embedded, encode

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from numpy import ndarray as Array
    from torch import Tensor

PADDING, MASK = 0, 1
"""The first two numbers of every vocabulary."""


@dataclass(frozen=True)
class MaskedWords:
    """A batch: sentences with one masked position each, and the word that stood there."""

    tokens: Int[Tensor, "*k batch length"]
    position: Int[Tensor, "*k batch"]
    symbol: Int[Tensor, "*k batch"]


class Sentences:
    """Sentences to mask words of, kept flat on one device.

    Parameters
    ----------
    tokens
        All sentences one after the other, as numbers from 2 on.
    lengths
        Of each sentence.
    maskable
        For each number of the vocabulary whether it may be masked; every sentence has such a word.
    longest
        To which length batches are padded.
    device
        Where they are kept and drawn.

    Examples
    --------
    >>> two = Sentences(
    ...     np.array([2, 3, 4, 3]), np.array([3, 1]), np.array([False, False, True, True, False]), longest=3
    ... )
    >>> batch = two.draw(100, torch.Generator().manual_seed(0))
    >>> sorted({tuple(row) for row in batch.tokens.tolist()})
    [(1, 0, 0), (1, 3, 4), (2, 1, 4)]
    """

    def __init__(
        self,
        tokens: Int[Array, " words"],
        lengths: Int[Array, " sentences"],
        maskable: Bool[Array, " vocabulary"],
        *,
        longest: int,
        device: str = "cpu",
    ) -> None:
        lengths = np.asarray(lengths, dtype=np.int64)
        if lengths.sum() != len(tokens) or not len(lengths) or not 0 < lengths.max() <= longest:
            raise ShapeError(
                f"The lengths of the sentences add up to the words and are at most {longest}; got "
                f"{len(lengths)} sentences of {int(lengths.sum())} words with {len(tokens)} tokens."
            )
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        slots = np.flatnonzero(maskable[tokens])
        sentence = np.repeat(np.arange(len(lengths)), lengths)[slots]
        maskables = np.bincount(sentence, minlength=len(lengths))
        if not maskables.all():
            raise OptionError(
                f"{int((maskables == 0).sum())} sentences have no word that may be masked; leave them out."
            )
        self._longest = longest
        self._tokens = torch.from_numpy(np.asarray(tokens, dtype=np.int32)).to(device)
        # Words that may be masked, one after the other: where each stands, and where a sentence's begin.
        self._slots = torch.from_numpy(slots.astype(np.int32)).to(device)
        first = np.concatenate([[0], np.cumsum(maskables)[:-1]])
        table = np.stack([starts, lengths, first, maskables])
        self._table = torch.from_numpy(table).to(device)

    def __len__(self) -> int:
        return self._table.shape[1]

    def draw(self, n: int, generator: torch.Generator) -> MaskedWords:
        """Draw sentences with replacement, and mask one word of each at random."""
        device = self._tokens.device
        row = torch.randint(len(self), (n,), generator=generator, device=device)
        start, length, first, maskables = self._table[:, row]
        share = torch.rand(n, generator=generator, device=device, dtype=torch.float64)
        place = self._slots[first + (share * maskables).long()].long()
        offsets = torch.arange(self._longest, device=device)
        index = (start[:, None] + offsets).clamp_(max=len(self._tokens) - 1)
        tokens = self._tokens[index].long().masked_fill_(offsets >= length[:, None], PADDING)
        position = place - start
        tokens.scatter_(1, position[:, None], MASK)
        return MaskedWords(tokens, position, self._tokens[place].long())


class TextModels(nn.Module):
    """A population of symbol tables with their encoders of sentences.

    Parameters
    ----------
    shape
        Of the encoders, with ``read="given"``; its `outputs` is the width of the symbol table, which has a
        row for every token.
    seeds
        One per member; a member's numbers do not depend on its neighbours.
    symbol_sd
        Standard deviation of the symbols at the start.
    precision
        In which the encoders compute; parameters, symbols and the loss stay in float32.
    device
        Where they are kept.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        seeds: Sequence[int],
        symbol_sd: float = 1.0,
        precision: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        models = ContrastiveModels.initial(
            shape, symbols=shape.tokens, seeds=seeds, symbol_sd=symbol_sd, device=device
        )
        self.shape, self.precision, self._parts = shape, precision, models.parameters
        # The one leaf that all weights are views of becomes the module's one parameter.
        self.flat = nn.Parameter(self._parts.flat.detach())
        self._parts.flat = self.flat

    def symbols(self) -> Float[Tensor, "k symbols d"]:
        """Return the symbol tables, without gradient."""
        return self._parts.views()["symbol"].detach()

    def contexts(self, batch: MaskedWords) -> Float[Tensor, "k batch d"]:
        """Encode the sentences around their masks."""
        weights = {name: part.to(self.precision) for name, part in self._parts.views().items()}
        encoded = encode(
            self.shape,
            weights,
            embedded(weights["token"], batch.tokens),
            present=batch.tokens != PADDING,
            position=batch.position,
        )
        return encoded.float()

    def forward(self, batch: MaskedWords) -> Float[Tensor, " k"]:
        """Return each member's in-batch loss."""
        symbols = embedded(self._parts.views()["symbol"], batch.symbol)
        return infonce_in_batch(symbols, self.contexts(batch))
