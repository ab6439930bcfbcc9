"""Make the corpus of Figure 9 once, for machines to which the text does not travel.

    python prepare_text.py TEXT.txt.xz CORPUS.npz [SCALE]

`samespace reproduce semantic-learners fig9 --scale SCALE --data CORPUS.npz` then gives what
`--data TEXT.txt.xz` gives: the file holds the numbered words (12 MB for 8.7 million of them) and the
settings it was made with.
"""

from __future__ import annotations

import sys
from pathlib import Path

from samespace.reproduce import Context, find
from samespace.reproduce.semantic_learners.figure9 import corpus_of


def main() -> None:
    text, target = Path(sys.argv[1]), Path(sys.argv[2])
    scale = sys.argv[3] if len(sys.argv) > 3 else "paper"
    settings = find("semantic-learners", "fig9").settings(scale)
    corpus = corpus_of(settings, Context(device="cpu", workspace=target.parent, data=text))
    corpus.save(target)
    print(
        f"{len(corpus.lengths):,} sentences of {len(corpus.tokens):,} tokens: {corpus.fingerprint()}"
    )


if __name__ == "__main__":
    main()
