"""Texts, or rows of token numbers, as padded batches that a transformer takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import DtypeError, OptionError, ShapeError

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array

Batch = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """How a model's inputs become batches.

    Parameters
    ----------
    tokenizer
        A Hugging Face tokenizer, needed only for texts.
    size
        Rows in a batch.
    pad
        The token that fills short rows, on the right; masked by the attention mask.
    max_length
        Tokens of a text beyond this are cut off; None for the model's own limit.
    """

    tokenizer: Callable[..., Mapping[str, Any]] | None = None
    size: int = 16
    pad: int = 0
    max_length: int | None = None

    def __post_init__(self) -> None:
        """Check the size."""
        if self.size < 1:
            raise OptionError(f"batch_size must be at least 1; got {self.size}.")

    def batches(self, inputs: Any) -> Iterator[Batch]:
        """Cut the inputs into batches: dictionaries of arrays with one row per text.

        Inputs are texts (a list of strings), token numbers (an array of rows), or a mapping of
        equally long arrays as a Hugging Face tokenizer returns.
        """
        if isinstance(inputs, str):
            raise DtypeError("Pass texts as a list of strings; got one string.")
        if isinstance(inputs, Mapping):
            yield from self._sliced(inputs)
        elif _is_text(inputs):
            for start in range(0, len(inputs), self.size):
                yield self._encoded(list(inputs[start : start + self.size]))
        else:
            yield from self._sliced({"input_ids": inputs})

    def _encoded(self, texts: list[str]) -> Batch:
        if self.tokenizer is None:
            raise OptionError(
                "Texts need a tokenizer: pass tokenizer=, or rows of token numbers instead of "
                "texts."
            )
        limit = (
            {} if self.max_length is None else {"truncation": True, "max_length": self.max_length}
        )
        return padded(self.tokenizer(texts, **limit)["input_ids"], pad=self.pad)

    def _sliced(self, columns: Mapping[str, Any]) -> Iterator[Batch]:
        arrays = {name: _numpy(values) for name, values in columns.items()}
        counts = {name: len(values) for name, values in arrays.items()}
        if len(set(counts.values())) != 1:
            raise ShapeError(f"All inputs need the same number of rows; got {counts}.")
        for start in range(0, next(iter(counts.values())), self.size):
            batch = {name: values[start : start + self.size] for name, values in arrays.items()}
            if "input_ids" in batch and "attention_mask" not in batch:
                batch["attention_mask"] = np.ones_like(batch["input_ids"])
            yield batch


def padded(rows: Sequence[Sequence[int]], *, pad: int) -> Batch:
    """Fill rows of token numbers on the right to one length, and mark what is real."""
    width = max(1, *(len(row) for row in rows)) if len(rows) > 1 else max(1, len(rows[0]))
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)], mask[i, : len(row)] = row, 1
    return {"input_ids": ids, "attention_mask": mask}


def next_tokens(batch: Batch) -> Int[Array, "rows length"]:
    """Return what a causal model predicts at each position: the next token, or -100 for none."""
    ids, mask = batch["input_ids"], batch["attention_mask"]
    known: Any = batch.get("labels", ids)
    wanted = np.where(mask > 0, known, -100)
    targets = np.full_like(ids, -100)
    targets[:, :-1] = np.where(mask[:, :-1] > 0, wanted[:, 1:], -100)
    return targets


def corrupt(
    batch: Batch,
    *,
    mask_token: int,
    special: Sequence[int],
    share: float,
    first_row: int,
    seed: int,
) -> Batch:
    """Mask a share of each row's tokens, at least one, and label them: Roeder 2021, Appendix D.3.

    The choice depends on the seed and on the row's number in the inputs, so that whatever reads the
    same inputs again, in batches of any size, masks the same tokens.
    """
    ids, labels = batch["input_ids"].copy(), np.full_like(batch["input_ids"], -100)
    for i, row in enumerate(ids):
        usable = np.flatnonzero((batch["attention_mask"][i] > 0) & ~np.isin(row, special))
        count = min(len(usable), max(1, round(share * len(usable))))
        chosen = np.random.default_rng([seed, first_row + i]).choice(
            usable, size=count, replace=False
        )
        labels[i, chosen] = row[chosen]
        row[chosen] = mask_token
    return {**batch, "input_ids": ids, "labels": labels}


def _is_text(inputs: Any) -> bool:
    return len(inputs) > 0 and isinstance(inputs[0], str)


def _numpy(values: Any) -> Any:
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)
