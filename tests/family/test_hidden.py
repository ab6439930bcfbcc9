"""Hidden states, layer by layer, pooled or token by token."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from samespace.errors import MissingSourceError, OptionError, TooFewRowsError  # noqa: E402
from samespace.family import from_pretrained  # noqa: E402
from samespace.family.hidden import Reader  # noqa: E402
from tests.family.checkpoints import gpt2_checkpoint  # noqa: E402
from tests.family.reductions.models import build, gpt2  # noqa: E402
from tests.tolerances import rtol  # noqa: E402

TEXTS = ["the cat sat", "a", "on the mat the cat"]
CLOSE = {"rel": rtol("exact", "float32"), "abs": 1e-5}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return gpt2_checkpoint(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def reader(checkpoint):
    return Reader.load(checkpoint, batch_size=2)


def each_alone(reader, layer):
    """Every text on its own, so without padding."""
    for text in TEXTS:
        ids = torch.tensor([reader.tokens.tokenizer([text])["input_ids"][0]])
        out = reader.model(input_ids=ids, output_hidden_states=True)
        yield out.hidden_states[layer][0].detach().numpy()


@pytest.mark.parametrize(
    ("pooling", "pool"),
    [("mean", lambda s: s.mean(axis=0)), ("last", lambda s: s[-1]), ("first", lambda s: s[0])],
)
def test_pooled_rows_are_those_of_each_text_alone(reader, pooling, pool):
    found = reader.states(TEXTS, layers=[-1, 0], pooling=pooling)
    for layer in (-1, 0):
        expected = np.stack([pool(states) for states in each_alone(reader, layer)])
        assert found.layers[layer] == pytest.approx(expected, **CLOSE)
    assert found.text.tolist() == [0, 1, 2]


def test_tokens_come_in_order_and_say_where_they_are_from(reader):
    found = reader.states(TEXTS, layers=[-2], pooling="tokens")
    assert found.layers[-2] == pytest.approx(np.concatenate(list(each_alone(reader, -2))), **CLOSE)
    assert found.text.tolist() == [0, 0, 0, 1, 2, 2, 2, 2, 2]
    assert found.token.tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 4]


def test_the_last_layer_of_a_causal_model_is_f(reader, checkpoint):
    states = reader.states(TEXTS, pooling="tokens")
    last = np.array([2, 3, 8])  # the canonical model has no row for the last token of a text
    assert np.delete(states.layers[-1], last, axis=0) == pytest.approx(
        from_pretrained(checkpoint).embed(TEXTS), **CLOSE
    )


def test_chunks_together_are_the_whole(reader):
    whole = reader.states(TEXTS)
    parts = [reader.states(TEXTS[:1]), reader.states(TEXTS[1:])]
    assert np.concatenate([p.layers[-1] for p in parts]) == pytest.approx(whole.layers[-1], **CLOSE)


def test_what_is_not_there_is_named(reader, tmp_path):
    with pytest.raises(OptionError, match="hidden states 0"):
        reader.states(TEXTS, layers=[-9])
    with pytest.raises(OptionError, match="pooling is one of mean"):
        reader.states(TEXTS, pooling="max")
    with pytest.raises(TooFewRowsError, match="No texts were given"):
        reader.states([])
    with pytest.raises(MissingSourceError, match="no checkpoint at"):
        Reader.load(tmp_path / "nowhere")
    build("GPT2LMHeadModel", gpt2()).save_pretrained(tmp_path)
    with pytest.raises(MissingSourceError, match="has no tokenizer"):
        Reader.load(tmp_path)
