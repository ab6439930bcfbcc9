"""What a reproduction is, and where to find each."""

from __future__ import annotations

import fnmatch
import importlib
import pkgutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

from samespace.errors import OptionError
from samespace.reproduce.record import Record

Settings = Mapping[str, Any]
Progress = Callable[[str, int, int], None]

_MACHINERY = {"figure", "record", "registry", "runner"}


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One independent part of a reproduction, named for its file, with all that sets its result."""

    name: str
    settings: Settings


@dataclass(frozen=True, kw_only=True)
class Context:
    """Where and how a piece runs; nothing here may change its result beyond rounding.

    Attributes
    ----------
    device, workspace, progress
        The device to compute on, a folder of the piece's own, and whom to tell how far it is.
    data
        Where the user keeps data that the package does not ship, None if nothing was said. A piece that
        reads them records their fingerprint, since other data give other results.
    captured
        Whether training on a GPU may replay CUDA graphs, where the piece knows how to.
    """

    device: str
    workspace: Path
    progress: Progress | None = None
    data: Path | None = None
    captured: bool = True


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """One table or figure: the claim it supports, its settings per scale, and how to make it.

    Attributes
    ----------
    run
        Makes one piece.
    together
        Instead of `run`: makes many pieces at once and returns their values in order. Pieces of all figures
        that share this function may be passed to it, so equal work is done once.
    """

    paper: str
    figure: str
    claim: str
    scales: Mapping[str, Settings]
    pieces: Callable[[Settings], Sequence[Piece]]
    summarise: Callable[[Sequence[Record], Mapping[str, Any]], Mapping[str, Any]]
    run: Callable[[Piece, Context], Mapping[str, Any]] | None = None
    together: Callable[[Sequence[Piece], Context], Sequence[Mapping[str, Any]]] | None = None
    draw: Callable[[Mapping[str, Any], Path], None] | None = None

    def settings(self, scale: str) -> Settings:
        """Return the settings of one scale, or say which scales there are."""
        if scale not in self.scales:
            known = ", ".join(self.scales)
            raise OptionError(f"{self.paper} {self.figure} has no scale {scale!r}; it has {known}.")
        return self.scales[scale]


_REGISTRY: dict[tuple[str, str], Reproduction] = {}


def register(reproduction: Reproduction) -> Reproduction:
    """Make a reproduction known under its paper and figure, and return it."""
    _REGISTRY[reproduction.paper, reproduction.figure] = reproduction
    return reproduction


def available() -> tuple[Reproduction, ...]:
    """Return every reproduction that ships with the package, papers in order of name."""
    for module in _papers():
        importlib.import_module(f"{__package__}.{module}")
    return tuple(sorted(_REGISTRY.values(), key=lambda one: one.paper))


def find(paper: str, figure: str) -> Reproduction:
    """Return one reproduction, or say which there are."""
    module = paper.replace("-", "_")
    if module in _papers():
        importlib.import_module(f"{__package__}.{module}")
    if (paper, figure) not in _REGISTRY:
        known = ", ".join(f"{one.paper} {one.figure}" for one in available())
        raise OptionError(f"There is no reproduction {paper!r} {figure!r}; there are: {known}.")
    return _REGISTRY[paper, figure]


def find_all(paper: str, patterns: Sequence[str]) -> tuple[Reproduction, ...]:
    """Return the reproductions that are named, or match a pattern such as ``"fig*"``, each once."""
    figures = [one.figure for one in available() if one.paper == paper]
    chosen = [fnmatch.filter(figures, pattern) or [pattern] for pattern in patterns]
    return tuple(find(paper, figure) for figure in dict.fromkeys(chain.from_iterable(chosen)))


def expected(paper: str) -> dict[str, Any]:
    """Return the published numbers of a paper as its toml file has them, empty if there is none."""
    file = resources.files(__package__) / "expected" / f"{paper.replace('-', '_')}.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def _papers() -> list[str]:
    """Name the modules of this package that hold a paper: all but the machinery."""
    package = importlib.import_module(__package__)
    return [m.name for m in pkgutil.iter_modules(package.__path__) if m.name not in _MACHINERY]
