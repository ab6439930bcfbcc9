"""Lengths of the package's modules; run as a program it lists those over the soft limit."""

from __future__ import annotations

from tests.house.imports import modules

SOFT_LIMIT = 250
HARD_LIMIT = 400


def lengths() -> dict[str, int]:
    """Number of lines of every module."""
    return {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()
    }


def longer_than(limit: int) -> dict[str, int]:
    """Modules over a limit, the longest first."""
    over = {name: n for name, n in lengths().items() if n > limit}
    return dict(sorted(over.items(), key=lambda item: -item[1]))


if __name__ == "__main__":
    for name, n in longer_than(SOFT_LIMIT).items():
        print(f"{name} has {n} lines; {SOFT_LIMIT} is where a module asks to be two")
