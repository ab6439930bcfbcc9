"""Figure 9 of "Contrastive learners are semantic learners": embeddings of words, and a forecast of them.

Symbol tables are trained against transformers that read sentences with one word masked. Followed are the
distances of *fabricated* synonyms (one word whose occurrences were dealt to two names), *natural* synonyms
and *unrelated* pairs. Beyond the paper: the distance from equivalence that `samespace.theory` estimates from
counts alone, before any training, is held against the distances that training makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samespace.reproduce.registry import Context, Piece, Reproduction, Settings
from samespace.reproduce.semantic_learners.figure9.corpus import Corpus
from samespace.reproduce.semantic_learners.figure9.drawing import draw
from samespace.reproduce.semantic_learners.figure9.made import made_sentences, made_synonyms
from samespace.reproduce.semantic_learners.figure9.summary import summarise
from samespace.reproduce.semantic_learners.figure9.synonyms import natural_synonyms
from samespace.reproduce.semantic_learners.figure9.text import documents, sentences, text_file

# What decides the corpus; a prepared one must have been made with the same.
_CORPUS = ("text", "documents", "vocabulary", "longest", "split", "least", "corpus_seed")

# The paper gives the loss, the 100 words and "a Transformer encoder"; all numbers below are choices.
_COMMON: dict[str, Any] = {
    "corpus_seed": 0,
    "text": "English",
    "symbol_sds": (1.0, 0.05),
    "weight_decay": 1e-2,
    "feed_forward": 4,  # times the width of the encoder
    "ahead": 16,
}

SCALES: dict[str, dict[str, Any]] = {
    "smoke": {
        **_COMMON,
        "text": "made up",
        "documents": 4000,  # of one sentence each
        "vocabulary": 60,
        "longest": 12,
        "split": 6,
        "least": 100,
        "seeds": 2,
        "width": 8,
        "encoder_width": 16,
        "layers": 1,
        "heads": 2,
        "batch": 64,
        "steps": 300,
        "every": 50,
        "learning_rate": 1e-2,
        "warmup": 20,
        "judged": 40,
    },
    "small": {
        **_COMMON,
        "documents": 10_000,
        "vocabulary": 8_000,
        "longest": 24,
        "split": 100,
        "least": 100,
        "seeds": 2,
        "width": 16,
        "encoder_width": 32,
        "layers": 2,
        "heads": 2,
        "batch": 128,
        "steps": 2_000,
        "every": 100,
        "learning_rate": 3e-3,
        "warmup": 100,
        "judged": 200,
    },
    "paper": {
        **_COMMON,
        "documents": None,
        "vocabulary": 20_000,
        "longest": 32,
        "split": 100,
        "least": 200,
        "seeds": 5,
        "width": 32,
        "encoder_width": 128,
        "layers": 3,
        "heads": 4,
        "batch": 512,
        "steps": 8_000,
        "every": 200,
        "learning_rate": 1e-3,
        "warmup": 200,
        "judged": 300,
    },
}


def pieces(settings: Settings) -> Sequence[Piece]:
    """Return one population for each spread of the symbols at the start."""
    rest = {name: value for name, value in settings.items() if name != "symbol_sds"}
    return [
        Piece(name=f"start-{sd:g}", settings={**rest, "symbol_sd": sd})
        for sd in settings["symbol_sds"]
    ]


def run(piece: Piece, context: Context) -> dict[str, Any]:
    """Train a population, follow the pairs, and hold counts against what training made."""
    from samespace.reproduce.semantic_learners.figure9.forecast import forecast
    from samespace.reproduce.semantic_learners.figure9.training import trained

    corpus = corpus_of(piece.settings, context)
    table, curves = trained(piece.settings, corpus, context)
    return {
        "corpus": corpus.described(),
        "curves": curves,
        **forecast(corpus, table, judged=piece.settings["judged"]),
    }


def corpus_of(settings: Settings, context: Context) -> Corpus:
    """Make the corpus of one scale: of the user's text, of a prepared file, or made up."""
    parts = {name: settings[name] for name in _CORPUS}
    if parts["text"] == "made up":
        made = made_sentences(parts["documents"], seed=parts["corpus_seed"])
        return Corpus.of(made, made_synonyms(), parts)
    path = text_file(context.data)
    if path.suffix == ".npz":
        return Corpus.load(path, parts)
    lines = documents(path, most=parts["documents"])
    return Corpus.of(sentences(lines), natural_synonyms(), parts)


REPRODUCTION = Reproduction(
    paper="semantic-learners",
    figure="fig9",
    claim="words: fabricated synonyms come closest, natural ones next, and counts tell which beforehand",
    scales=SCALES,
    pieces=pieces,
    run=run,
    summarise=summarise,
    draw=draw,
)
