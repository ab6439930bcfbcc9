"""Finding a model's output layer, and running the model without it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from samespace.errors import FamilyError, OptionError  # noqa: E402
from samespace.family import causal_lm  # noqa: E402
from samespace.family.head import find_head, headless, to_numpy  # noqa: E402
from tests.family.reductions.models import build, gpt2, settings  # noqa: E402


def test_the_model_is_left_as_it_was():
    original = build("GPT2LMHeadModel", gpt2()).train()
    head, before = original.lm_head, {k: v.clone() for k, v in original.state_dict().items()}
    causal_lm(original).embed(torch.arange(8)[None])
    assert original.lm_head is head
    assert original.training
    assert all(torch.equal(v, before[k]) for k, v in original.state_dict().items())


def test_the_head_comes_back_after_an_error():
    original = build("GPT2LMHeadModel", gpt2())
    layer = original.lm_head
    with pytest.raises(RuntimeError, match="on purpose"), headless(original, find_head(original)):
        raise RuntimeError("on purpose")
    assert original.lm_head is layer


def test_a_head_may_be_named():
    original = build("BertForMaskedLM", settings(max_position_embeddings=40))
    named = find_head(original, name="cls.predictions.decoder")
    assert named.layer is find_head(original).layer
    with pytest.raises(OptionError, match="has no module 'nowhere'"):
        find_head(original, name="nowhere")


def test_a_model_without_an_output_layer_is_refused():
    with pytest.raises(FamilyError, match="no output layer"):
        find_head(build("BertModel", settings(max_position_embeddings=40, num_labels=7)))


def test_half_precision_is_widened_and_checked_to_its_own_rounding():
    original = build("LlamaForCausalLM", settings()).to(torch.bfloat16)
    model = causal_lm(original)
    assert model.unembed().dtype == "float32"
    assert to_numpy(torch.ones(2, dtype=torch.float64)).dtype == "float64"
