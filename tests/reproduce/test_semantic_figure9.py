"""Figure 9: fabricated synonyms are equivalent, counts are what a slow count gives, and the figure runs."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from samespace.errors import FormatError, MissingSourceError, OptionError, TooFewRowsError
from samespace.reproduce import Context, find, make
from samespace.reproduce.semantic_learners.figure9 import corpus_of, pairs, prediction
from samespace.reproduce.semantic_learners.figure9.corpus import RESERVED, UNKNOWN, Corpus
from samespace.reproduce.semantic_learners.figure9.counted import READINGS, occurrences
from samespace.reproduce.semantic_learners.figure9.made import made_sentences, made_synonyms
from samespace.reproduce.semantic_learners.figure9.synonyms import natural_synonyms
from samespace.reproduce.semantic_learners.figure9.text import documents, sentences, text_file

SETTINGS = {
    "text": "made up",
    "documents": 600,
    "vocabulary": 45,
    "longest": 9,
    "split": 4,
    "least": 20,
    "corpus_seed": 0,
}


def corpus(**changes):
    settings = {**SETTINGS, **changes}
    made = made_sentences(settings["documents"], seed=settings["corpus_seed"])
    return Corpus.of(made, made_synonyms(), settings)


def told(one):
    """The sentences as words."""
    ends = np.cumsum(one.lengths)[:-1]
    return [[one.names[word] for word in part] for part in np.split(one.tokens, ends)]


def test_a_corpus_is_the_text_with_some_words_dealt_to_two_names():
    one = corpus()
    kept = [words for words in made_sentences(600, seed=0) if len(words) <= 9]
    assert len(kept) == len(one.lengths)
    rejoined = [[word.partition("/")[0] for word in words] for words in told(one)]
    rare = {word for words in kept for word in words} - {
        name.partition("/")[0] for name in one.names
    }
    expected = [["<unknown>" if word in rare else word for word in words] for words in kept]
    assert rejoined == expected
    assert rare
    assert one.names[UNKNOWN] == RESERVED[UNKNOWN] == "<unknown>"


def test_fabricated_synonyms_are_halves_of_one_word_and_no_natural_synonyms():
    one = corpus()
    counts = one.counts
    for first, second in one.fabricated:
        assert one.names[first].removesuffix("/1") == one.names[second].removesuffix("/2")
        whole = counts[first] + counts[second]
        assert whole >= 2 * SETTINGS["least"]
        assert abs(counts[first] - whole / 2) < 4 * np.sqrt(whole / 4)
    assert not set(one.fabricated.ravel()) & set(one.natural.ravel())
    assert counts[one.natural].min() >= SETTINGS["least"]
    assert not one.maskable[one.names.index(".")]
    assert one.maskable[one.fabricated].all()


def test_equal_seeds_make_equal_corpora_and_others_do_not(tmp_path):
    one = corpus()
    assert one.fingerprint() == corpus().fingerprint()
    assert one.fingerprint() != corpus(corpus_seed=1).fingerprint()
    one.save(tmp_path / "corpus.npz")
    again = Corpus.load(tmp_path / "corpus.npz", SETTINGS)
    assert again.fingerprint() == one.fingerprint()
    assert again.described() == one.described()
    with pytest.raises(OptionError, match="settings than this scale's: split differ"):
        Corpus.load(tmp_path / "corpus.npz", {**SETTINGS, "split": 5})
    (tmp_path / "other.npz").write_text("nothing")
    with pytest.raises(FormatError, match="is not a corpus of Figure 9"):
        Corpus.load(tmp_path / "other.npz", SETTINGS)


def test_too_little_text_is_refused():
    with pytest.raises(TooFewRowsError, match="no sentence of 4 to 9 tokens"):
        Corpus.of([["a"]], [], SETTINGS)
    with pytest.raises(TooFewRowsError, match="Only 0 pairs of natural synonyms"):
        corpus(least=10_000)
    with pytest.raises(TooFewRowsError, match="100 words are to be split"):
        corpus(split=100)


def test_text_is_read_from_plain_and_compressed_files(tmp_path):
    lines = [f"This is line {number}. It has two sentences!" for number in range(10)]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    with lzma.open(tmp_path / "text.txt.xz", "wt") as file:
        file.write("\n".join(lines))
    assert documents(tmp_path / "text.txt") == documents(tmp_path / "text.txt.xz") == lines
    assert documents(tmp_path / "text.txt", most=2) == [lines[0], lines[-1]]
    assert list(sentences(lines[:1])) == [
        ["this", "is", "line", "0", "."],
        ["it", "has", "two", "sentences", "!"],
    ]
    with pytest.raises(MissingSourceError, match="nothing was said of where it lies"):
        text_file(None)
    (tmp_path / "broken.txt").write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(FormatError, match="is not text"):
        documents(tmp_path / "broken.txt")


def test_a_prepared_corpus_takes_the_place_of_its_text(tmp_path):
    settings = {**SETTINGS, "text": "English", "split": 1, "least": 5, "documents": None}
    first, second = natural_synonyms()[0], natural_synonyms()[1]
    line = f"we saw {first[0]} , {first[1]} , {second[0]} and {second[1]} ."
    (tmp_path / "text.txt").write_text("\n".join([line] * 12))
    settings["longest"] = 12
    made = corpus_of(
        settings, Context(device="cpu", workspace=tmp_path, data=tmp_path / "text.txt")
    )
    made.save(tmp_path / "corpus.npz")
    read = corpus_of(
        settings, Context(device="cpu", workspace=tmp_path, data=tmp_path / "corpus.npz")
    )
    assert read.fingerprint() == made.fingerprint()


def test_neighbours_and_frames_are_counted_as_a_slow_count_does():
    one, rng = corpus(), np.random.default_rng(0)
    words = np.sort(one.natural.ravel())
    frames = occurrences(one, words, reading="frame", rng=rng)
    slow = Counter()
    for words_of in told(one):
        padded = ["", *words_of, ""]
        for before, word, after in zip(padded, padded[1:], padded[2:], strict=False):
            slow[word, before, after] += 1
    for row, word in enumerate(words):
        mine = sorted(int(count) for count in frames.cells[row].data if count)
        assert mine == sorted(n for (name, *_), n in slow.items() if name == one.names[word])
    for reading in READINGS:
        found = occurrences(one, words, reading=reading, rng=rng)
        assert found.totals.tolist() == one.counts[words].tolist()


def test_unrelated_pairs_are_the_same_words_paired_anew():
    given = np.array([[1, 2], [3, 4], [5, 6], [1, 7], [8, 9], [10, 11]])
    anew = pairs.repaired(given)
    kin = {frozenset(pair) for pair in given.tolist()} | {frozenset((2, 7))}
    assert {frozenset(pair) for pair in anew.tolist()}.isdisjoint(kin)
    assert set(anew[:, 0]) <= set(given[:, 0])
    assert set(anew[:, 1]) <= set(given[:, 1])


def test_partial_correlation_takes_out_what_both_have_of_a_third():
    rng = np.random.default_rng(0)
    third, x, y = rng.normal(size=(3, 4000))
    assert prediction.rank_correlation(x + third, y + third) > 0.4
    assert abs(prediction.partial_correlation(x + third, y + third, [third])) < 0.1
    assert prediction.partial_correlation(x + third, x + y, [third]) > 0.5


def test_area_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    x, positive = rng.integers(0, 30, size=200), rng.random(200) < 0.3
    less = x[positive][:, None] < x[~positive]
    ties = x[positive][:, None] == x[~positive]
    assert prediction.area(x, positive) == pytest.approx((less + ties / 2).mean())
    assert prediction.area(x, np.arange(200) < 5) is None


def test_a_smoke_run_puts_fabricated_synonyms_closest(tmp_path):
    reproduction = find("semantic-learners", "fig9")
    smoke = {**reproduction.settings("smoke"), "steps": 150, "documents": 2000}
    summary = make(replace(reproduction, scales={"smoke": smoke}), scale="smoke", folder=tmp_path)
    starts = summary["values"]["starts"]
    assert set(starts) == {"start-1", "start-0.05"}
    small = starts["start-0.05"]
    assert small["ratios"]["fabricated / unrelated"]["value"]["mean"] < 0.6
    assert small["held_out_loss"]["mean"] < small["untrained_loss"]["mean"]
    assert small["found of the counts"]["fabricated"]["different"] <= 1
    assert set(small["claims"]) > {"fabricated closer than natural", "counts foretell distances"}
    json.dumps(summary, allow_nan=False)
    results = tmp_path / "semantic_learners" / "results"
    assert "<svg" in (results / "fig9-smoke.svg").read_text()
