"""Checkpoints on disk with a tokenizer of whole words, made on the spot."""

from __future__ import annotations

from pathlib import Path

from tests.family.reductions.models import build, gpt2

WORDS = ("the", "cat", "sat", "on", "a", "mat")


def word_tokenizer(folder: Path, words: tuple[str, ...] = WORDS) -> None:
    """Write a tokenizer of whole words, numbered from 5, beside a checkpoint."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    table = {word: i for i, word in enumerate([*special, *words])}
    raw = Tokenizer(models.WordLevel(table, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]"
    ).save_pretrained(folder)


def gpt2_checkpoint(folder: Path) -> Path:
    """Write a tiny GPT-2 with its tokenizer, and return where."""
    build("GPT2LMHeadModel", gpt2()).save_pretrained(folder)
    word_tokenizer(folder)
    return folder
