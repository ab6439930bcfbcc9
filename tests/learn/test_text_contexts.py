"""Masked words of sentences, and encoders that see nothing but the sentence around the mask."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from samespace.errors import OptionError, ShapeError
from samespace.learn.stacked_transformer import Shape
from samespace.learn.streams import WorldStream
from samespace.learn.text_contexts import MASK, PADDING, MaskedWords, Sentences, TextModels
from samespace.learn.training import Recipe, train
from tests.tolerances import atol, rtol

TEXT = [[2, 3, 4], [5, 6], [3, 5, 2, 7]]
MASKABLE = np.array([False, False, True, True, False, True, True, True])
SHAPE = Shape(
    tokens=8, length=5, width=8, outputs=4, layers=2, heads=2, feed_forward=16, read="given"
)


def sentences(text=TEXT, longest=5):
    flat = np.array([word for row in text for word in row])
    return Sentences(flat, np.array([len(row) for row in text]), MASKABLE, longest=longest)


def drawn(n=4000, seed=0):
    return sentences().draw(n, torch.Generator().manual_seed(seed))


def test_a_drawn_sentence_is_whole_but_for_its_mask():
    batch = drawn()
    for tokens, position, symbol in zip(
        batch.tokens.tolist(), batch.position.tolist(), batch.symbol.tolist(), strict=True
    ):
        assert tokens[position] == MASK
        tokens[position] = symbol
        assert [token for token in tokens if token != PADDING] in TEXT
        assert MASKABLE[symbol]


def test_sentences_are_equally_likely_and_so_are_their_words():
    batch = drawn()
    rows = [tuple(row) for row in batch.tokens.tolist()]
    share = {row: rows.count(row) / len(rows) for row in set(rows)}
    # Two, two and four maskable words: the 4 is never masked.
    assert len(share) == 8
    expected = {2: 1 / 6, 3: 1 / 6, 4: 1 / 12}
    by_size = [(sum(token != PADDING for token in row), part) for row, part in share.items()]
    assert {size for size, _ in by_size} == {2, 3, 4}
    for size, part in by_size:
        spread = np.sqrt(expected[size] * (1 - expected[size]) / len(rows))
        assert abs(part - expected[size]) < 4 * spread


def test_equal_generators_draw_equally_and_others_do_not():
    assert torch.equal(drawn(seed=1).tokens, drawn(seed=1).tokens)
    assert not torch.equal(drawn(seed=1).tokens, drawn(seed=2).tokens)


def test_sentences_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="at most 3"):
        sentences(longest=3)
    with pytest.raises(OptionError, match="1 sentences have no word"):
        sentences([[2, 3], [4]])


def stacked(batch, members):
    return MaskedWords(*(part.expand(members, *part.shape) for part in vars(batch).values()))


def test_padding_is_not_seen():
    batch = drawn(50)
    models = TextModels(SHAPE, seeds=[0, 1])
    padded = models.contexts(stacked(batch, 2))
    for row in range(0, 50, 7):
        length = int((batch.tokens[row] != PADDING).sum())
        alone = MaskedWords(
            batch.tokens[row : row + 1, :length],
            batch.position[row : row + 1],
            batch.symbol[row : row + 1],
        )
        short = TextModels(Shape(**{**vars(SHAPE), "length": length}), seeds=[0, 1])
        # The same members with fewer positions: all other weights are equal.
        weights, theirs = short._parts.views(), models._parts.views()
        with torch.no_grad():
            for name, part in weights.items():
                part.copy_(theirs[name][:, :length] if name == "position" else theirs[name])
        torch.testing.assert_close(
            short.contexts(stacked(alone, 2))[:, 0],
            padded[:, row],
            rtol=rtol("exact", "float32"),
            atol=10 * atol("exact", "float32"),
        )


def test_the_masked_word_itself_is_not_seen():
    batch = drawn(20)
    models = TextModels(SHAPE, seeds=[0])
    other = MaskedWords(batch.tokens, batch.position, torch.full_like(batch.symbol, 7))
    assert torch.equal(models.contexts(stacked(batch, 1)), models.contexts(stacked(other, 1)))


def test_a_member_trains_as_if_it_were_alone():
    def trained(seeds):
        models = TextModels(SHAPE, seeds=seeds)
        text = sentences()
        stream = WorldStream([lambda generator: text.draw(16, generator)] * len(seeds), seeds)
        train(
            models, stream, lambda model, batch: model(batch), Recipe(steps=5, learning_rate=0.01)
        )
        return models.symbols()

    torch.testing.assert_close(trained([3, 4])[1], trained([4])[0], rtol=1e-5, atol=1e-6)
    assert not torch.allclose(trained([3])[0], trained([4])[0])


def test_half_precision_computes_the_same_contexts_roughly():
    batch = stacked(drawn(64), 2)
    full = TextModels(SHAPE, seeds=[0, 1]).contexts(batch)
    half = TextModels(SHAPE, seeds=[0, 1], precision=torch.bfloat16).contexts(batch)
    assert half.dtype == torch.float32
    assert (half - full).abs().max() < 0.1 * full.abs().max()
    assert not torch.equal(half, full)
