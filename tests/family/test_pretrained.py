"""Checkpoints on disk as models of the family."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from samespace.errors import (  # noqa: E402
    FamilyError,
    MissingDependencyError,
    MissingSourceError,
    OptionError,
)
from samespace.family import from_pretrained  # noqa: E402
from samespace.family.pretrained import task_of  # noqa: E402
from tests.family.checkpoints import word_tokenizer  # noqa: E402
from tests.family.reductions.models import (  # noqa: E402
    CLIP,
    VOCABULARY,
    build,
    distilbert,
    gpt2,
    settings,
    xlnet,
)
from tests.tolerances import rtol  # noqa: E402

FLOAT32 = rtol("exact", "float32")
CHECKPOINTS = {
    "causal-lm": ("GPT2LMHeadModel", gpt2(), 16),
    "masked-lm": ("DistilBertForMaskedLM", distilbert(), 17),
    "sequence-classification": (
        "BertForSequenceClassification",
        settings(max_position_embeddings=40, num_labels=5),
        17,
    ),
    "permutation-lm": ("XLNetLMHeadModel", xlnet(), 17),
    "clip": ("CLIPModel", CLIP, 8),
}


@pytest.mark.parametrize("task", CHECKPOINTS)
def test_the_config_tells_the_task(task, tmp_path):
    kind, config, width = CHECKPOINTS[task]
    build(kind, config).save_pretrained(tmp_path)
    assert task_of(tmp_path) == task
    model = from_pretrained(tmp_path)
    assert model.dim == width
    assert model.name == tmp_path.name


def test_a_checkpoint_embeds_texts_with_its_own_tokenizer(tmp_path):
    original = build("GPT2LMHeadModel", gpt2())
    original.save_pretrained(tmp_path)
    word_tokenizer(tmp_path)
    model = from_pretrained(tmp_path, batch_size=1)
    ids = torch.tensor([[5, 6, 7, 5]])
    loss = original(input_ids=ids, labels=ids).loss.item()
    assert -model.log_likelihood(["the cat sat the"]).mean() == pytest.approx(loss, rel=FLOAT32)
    assert model.targets(["the cat", "sat the cat"]).tolist() == [6, 5, 6]


def test_a_masked_model_masks_texts_with_its_tokenizers_mask(tmp_path):
    build("DistilBertForMaskedLM", distilbert()).save_pretrained(tmp_path)
    word_tokenizer(tmp_path)
    model = from_pretrained(tmp_path, mask_share=0.5)
    texts = ["the cat sat the", "cat cat"]
    assert model.embed(texts).shape == (3, 17)
    assert set(model.targets(texts)) <= {5, 6, 7}


def test_precision_is_the_callers(tmp_path):
    build("GPT2LMHeadModel", gpt2()).save_pretrained(tmp_path)
    ids = np.arange(8)[None]
    exact, double = from_pretrained(tmp_path), from_pretrained(tmp_path, dtype="float64")
    assert double.embed(ids).dtype == np.float64
    assert exact.embed(ids) == pytest.approx(double.embed(ids), rel=1e-3, abs=1e-4)
    with pytest.raises(OptionError, match="name of a torch dtype"):
        from_pretrained(tmp_path, dtype="double precision")


def test_a_sentence_transformers_folder(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    build("DistilBertModel", distilbert()).save_pretrained(tmp_path / "inner")
    word_tokenizer(tmp_path / "inner")
    inner = str(tmp_path / "inner")  # a transformer alone gets mean pooling
    original = sentence_transformers.SentenceTransformer(inner, device="cpu")
    original.save(str(tmp_path / "whole"))
    model = from_pretrained(tmp_path / "whole", scale=5.0)
    texts = ["the cat", "sat", "cat sat"]
    e = original.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    expected = torch.log_softmax(torch.as_tensor(5.0 * e @ e.T), dim=1).numpy()
    assert model.log_prob(texts, texts) == pytest.approx(expected, abs=1e-4)


def test_what_is_outside_the_family_is_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["SiglipModel"]}))
    with pytest.raises(FamilyError, match="a sigmoid per pair"):
        from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertModel"]}))
    with pytest.raises(FamilyError, match="there is no reduction"):
        from_pretrained(tmp_path)


def test_what_is_not_there_is_named(tmp_path, monkeypatch):
    with pytest.raises(MissingSourceError, match="is no checkpoint"):
        from_pretrained(tmp_path)
    with pytest.raises(MissingSourceError, match="no checkpoint at"):
        from_pretrained(tmp_path / "nowhere")
    with pytest.raises(OptionError, match="task is one of causal-lm"):
        from_pretrained(tmp_path, task="poetry")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="Reading checkpoints needs transformers"):
        from_pretrained(tmp_path)


def test_the_vocabulary_is_the_fixed_set_of_labels(tmp_path):
    build("GPT2LMHeadModel", gpt2()).save_pretrained(tmp_path)
    assert from_pretrained(tmp_path).unembed().shape == (VOCABULARY, 16)
