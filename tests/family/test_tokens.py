"""Texts and token numbers as padded batches."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import DtypeError, OptionError, ShapeError
from samespace.family.tokens import Tokens, corrupt, next_tokens, padded


def letters(texts, **limit):
    rows = [[ord(c) - 96 for c in text] for text in texts]
    return {"input_ids": [row[: limit.get("max_length", 99)] for row in rows]}


def test_texts_are_padded_on_the_right_and_masked():
    (batch,) = Tokens(tokenizer=letters, pad=0).batches(["abc", "d"])
    assert batch["input_ids"].tolist() == [[1, 2, 3], [4, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_long_texts_are_cut_when_asked():
    (batch,) = Tokens(tokenizer=letters, max_length=2).batches(["abc"])
    assert batch["input_ids"].tolist() == [[1, 2]]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_batches_together_are_the_inputs(size):
    ids = np.arange(15).reshape(5, 3)
    batches = list(Tokens(size=size).batches({"input_ids": ids, "labels": ids + 1}))
    assert max(len(b["input_ids"]) for b in batches) <= size
    assert np.array_equal(np.concatenate([b["input_ids"] for b in batches]), ids)
    assert np.array_equal(np.concatenate([b["labels"] for b in batches]), ids + 1)
    assert all(b["attention_mask"].all() for b in batches)


def test_next_tokens_are_known_only_inside_a_text():
    batch = padded([[5, 6, 7], [8, 9]], pad=0)
    assert next_tokens(batch).tolist() == [[6, 7, -100], [9, -100, -100]]


def test_an_empty_text_has_no_next_token():
    assert (next_tokens(padded([[], [3]], pad=0)) == -100).all()


def test_corruption_spares_special_and_padding_tokens_and_asks_at_least_one():
    batch = padded([[1, 7, 8, 9, 2], [1, 6, 2]], pad=0)
    masked = corrupt(batch, mask_token=3, special=[0, 1, 2, 3], share=0.5, first_row=0, seed=0)
    asked = masked["labels"] >= 0
    assert asked.sum(axis=1).tolist() == [2, 1]
    assert (masked["input_ids"][asked] == 3).all()
    assert np.array_equal(masked["labels"][asked], batch["input_ids"][asked])
    assert np.isin(batch["input_ids"][asked], [6, 7, 8, 9]).all()
    assert batch["input_ids"][0].tolist() == [1, 7, 8, 9, 2]  # the inputs are left alone


def test_a_row_of_special_tokens_asks_nothing():
    masked = corrupt(
        padded([[1, 2]], pad=0), mask_token=3, special=[1, 2], share=0.5, first_row=0, seed=0
    )
    assert (masked["labels"] == -100).all()


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(OptionError, match="batch_size must be at least 1"):
        Tokens(size=0)
    with pytest.raises(DtypeError, match="got one string"):
        list(Tokens().batches("a text"))
    with pytest.raises(OptionError, match="Texts need a tokenizer"):
        list(Tokens().batches(["a text"]))
    with pytest.raises(ShapeError, match="same number of rows"):
        list(Tokens().batches({"input_ids": np.ones((2, 3)), "labels": np.ones(3)}))
