"""Checkpoints on disk as models of the family: Hugging Face transformers, sentence-transformers,
CLIP.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from samespace.errors import FamilyError, MissingDependencyError, MissingSourceError, OptionError
from samespace.family.canonical import CanonicalModel
from samespace.family.reductions.causal_lm import causal_lm
from samespace.family.reductions.clip import clip
from samespace.family.reductions.masked_lm import masked_lm
from samespace.family.reductions.sentences import sentences
from samespace.family.reductions.sequence_classifier import sequence_classifier
from samespace.family.reductions.xlnet import xlnet
from samespace.family.tokens import Tokens

# What each task is loaded with, and which reduction reads it.
_TASKS: Mapping[str, tuple[str, Callable[..., CanonicalModel]]] = {
    "causal-lm": ("AutoModelForCausalLM", causal_lm),
    "masked-lm": ("AutoModelForMaskedLM", masked_lm),
    "sequence-classification": ("AutoModelForSequenceClassification", sequence_classifier),
    "permutation-lm": ("XLNetLMHeadModel", xlnet),
    "clip": ("CLIPModel", clip),
}
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
)
# The ends of class names that tell the task, the more special first.
_ENDINGS = (
    ("XLNetLMHeadModel", "permutation-lm"),
    ("CLIPModel", "clip"),
    ("ForCausalLM", "causal-lm"),
    ("LMHeadModel", "causal-lm"),
    ("ForMaskedLM", "masked-lm"),
    ("ForSequenceClassification", "sequence-classification"),
)


def from_pretrained(
    path: str | Path,
    *,
    task: str | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    batch_size: int = 16,
    max_length: int | None = None,
    name: str | None = None,
    **options: Any,
) -> CanonicalModel:
    """Load a checkpoint and read it as a model of the family.

    Parameters
    ----------
    path
        A folder that `save_pretrained` wrote, or a name that the hub knows: a causal or masked
        language model, a sequence classifier, an XLNet, a CLIP, or a sentence-transformers model.
    task
        "causal-lm", "masked-lm", "sequence-classification", "permutation-lm", "clip" or
        "sentences"; by default what the checkpoint's config says.
    device, dtype
        Where and in which precision the model runs.
    batch_size, max_length
        Rows at once, and tokens beyond which a text is cut off.
    options
        For the reduction: ``mask_share`` and ``seed`` of `masked_lm`, ``scale`` of `sentences`,
        ``head`` of all language models.

    Notes
    -----
    Representations come out as NumPy arrays on the CPU, a batch's worth of activations on the
    device at a time. Inputs that do not fit in memory are embedded chunk by chunk: ``for chunk in
    chunks: model.embed(chunk)``.

    Examples
    --------
    >>> from samespace.family import from_pretrained
    >>> model = from_pretrained("path/to/gpt2")            # doctest: +SKIP
    >>> f, g = model.embed(["A text."]), model.unembed()   # doctest: +SKIP
    """
    need("transformers")
    task = task or task_of(path)
    if task == "sentences":
        return sentences(
            _sentence_encoder(path, device),
            batch_size=batch_size,
            name=name or Path(path).name,
            **options,
        )
    if task not in _TASKS:
        raise OptionError(f"task is one of {', '.join([*_TASKS, 'sentences'])}; got {task!r}.")
    loader, reduction = _TASKS[task]
    model = load_model(loader, path, dtype).to(device)
    tokens = Tokens(
        tokenizer=load_tokenizer(path), size=batch_size, pad=pad_of(model), max_length=max_length
    )
    return reduction(model, tokens=tokens, name=name or Path(path).name, **options)


def task_of(path: str | Path) -> str:
    """Read off a checkpoint's config which reduction it needs."""
    folder = Path(path)
    if folder.is_dir() and (folder / "modules.json").exists():
        return "sentences"
    architectures = _architectures(path)
    for architecture in architectures:
        for ending, task in _ENDINGS:
            if architecture.endswith(ending):
                return task
    if any("Siglip" in architecture for architecture in architectures):
        raise FamilyError(
            f"{path} is a SigLIP: its loss is a sigmoid per pair, not a softmax over S, so it is "
            "outside the canonical family "
            "(as skip-gram with negative sampling is). Compare its towers with samespace.compare."
        )
    raise FamilyError(
        f"{path} holds {', '.join(architectures) or 'no named architecture'}, for which there is no "
        "reduction: read are causal and masked language models, sequence classifiers, XLNet, CLIP "
        "and sentence-transformers. Pass task= if it is one of these under another name; or compare "
        "its representations with samespace.compare."
    )


def _architectures(path: str | Path) -> list[str]:
    folder = Path(path)
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise MissingSourceError(
                f"{path} has no config.json: it is no checkpoint that save_pretrained wrote."
            )
        return list(
            json.loads((folder / "config.json").read_text("utf-8")).get("architectures") or []
        )
    if folder.is_absolute() or str(path).startswith("."):
        raise MissingSourceError(f"There is no checkpoint at {path}.")
    from transformers import AutoConfig

    return list(AutoConfig.from_pretrained(path).architectures or [])


def load_model(loader: str, path: str | Path, dtype: str) -> Any:
    """Load a checkpoint with a class of transformers, in evaluation mode."""
    import torch
    import transformers

    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype):
        raise OptionError(
            f"dtype is the name of a torch dtype, such as 'float32' or 'bfloat16'; got {dtype!r}."
        )
    return getattr(transformers, loader).from_pretrained(path, dtype=kind).eval()


def load_tokenizer(path: str | Path) -> Any:
    """Return the checkpoint's tokenizer; None where it has none, since token numbers will do."""
    import transformers

    folder = Path(path)
    if folder.is_dir() and not any((folder / file).exists() for file in _TOKENIZER_FILES):
        return None  # transformers would make one without a vocabulary
    try:
        return transformers.AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError, KeyError, AttributeError):
        return None


def pad_of(model: Any) -> int:
    """Return the token that fills short rows; any will do where the model names none, it is
    masked.
    """
    pad = getattr(model.config.get_text_config(), "pad_token_id", None)
    return 0 if pad is None else int(pad)


def _sentence_encoder(path: str | Path, device: str) -> Any:
    need("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(path), device=device)


def need(package: str) -> None:
    """Raise `MissingDependencyError` where an optional package is not installed."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingDependencyError(
            f"Reading checkpoints needs {package.replace('_', '-')}, which is not installed: pip "
            "install 'samespace[hf]'."
        )
