"""Reductions of Hugging Face models: the adapter's log-probabilities are the model's own loss, to
rounding.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from samespace.errors import FamilyError, OptionError  # noqa: E402
from samespace.family import (  # noqa: E402
    PerSample,
    causal_lm,
    clip,
    masked_lm,
    sentences,
    sequence_classifier,
    xlnet,
)
from samespace.family.tokens import Tokens  # noqa: E402
from tests.family.reductions.models import (  # noqa: E402
    CLIP,
    VOCABULARY,
    build,
    distilbert,
    gpt2,
    settings,
)
from tests.family.reductions.models import xlnet as xlnet_settings  # noqa: E402
from tests.tolerances import rtol  # noqa: E402

FLOAT32 = rtol("exact", "float32")

CAUSAL = {
    "GPT2LMHeadModel": (gpt2(), 16),  # tied
    "LlamaForCausalLM": (settings(), 16),  # RMS norm before the head, untied
    "GPTNeoXForCausalLM": (settings(tie_word_embeddings=False), 16),
    "PhiForCausalLM": (settings(), 17),  # a bias on the output layer
    "CohereForCausalLM": (
        settings(num_key_value_heads=2, logit_scale=0.25),
        16,
    ),  # logits times a constant
    "GraniteForCausalLM": (
        settings(num_key_value_heads=2, logits_scaling=8.0),
        16,
    ),  # logits over a constant
}


def tokens_of(rows: int, length: int) -> torch.Tensor:
    return torch.randint(5, VOCABULARY, (rows, length))


@pytest.mark.parametrize("kind", CAUSAL)
def test_causal_lm(kind):
    config, width = CAUSAL[kind]
    original, ids = build(kind, config), tokens_of(3, 9)
    model = causal_lm(original, tokens=Tokens(size=2))
    loss = original(input_ids=ids, labels=ids).loss.item()
    assert -model.log_likelihood(ids).mean() == pytest.approx(loss, rel=FLOAT32)
    assert model.dim == width
    assert model.embed(ids).shape == (3 * 8, width)
    assert model.unembed().shape == (VOCABULARY, width)


def test_causal_lm_with_padding_is_each_text_alone():
    original, ids = build("GPT2LMHeadModel", gpt2()), tokens_of(2, 9)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    model = causal_lm(original)
    together = model.log_likelihood({"input_ids": ids, "attention_mask": mask})
    alone = [model.log_likelihood(ids[:1]), model.log_likelihood(ids[1:, :5])]
    assert together == pytest.approx(np.concatenate(alone), rel=FLOAT32)


def test_causal_lm_representation_is_the_state_after_the_final_norm():
    original, ids = build("LlamaForCausalLM", settings()), tokens_of(2, 6)
    last = original(input_ids=ids, output_hidden_states=True).hidden_states[-1]
    expected = last[:, :-1].reshape(-1, 16).detach().numpy()
    assert causal_lm(original).embed(ids) == pytest.approx(expected, rel=FLOAT32, abs=1e-5)


def test_labels_choose_the_prefixes():
    original, ids = build("GPT2LMHeadModel", gpt2()), tokens_of(2, 6)
    labels = ids.clone()
    labels[:, :4] = -100
    model, inputs = causal_lm(original), {"input_ids": ids, "labels": labels}
    loss = original(input_ids=ids, labels=labels).loss.item()
    assert -model.log_likelihood(inputs).mean() == pytest.approx(loss, rel=FLOAT32)
    assert model.embed(inputs).shape == (2 * 2, 16)


@pytest.mark.parametrize(
    ("kind", "config", "width"),
    [
        (
            "BertForMaskedLM",
            settings(max_position_embeddings=40),
            17,
        ),  # transform, then decoder with bias
        ("RobertaForMaskedLM", settings(max_position_embeddings=40), 17),
        ("DistilBertForMaskedLM", distilbert(), 17),
        (
            "AlbertForMaskedLM",
            settings(embedding_size=8),
            9,
        ),  # the transform is narrower than the transformer
    ],
)
def test_masked_lm(kind, config, width):
    original, ids = build(kind, config), tokens_of(3, 9)
    asked = torch.zeros_like(ids, dtype=torch.bool)
    asked[:, [1, 4]] = True
    labels, corrupted = ids.where(asked, -100), ids.masked_fill(asked, 3)
    mask = torch.ones_like(ids)
    loss = original(input_ids=corrupted, attention_mask=mask, labels=labels).loss.item()
    model = masked_lm(original)
    said = model.log_likelihood({"input_ids": corrupted, "labels": labels})
    assert -said.mean() == pytest.approx(loss, rel=FLOAT32)
    assert len(said) == 6
    assert model.dim == width


def test_masked_lm_masks_the_same_tokens_every_time_and_by_seed():
    original = build("BertForMaskedLM", settings(max_position_embeddings=40))
    original.config.mask_token_id = 3
    ids = tokens_of(5, 9)
    small, large = (masked_lm(original, tokens=Tokens(size=s), seed=1) for s in (2, 5))
    assert np.array_equal(small.targets(ids), large.targets(ids))
    assert small.embed(ids) == pytest.approx(large.embed(ids), rel=FLOAT32, abs=1e-5)
    assert small.embed(ids).shape[0] == len(small.targets(ids)) == 5
    assert not np.array_equal(small.targets(ids), masked_lm(original, seed=2).targets(ids))


SEQUENCE = {
    "BertForSequenceClassification": settings(max_position_embeddings=40, num_labels=20),  # pooler
    "RobertaForSequenceClassification": settings(max_position_embeddings=40, num_labels=20),
    "DistilBertForSequenceClassification": distilbert(num_labels=20),  # pre_classifier
    "GPT2ForSequenceClassification": gpt2(pad_token_id=0, num_labels=20),  # the last real token
    "LlamaForSequenceClassification": settings(
        pad_token_id=None, num_labels=20
    ),  # knows no padding
    "XLNetForSequenceClassification": xlnet_settings(num_labels=20),
}


@pytest.mark.parametrize("kind", SEQUENCE)
def test_sequence_classifier(kind):
    original, ids = build(kind, SEQUENCE[kind]), tokens_of(4, 9)
    labels, mask = torch.randint(20, (4,)), torch.ones(1, 9, dtype=torch.long)
    losses = [
        original(input_ids=ids[[i]], attention_mask=mask, labels=labels[[i]]).loss.item()
        for i in range(4)
    ]
    model = sequence_classifier(original)
    said = model.log_likelihood({"input_ids": ids, "labels": labels})
    assert -said == pytest.approx(np.array(losses), rel=FLOAT32)


def test_sequence_classifier_of_a_decoder_reads_the_last_real_token():
    original = build("GPT2ForSequenceClassification", gpt2(pad_token_id=0, num_labels=20))
    ids = tokens_of(2, 9)
    ids[1, 5:] = 0
    model = sequence_classifier(original)
    assert model.embed(ids)[1] == pytest.approx(model.embed(ids[1:, :5])[0], rel=FLOAT32, abs=1e-5)


def test_xlnet():
    original, ids = build("XLNetLMHeadModel", xlnet_settings()), tokens_of(3, 9)
    permutation, asked = torch.zeros(3, 9, 9), torch.zeros(3, 2, 9)
    permutation[:, :, -2:] = 1.0
    asked[:, 0, -2] = asked[:, 1, -1] = 1.0
    inputs = {
        "input_ids": ids,
        "perm_mask": permutation,
        "target_mapping": asked,
        "labels": ids[:, -2:].clone(),
    }
    loss = original(**inputs).loss.item()
    model = xlnet(original)
    assert -model.log_likelihood(inputs).mean() == pytest.approx(loss, rel=FLOAT32)
    with pytest.raises(OptionError, match="need perm_mask, target_mapping and labels"):
        model.embed(ids)


def test_clip_in_both_directions():
    original = build("CLIPModel", CLIP)
    pixels, ids = torch.randn(4, 3, 16, 16), tokens_of(4, 7)
    out = original(
        input_ids=ids, pixel_values=pixels, attention_mask=torch.ones_like(ids), return_loss=True
    )
    model = clip(original, tokens=Tokens(size=3))
    f, g = model.embed(pixels), model.unembed(ids)
    assert f @ g.T == pytest.approx(out.logits_per_image.detach().numpy(), rel=FLOAT32, abs=1e-4)
    columns = torch.nn.functional.cross_entropy(torch.as_tensor(g @ f.T), torch.arange(4)).item()
    rows = -model.log_likelihood(pixels, np.arange(4), ids).mean()
    assert (rows + columns) / 2 == pytest.approx(out.loss.item(), rel=FLOAT32)


class WordLengths:
    """An encoder with the two methods of a sentence-transformers model that are used."""

    def encode(self, texts, *, batch_size, show_progress_bar):
        return np.array([[len(text), text.count("a"), 1.0] for text in texts])[:, :]

    def get_sentence_embedding_dimension(self):
        return 3


def test_sentences_is_the_multiple_negatives_ranking_loss():
    queries, texts = ["a cat", "dogs", "banana"], ["a a a", "wolf", "fruit salad"]
    model = sentences(WordLengths(), scale=20.0)
    encode = WordLengths().encode
    q, t = (
        torch.as_tensor(encode(s, batch_size=1, show_progress_bar=False)) for s in (queries, texts)
    )
    cosine = torch.nn.functional.cosine_similarity(q[:, None], t[None], dim=-1)
    loss = torch.nn.functional.cross_entropy(20.0 * cosine, torch.arange(3)).item()
    assert -model.log_likelihood(queries, np.arange(3), texts).mean() == pytest.approx(
        loss, rel=1e-9
    )
    per_sample = model.log_prob(queries, PerSample(np.array([texts, texts[::-1], texts])))
    assert per_sample[1] == pytest.approx(model.log_prob(queries, texts[::-1])[1])


def test_soft_capped_logits_are_refused():
    config = settings(num_key_value_heads=2, head_dim=8)
    with pytest.raises(FamilyError, match="soft-caps its logits"):
        causal_lm(build("Gemma2ForCausalLM", config))


def test_a_soft_cap_that_no_config_tells_is_found_by_the_check():
    original = build("GPT2LMHeadModel", gpt2())
    original.register_forward_hook(
        lambda module, arguments, out: SimpleNamespace(logits=out.logits.tanh())
    )
    with pytest.raises(FamilyError, match="not the log-softmax of f g'"):
        causal_lm(original)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_labels": 1}, "has one output"),
        ({"problem_type": "multi_label_classification"}, "not a softmax"),
    ],
)
def test_heads_without_a_softmax_are_refused(config, message):
    base = settings(max_position_embeddings=40, num_labels=3)
    with pytest.raises(FamilyError, match=message):
        sequence_classifier(build("BertForSequenceClassification", base | config))


def test_masked_lm_needs_a_mask_token_and_a_share():
    original = build("BertForMaskedLM", settings(max_position_embeddings=40))
    with pytest.raises(OptionError, match="mask_share is a share"):
        masked_lm(original, mask_share=0.0)
    with pytest.raises(OptionError, match="a tokenizer with a mask token"):
        masked_lm(original).embed(tokens_of(2, 5))


def test_classes_are_read_from_the_inputs_or_passed():
    model = sequence_classifier(
        build("BertForSequenceClassification", settings(max_position_embeddings=40, num_labels=3))
    )
    with pytest.raises(OptionError, match="do not tell their labels"):
        model.log_likelihood(tokens_of(2, 5))
    assert model.log_likelihood(tokens_of(2, 5), np.zeros(2, dtype=int)).shape == (2,)
