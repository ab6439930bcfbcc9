"""Tiny transformers with random weights, made from configs: nothing is fetched."""

from __future__ import annotations

from typing import Any

VOCABULARY = 60


def settings(**more: Any) -> dict[str, Any]:
    """Return what most configs take, and no special tokens outside the vocabulary."""
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        **more,
    }


def gpt2(**more: Any) -> dict[str, Any]:
    """Return GPT-2's names for the same."""
    return {
        "vocab_size": VOCABULARY,
        "n_embd": 16,
        "n_layer": 2,
        "n_head": 2,
        "n_positions": 32,
        "bos_token_id": 1,
        "eos_token_id": 2,
        **more,
    }


def distilbert(**more: Any) -> dict[str, Any]:
    """Return DistilBERT's names for the same."""
    return {
        "vocab_size": VOCABULARY,
        "dim": 16,
        "hidden_dim": 32,
        "n_layers": 2,
        "n_heads": 2,
        "max_position_embeddings": 40,
        **more,
    }


def xlnet(**more: Any) -> dict[str, Any]:
    """Return XLNet's names for the same."""
    return {
        "vocab_size": VOCABULARY,
        "d_model": 16,
        "n_layer": 2,
        "n_head": 2,
        "d_inner": 32,
        **more,
    }


CLIP = {
    "text_config": settings(num_hidden_layers=1, max_position_embeddings=20),
    "vision_config": {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 16,
        "patch_size": 8,
    },
    "projection_dim": 8,
}


def build(kind: str, config: dict[str, Any], *, spread: float = 0.3) -> Any:
    """Make a model with weights wide enough that its probabilities differ from uniform ones."""
    import torch
    import transformers

    model_class = getattr(transformers, kind)
    model = model_class(model_class.config_class(**config)).eval()
    for parameter in model.parameters():
        if parameter.ndim > 0:  # a learnt scale, such as CLIP's, keeps its value
            torch.nn.init.normal_(parameter, std=spread)
    return model
