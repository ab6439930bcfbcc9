"""Words as symbols and what stands beside them as contexts: counts for the distance of semantic equivalence.

Whole sentences never repeat, so nothing can be counted of them. Counted is a function of the context that
does repeat. Whatever the function, words with equal distributions of contexts have equal distributions of
its values: D = 0 remains necessary for equivalence. Each occurrence of a word gives *one* draw, since the
test of equivalence asks for independent draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from samespace.theory.occurrences import Occurrences

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array

    from samespace.reproduce.semantic_learners.figure9.corpus import Corpus

READINGS = ("neighbour", "frame", "sentence")
"""One of the two neighbours with its side, both neighbours at once, or any other word of the sentence."""


def occurrences(
    corpus: Corpus, words: Int[Array, " words"], *, reading: str, rng: np.random.Generator
) -> Occurrences:
    """Count in which contexts the words occur; rows are in order of `words`."""
    row = np.full(len(corpus.names), -1)
    row[words] = np.arange(len(words))
    places = np.flatnonzero(row[corpus.tokens] >= 0)
    contexts = _READ[reading](corpus, places, rng)
    return Occurrences.from_codes(
        [corpus.names[word] for word in words], row[corpus.tokens[places]], contexts
    )


def _neighbour(corpus: Corpus, places: Array, rng: np.random.Generator) -> Array:
    before, after = _beside(corpus, places)
    right = rng.random(len(places)) < 0.5
    return 2 * np.where(right, after, before) + right


def _frame(corpus: Corpus, places: Array, rng: np.random.Generator) -> Array:
    before, after = _beside(corpus, places)
    return before * len(corpus.names) + after


def _sentence(corpus: Corpus, places: Array, rng: np.random.Generator) -> Array:
    start, length = _spans(corpus, places)
    # One of the others: a step of 1 to length - 1 onwards, round the end.
    step = 1 + (rng.random(len(places)) * (length - 1)).astype(np.int64)
    return corpus.tokens[start + (places - start + step) % length].astype(np.int64)


_READ = dict(zip(READINGS, (_neighbour, _frame, _sentence), strict=True))


def _beside(corpus: Corpus, places: Array) -> tuple[Array, Array]:
    """Return the tokens before and after each place; 0, the padding, beyond the sentence's ends."""
    start, length = _spans(corpus, places)
    padded = np.pad(corpus.tokens.astype(np.int64), 1)
    before = np.where(places > start, padded[places], 0)
    after = np.where(places < start + length - 1, padded[places + 2], 0)
    return before, after


def _spans(corpus: Corpus, places: Array) -> tuple[Array, Array]:
    """Return where the sentence of each place begins, and how long it is."""
    ends = np.cumsum(corpus.lengths, dtype=np.int64)
    sentence = np.searchsorted(ends, places, side="right")
    length = corpus.lengths[sentence].astype(np.int64)
    return ends[sentence] - length, length
