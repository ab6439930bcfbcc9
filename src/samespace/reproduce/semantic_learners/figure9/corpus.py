"""The data of Figure 9: sentences in which some words were split into two fabricated synonyms.

Each occurrence of a split word becomes one of two new words by the toss of a coin, wherever it stands, so
that the two are exactly equivalent: ``p(context | good/1) = p(context | good/2)``.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import FormatError, OptionError, TooFewRowsError
from samespace.reproduce.semantic_learners.figure9.text import WORD

if TYPE_CHECKING:
    from jaxtyping import Bool, Int
    from numpy import ndarray as Array

RESERVED = ("<padding>", "<mask>", "<unknown>")
UNKNOWN = 2
SHORTEST = 4


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Sentences as numbers, which of these may be masked, and the pairs to follow.

    Attributes
    ----------
    tokens
        All sentences, one after the other.
    lengths
        Of each sentence.
    names
        What each number stands for: the reserved ones, then words by frequency, then second halves.
    maskable
        Which numbers are words and no punctuation marks.
    fabricated, natural
        Pairs of numbers.
    settings
        What the corpus was made with.
    """

    tokens: Int[Array, " words"]
    lengths: Int[Array, " sentences"]
    names: tuple[str, ...]
    maskable: Bool[Array, " vocabulary"]
    fabricated: Int[Array, "split 2"]
    natural: Int[Array, "natural 2"]
    settings: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        sentences: Iterable[list[str]],
        synonyms: Iterable[tuple[str, str]],
        settings: Mapping[str, Any],
    ) -> Corpus:
        """Number the words, find the synonyms among them, and split some of the others.

        Parameters
        ----------
        sentences
            Lists of tokens; those shorter than four or longer than ``settings["longest"]`` are left out.
        synonyms
            Pairs of words; those are followed whose two words occur ``settings["least"]`` times each.
        settings
            ``vocabulary`` words are kept; ``split`` of those that occur twice ``least`` times are split,
            drawn at random by ``corpus_seed`` among the words that are in no pair of synonyms.
        """
        rng = np.random.default_rng(settings["corpus_seed"])
        words, flat, lengths = _numbered(sentences, settings["longest"])
        names, tokens = _most_frequent(words, flat, settings["vocabulary"])
        maskable = np.array([WORD.fullmatch(name) is not None for name in names])
        counts = np.bincount(tokens, minlength=len(names)) * maskable
        natural = _present(synonyms, names, counts >= settings["least"])
        free = (counts >= 2 * settings["least"]) & ~np.isin(np.arange(len(names)), natural)
        chosen = _drawn(rng, np.flatnonzero(free), settings["split"])
        tokens, names, fabricated = _split(rng, tokens, names, chosen)
        return cls(
            **_with_a_word(tokens, lengths, np.append(maskable, np.ones(len(chosen), dtype=bool))),
            names=tuple(names),
            fabricated=fabricated,
            natural=natural,
            settings=dict(settings),
        )

    @property
    def counts(self) -> Int[Array, " vocabulary"]:
        """How often each number occurs."""
        return np.bincount(self.tokens, minlength=len(self.names))

    def fingerprint(self) -> str:
        """Return a hash of everything that training sees."""
        digest = hashlib.sha256("\n".join(self.names).encode())
        for part in (self.tokens, self.lengths, self.fabricated, self.natural):
            digest.update(np.ascontiguousarray(part).astype("<i8").tobytes())
        return digest.hexdigest()[:16]

    def described(self) -> dict[str, Any]:
        """Return what a record tells of it: sizes, the hash, and each followed pair's words and counts."""
        counts = self.counts

        def told(pairs: Int[Array, "pairs 2"]) -> list[list[Any]]:
            return [[self.names[a], self.names[b], counts[a], counts[b]] for a, b in pairs]

        return {
            "fingerprint": self.fingerprint(),
            "sentences": len(self.lengths),
            "words": int((counts * self.maskable).sum()),
            "vocabulary": int(self.maskable.sum()),
            "fabricated": told(self.fabricated),
            "natural": told(self.natural),
        }

    def save(self, path: Path) -> None:
        """Write the corpus as one compressed .npz, without pickles."""
        np.savez_compressed(
            path,
            tokens=self.tokens,
            lengths=self.lengths,
            maskable=self.maskable,
            fabricated=self.fabricated,
            natural=self.natural,
            names=np.array("\n".join(self.names)),
            settings=np.array(json.dumps(self.settings)),
        )

    @classmethod
    def load(cls, path: Path, settings: Mapping[str, Any]) -> Corpus:
        """Read a corpus that was made with these settings."""
        try:
            with np.load(path, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            made = json.loads(str(parts.pop("settings")))
            found = cls(names=tuple(str(parts.pop("names")).split("\n")), settings=made, **parts)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FormatError(
                f"{path} is not a corpus of Figure 9 ({error}); make it with "
                "reproductions/semantic_learners/prepare_text.py."
            ) from error
        if made != dict(settings):
            differ = sorted(k for k in {*made, *settings} if made.get(k) != settings.get(k))
            raise OptionError(
                f"{path} was prepared with other settings than this scale's: {', '.join(differ)} differ. "
                "Prepare it again, with the same --scale."
            )
        return found


def _numbered(sentences: Iterable[list[str]], longest: int) -> tuple[list[str], Array, Array]:
    """Number the tokens in order of appearance, without keeping the text."""
    number: dict[str, int] = {}
    flat, lengths = array("I"), array("B")
    for words in sentences:
        if SHORTEST <= len(words) <= longest:
            flat.extend([number.setdefault(word, len(number)) for word in words])
            lengths.append(len(words))
    if not lengths:
        raise TooFewRowsError(
            f"There is no sentence of {SHORTEST} to {longest} tokens; give text with one document a line."
        )
    return list(number), np.frombuffer(flat, dtype=np.uint32), np.frombuffer(lengths, np.uint8)


def _most_frequent(words: list[str], flat: Array, keep: int) -> tuple[list[str], Array]:
    counts = np.bincount(flat, minlength=len(words))
    order = np.argsort(-counts, kind="stable")[:keep]
    code = np.full(len(words), UNKNOWN)
    code[order] = len(RESERVED) + np.arange(len(order))
    return [*RESERVED, *(words[row] for row in order)], code[flat]


def _present(
    synonyms: Iterable[tuple[str, str]], names: list[str], frequent: Bool[Array, " vocabulary"]
) -> Int[Array, "pairs 2"]:
    number = {name: row for row, name in enumerate(names) if frequent[row]}
    pairs = [(number[a], number[b]) for a, b in synonyms if a in number and b in number]
    if len(pairs) < 2:
        raise TooFewRowsError(
            f"Only {len(pairs)} pairs of natural synonyms occur often enough; give more text."
        )
    return np.array(pairs)


def _drawn(rng: np.random.Generator, free: Array, split: int) -> Int[Array, " split"]:
    if len(free) < split:
        raise TooFewRowsError(
            f"{split} words are to be split, but only {len(free)} occur often enough; give more text."
        )
    return np.sort(rng.choice(free, split, replace=False))


def _split(
    rng: np.random.Generator, tokens: Array, names: list[str], chosen: Array
) -> tuple[Array, list[str], Array]:
    """Make every second occurrence, by the toss of a coin, the new word."""
    second = np.arange(len(names))
    second[chosen] = len(names) + np.arange(len(chosen))
    tossed = np.where(rng.random(len(tokens)) < 0.5, second[tokens], tokens)
    named = [*names, *(f"{names[row]}/2" for row in chosen)]
    for row in chosen:
        named[row] += "/1"
    return tossed, named, np.stack([chosen, second[chosen]], axis=1)


def _with_a_word(tokens: Array, lengths: Array, maskable: Array) -> dict[str, Array]:
    """Leave out sentences in which nothing may be masked."""
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)[:-1]])
    kept = np.add.reduceat(maskable[tokens].astype(int), starts) > 0
    kind = np.min_scalar_type(len(maskable))
    return {
        "tokens": tokens[np.repeat(kept, lengths)].astype(kind),
        "lengths": lengths[kept],
        "maskable": maskable,
    }
