"""Natural synonyms: pairs of words that mean the same in the sense they mostly have."""

from __future__ import annotations

from importlib import resources


def natural_synonyms() -> list[tuple[str, str]]:
    """Return the pairs of the committed list, whose head says how it was made of WordNet 3.0.

    A pair shares its *dominant* sense, the one with at least half of the word's sense-tagged uses. Words
    that share just any sense ("get" and "have") would not do: they seldom replace each other.
    """
    text = resources.files(__package__).joinpath("synonyms.txt").read_text("utf-8")
    pairs = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return [(first, second) for first, second in pairs]
