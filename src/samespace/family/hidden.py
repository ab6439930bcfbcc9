"""Hidden states of a transformer, layer by layer: what is compared where no likelihood is at
hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.errors import MissingSourceError, OptionError, TooFewRowsError
from samespace.family.head import to_numpy
from samespace.family.pretrained import load_model, load_tokenizer, need, pad_of
from samespace.family.tokens import Tokens

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

Pooling = Literal["mean", "last", "first", "tokens"]
POOLINGS: tuple[Pooling, ...] = ("mean", "last", "first", "tokens")


@dataclass(frozen=True, eq=False)
class States:
    """Rows of hidden states: `text` and `token` say which of the texts, and which of its tokens, a
    row is of.

    `token` is -1 for rows that stand for a whole text.
    """

    text: Int[Array, " rows"]
    token: Int[Array, " rows"]
    layers: Mapping[int, Float[Array, "rows d"]]


@dataclass(frozen=True, eq=False)
class Reader:
    """A transformer without its head, from which hidden states are read.

    Notes
    -----
    Layer -1 is what the checkpoint's base model returns: for GPT-2 and Llama the state *after* the
    final norm, which is f(x) of the canonical family; for BERT the state before the head's
    transform, which is not (`samespace.family.from_pretrained` gives f(x) for all of them). Only f
    is identifiable by the theorem: layers below it may differ between equal models.
    """

    model: Any
    tokens: Tokens

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str = "cpu",
        dtype: str = "float32",
        batch_size: int = 16,
        max_length: int | None = None,
    ) -> Reader:
        """Load a checkpoint that `save_pretrained` wrote, with its tokenizer."""
        need("transformers")
        if Path(path).is_absolute() and not Path(path).exists():
            raise MissingSourceError(f"There is no checkpoint at {path}.")
        model = load_model("AutoModel", path, dtype).to(device)
        tokenizer = load_tokenizer(path)
        if tokenizer is None:
            raise MissingSourceError(
                f"{path} has no tokenizer, so texts cannot be read; save it beside the model "
                "(tokenizer.save_pretrained)."
            )
        tokens = Tokens(
            tokenizer=tokenizer, size=batch_size, pad=pad_of(model), max_length=max_length
        )
        return cls(model, tokens)

    @property
    def depth(self) -> int:
        """Number of hidden states: the embeddings and one for each layer."""
        return int(self.model.config.get_text_config().num_hidden_layers) + 1

    def check(self, layers: Sequence[int], pooling: str) -> None:
        """Raise `OptionError` for layers that the model does not have and poolings that there are
        not.
        """
        absent = [layer for layer in layers if not -self.depth <= layer < self.depth]
        if absent or not layers:
            raise OptionError(
                f"layers {absent or list(layers)}: the model has hidden states 0 (the embeddings) "
                "to "
                f"{self.depth - 1}, or -{self.depth} to -1 from the end."
            )
        if pooling not in POOLINGS:
            raise OptionError(f"pooling is one of {', '.join(POOLINGS)}; got {pooling!r}.")

    def states(
        self, texts: Sequence[str], *, layers: Sequence[int] = (-1,), pooling: Pooling = "mean"
    ) -> States:
        """Return the hidden states of some texts; pass a chunk of texts at a time to stream.

        Parameters
        ----------
        layers
            Indices into the hidden states, negative from the end.
        pooling
            One row per text, the "mean" over its tokens, its "last" or its "first"; or "tokens",
            one row per token.
        """
        self.check(layers, pooling)
        if not len(texts):
            raise TooFewRowsError("No texts were given; pass at least one.")
        first, index, parts = 0, [], {layer: [] for layer in layers}  # type: ignore[var-annotated]
        for batch in self.tokens.batches(list(texts)):
            hidden = self._run(batch)
            mask = batch["attention_mask"]
            rows, columns = _chosen(mask, pooling)
            index.append(np.column_stack([rows + first, columns]))
            for layer in layers:
                parts[layer].append(_pooled(to_numpy(hidden[layer]), mask, rows, columns))
            first += len(mask)
        text, token = np.concatenate(index).T
        return States(text, token, {layer: np.concatenate(found) for layer, found in parts.items()})

    def _run(self, batch: Mapping[str, Any]) -> Any:
        import torch

        device = next(self.model.parameters()).device
        with torch.no_grad():
            tensors = {
                name: torch.as_tensor(values, device=device) for name, values in batch.items()
            }
            return self.model(**tensors, output_hidden_states=True).hidden_states


def _chosen(mask: Int[Array, "b t"], pooling: Pooling) -> tuple[Array, Array]:
    """Return which text, and which of its tokens, each row is of; -1 stands for all of them."""
    texts = np.arange(len(mask))
    if pooling == "tokens":
        rows, columns = np.nonzero(mask)
        return rows, columns
    if pooling == "mean":
        return texts, np.full(len(mask), -1)
    return texts, np.maximum(mask.sum(axis=1) - 1, 0) if pooling == "last" else np.zeros_like(texts)


def _pooled(
    states: Float[Array, "b t d"], mask: Int[Array, "b t"], rows: Array, columns: Array
) -> Float[Array, "rows d"]:
    if len(columns) and columns[0] < 0:
        weights = mask / np.maximum(mask.sum(axis=1, keepdims=True), 1)
        return np.einsum("btd,bt->bd", states, weights.astype(states.dtype))
    return states[rows, columns]
