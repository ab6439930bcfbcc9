"""Make the list of natural synonyms of Figure 9 out of WordNet 3.0.

    python synonyms_from_wordnet.py FOLDER_OF_INDEX_AND_DATA_FILES > synonyms.txt

WordNet calls words synonyms that share *one* of their senses, such as "get" and "have"; most such pairs
hardly ever replace each other. Listed are pairs whose *dominant* sense is the same: the sense that most of
the word's occurrences in the sense-tagged corpora carry, at least half of them and at least three.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

LEAST_TAGGED = 3
PARTS = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
WORD = re.compile(r"[a-z]{3,}")
NOTICE = """\
# Pairs of natural synonyms: words whose dominant sense in WordNet 3.0 is the same, one pair a line.
# Made from WordNet 3.0 by reproductions/semantic_learners/synonyms_from_wordnet.py.
#
# WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved.
# Permission to use, copy, modify and distribute this software and database and its documentation for any
# purpose and without fee or royalty is hereby granted, provided that you agree to comply with the following
# copyright notice and statements, including the disclaimer, and that the same appear on ALL copies of the
# software, database and documentation, including modifications that you make for internal use or for
# distribution.
# THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR
# WARRANTIES, EXPRESS OR IMPLIED. BY WAY OF EXAMPLE, BUT NOT LIMITATION, PRINCETON UNIVERSITY MAKES NO
# REPRESENTATIONS OR WARRANTIES OF MERCHANTABILITY OR FITNESS FOR ANY PARTICULAR PURPOSE OR THAT THE USE OF
# THE LICENSED SOFTWARE, DATABASE OR DOCUMENTATION WILL NOT INFRINGE ANY THIRD PARTY PATENTS, COPYRIGHTS,
# TRADEMARKS OR OTHER RIGHTS.
# The name of Princeton University or Princeton may not be used in advertising or publicity pertaining to
# distribution of the software and/or database. Title to copyright in this software, database and any
# associated documentation shall at all times remain with Princeton University and LICENSEE agrees to
# preserve same."""


def senses(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return for each word and part of speech its synsets, in the order of the senses' numbers."""
    found = {}
    for part in set(PARTS.values()):
        for line in (folder / f"index.{part}").read_text("ascii").splitlines():
            fields = line.split()
            if not line.startswith(" ") and WORD.fullmatch(fields[0]):
                found[fields[0], part] = fields[-int(fields[2]) :]
    return found


def tagged(folder: Path) -> dict[str, Counter[tuple[str, int]]]:
    """Return how often each sense of each word was tagged."""
    counts: dict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    for line in (folder / "cntlist.rev").read_text("ascii").splitlines():
        key, number, count = line.split()
        word, rest = key.split("%")
        counts[word][PARTS[rest[0]], int(number)] += int(count)
    return counts


def main() -> None:
    folder = Path(sys.argv[1])
    synsets, members = senses(folder), defaultdict(list)
    for word, counts in tagged(folder).items():
        (part, number), most = counts.most_common(1)[0]
        known = synsets.get((word, part), [])
        if number <= len(known) and most >= max(LEAST_TAGGED, counts.total() / 2):
            members[part, known[number - 1]].append(word)
    pairs = sorted(pair for words in members.values() for pair in combinations(sorted(words), 2))
    print(NOTICE)
    for first, second in pairs:
        print(first, second)


if __name__ == "__main__":
    main()
