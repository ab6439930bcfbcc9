"""A small made-up language with planted synonyms, where there is no text: for the smoke scale and tests.

Sentences are walks over meanings, each with a few favourite successors; every meaning has its word. The
natural synonyms of this language are two words for one meaning, of which the second is now and then used
for another meaning too, so that they are near to equivalent but not quite.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

MEANINGS, SYNONYMS, ABUSED = 40, 6, 0.25
_WORDS = [a + b for a, b in product("bdfgklmnprst", "aeiou")]


def made_synonyms() -> list[tuple[str, str]]:
    """Return the pairs of words that mostly have one meaning."""
    return [(_WORDS[i], _WORDS[MEANINGS + i]) for i in range(SYNONYMS)]


def made_sentences(count: int, *, seed: int) -> Iterator[list[str]]:
    """Yield sentences of six to ten words, with a full stop."""
    rng = np.random.default_rng(seed)
    favourites = np.stack([rng.choice(MEANINGS, 3, replace=False) for _ in range(MEANINGS)])
    for length in rng.integers(6, 11, size=count):
        meaning, words = int(rng.integers(MEANINGS)), []
        for favourite, wander, coin, abuse in rng.random((length, 4)):
            words.append(_word(meaning, coin, abuse))
            stray = int(wander * 10 * MEANINGS) if wander < 0.1 else None
            meaning = int(favourites[meaning, int(3 * favourite)]) if stray is None else stray
        yield [*words, "."]


def _word(meaning: int, coin: float, abuse: float) -> str:
    """Say a meaning: the first have two words, and their second ones are lent to other meanings."""
    if meaning < SYNONYMS and coin < 0.5:
        return _WORDS[MEANINGS + meaning]
    lender = meaning - SYNONYMS
    if 0 <= lender < SYNONYMS and abuse < ABUSED:
        return _WORDS[MEANINGS + lender]
    return _WORDS[meaning]
