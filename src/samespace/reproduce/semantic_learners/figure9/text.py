"""From a file of documents, one a line, to sentences of lower-case words and punctuation marks."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from samespace.errors import FormatError, MissingSourceError

WORD = re.compile(r"[a-z]+(?:'[a-z]+)*")
_TOKEN = re.compile(WORD.pattern + r"|[0-9]+|[.,!?;:]")
_END = re.compile(r"(?<=[.!?])[\"')]*\s+")


def text_file(data: Path | None) -> Path:
    """Return the user's file, or say what to give."""
    if data is not None and data.is_file():
        return data
    told = "nothing was said of where it lies" if data is None else f"{data} is not a file"
    raise MissingSourceError(
        f"Figure 9 at this scale is trained on English text, which samespace does not ship, and {told}. "
        "Give a file with one document a line as --data TEXT.txt (or .txt.xz; some ten million words for the "
        "paper's scale), or a corpus prepared from one (.npz); --scale smoke needs none."
    )


def documents(path: Path, *, most: int | None = None) -> Sequence[str]:
    """Return the lines of a text file, or `most` of them evenly spread over it."""
    opener = lzma.open if path.suffix == ".xz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise FormatError(
            f"{path} is not text ({error}); give UTF-8, plain (.txt) or compressed (.txt.xz)."
        ) from error
    if most is None or most >= len(lines):
        return lines
    return [lines[row] for row in np.linspace(0, len(lines) - 1, most).astype(int)]


def sentences(lines: Sequence[str]) -> Iterator[list[str]]:
    """Cut documents after full stops, exclamation and question marks, and sentences into tokens.

    Examples
    --------
    >>> list(sentences(['A "good" film! It\\'s from 1931, I think.']))
    [['a', 'good', 'film', '!'], ["it's", 'from', '1931', ',', 'i', 'think', '.']]
    """
    for line in lines:
        for sentence in _END.split(line.lower()):
            if tokens := _TOKEN.findall(sentence):
                yield tokens
