"""Which pairs of words are followed: fabricated synonyms, natural ones, and the same words mismatched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.reproduce.semantic_learners.figure9.corpus import Corpus

KINDS = ("fabricated", "natural", "unrelated")


def followed(corpus: Corpus) -> dict[str, Int[Array, "pairs 2"]]:
    """Return the pairs of each kind.

    Unrelated are the same words paired anew, each first word with the second word of another pair: how often
    words occur decides how far their vectors travel, so pairs of other words would compare frequencies. The
    fabricated pairs' words come first, then the natural ones'.
    """
    mismatched = [repaired(pairs) for pairs in (corpus.fabricated, corpus.natural)]
    return {
        "fabricated": corpus.fabricated,
        "natural": corpus.natural,
        "unrelated": np.concatenate(mismatched),
    }


def repaired(pairs: Int[Array, "pairs 2"]) -> Int[Array, "repaired 2"]:
    """Pair each first word with the second of the pair half the list on, unless these are akin."""
    far = np.roll(pairs[:, 1], len(pairs) // 2)
    mixed = np.stack([pairs[:, 0], far], axis=1)
    group = _groups(pairs)
    kin = np.array([group[a] == group[b] for a, b in mixed.tolist()])
    return mixed[~kin]


def _groups(pairs: Array) -> dict[int, int]:
    """Number the sets of words that pairs connect."""
    group = {word: word for word in pairs.ravel().tolist()}
    for a, b in pairs.tolist():
        old, new = group[b], group[a]
        group = {word: new if one == old else one for word, one in group.items()}
    return group


def distances(table: Any, pairs: Int[Array, "pairs 2"]) -> Any:
    """Return the Euclidean distances of pairs of rows of each member's table, (members, pairs)."""
    import torch

    rows = torch.from_numpy(np.ascontiguousarray(pairs.T.astype(np.int64))).to(table.device)
    return (table[:, rows[0]] - table[:, rows[1]]).norm(dim=-1)


def judged_words(
    corpus: Corpus, most: int, least: int, rng: np.random.Generator
) -> Int[Array, " words"]:
    """Return the words whose pairs are all judged by counts: the natural synonyms', and others at random.

    Split words are not among them: their distances are 0 by construction and would make any ranking good.
    """
    counts = corpus.counts * corpus.maskable
    natural = np.unique(corpus.natural)
    rest = np.setdiff1d(np.flatnonzero(counts >= least), [*natural, *corpus.fabricated.ravel()])
    others = rng.permutation(rest)[: max(most - len(natural), 0)]
    return np.sort(np.concatenate([natural, others]))


def all_pairs(words: Int[Array, " words"]) -> Float[Array, "pairs 2"]:
    """Return every pair of the words once."""
    first, second = np.triu_indices(len(words), 1)
    return np.stack([words[first], words[second]], axis=1)
