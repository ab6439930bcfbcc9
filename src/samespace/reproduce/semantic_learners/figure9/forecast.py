"""What counts say of pairs of words beforehand, held against the distances that training made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.reproduce.semantic_learners.figure9 import prediction
from samespace.reproduce.semantic_learners.figure9.counted import READINGS, occurrences
from samespace.reproduce.semantic_learners.figure9.pairs import (
    all_pairs,
    distances,
    followed,
    judged_words,
)
from samespace.theory.agreement import agreement
from samespace.theory.equivalence import equivalence

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.reproduce.semantic_learners.figure9.corpus import Corpus

MERGED = 0.95
"""A pair has merged if it is closer than this share of the fabricated pairs, which are truly equivalent."""

_DRAWN = 1500  # of the judged pairs, these many are kept for the drawing


def forecast(corpus: Corpus, table: Any, *, judged: int) -> dict[str, Any]:
    """Return, of tables (members, words, d), the distances of followed pairs and what foretells distances.

    Parameters
    ----------
    judged
        How many words' pairs are all judged: those of the natural synonyms, and others at random.
    """
    rng = np.random.default_rng(corpus.settings["corpus_seed"])
    kinds = _kinds(corpus, table, rng)
    words = judged_words(corpus, judged, corpus.settings["least"], rng)
    first, second = np.triu_indices(len(words), 1)
    target = distances(table, all_pairs(words)).double().cpu().numpy()
    threshold = float(np.quantile(kinds["fabricated"]["distance"], MERGED))
    mean = target.mean(axis=0)
    foretold: dict[str, Any] = {}
    for reading in READINGS:
        counted = occurrences(corpus, words, reading=reading, rng=rng)
        estimate = agreement(counted, first, second).distance
        found = prediction.predictors(counted, estimate, first, second)
        foretold[reading] = prediction.judged(found, mean, mean <= threshold, first, second)
        if reading == READINGS[0]:
            some = rng.permutation(len(mean))[:_DRAWN]
            scatter = {"semantic": _short(estimate[some]), "distance": _short(mean[some])}
    return {
        "kinds": kinds,
        "judged": {
            "words": len(words),
            "pairs": len(mean),
            "merged": int((mean <= threshold).sum()),
            "threshold": threshold,
            "between_seeds": prediction.between_seeds(target),
            "scatter": scatter,
        },
        "foretold": foretold,
    }


def _kinds(corpus: Corpus, table: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Return of each followed pair its semantic distance, its verdict, and its distance after training."""
    pairs = followed(corpus)
    words = np.unique(np.concatenate(list(pairs.values())))
    counted = occurrences(corpus, words, reading=READINGS[0], rng=rng)
    every = np.searchsorted(words, np.concatenate(list(pairs.values())))
    # All kinds at once: the false discovery rate is one over all of them.
    verdict = equivalence(counted, pairs=(every[:, 0], every[:, 1]))
    ends = np.cumsum([0, *(len(one) for one in pairs.values())])
    return {
        kind: {
            "semantic": _short(verdict.pairs.distance[begin:end]),
            "relation": verdict.relation[begin:end].tolist(),
            "distance": _short(distances(table, pairs[kind]).double().cpu().numpy().mean(axis=0)),
        }
        for kind, begin, end in zip(pairs, ends, ends[1:], strict=False)
    }


def _short(values: Float[Array, " n"]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
