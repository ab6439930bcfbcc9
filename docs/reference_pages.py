"""Writes the reference: a page per room from its own list of public names, so that none is missed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parent / "reference"

ROOMS = {
    "samespace": "Compare",
    "samespace.maps": "Maps",
    "samespace.measures": "Measures",
    "samespace.errors": "Errors",
    "samespace.family": "The canonical family",
    "samespace.theory": "Theory",
    "samespace.worlds": "Worlds",
    "samespace.worlds.nielsen": "Worlds: pairs written down by hand",
    "samespace.worlds.modular": "Worlds: modular addition",
    "samespace.learn": "Learning",
    "samespace.metrics": "Metrics for training loops",
    "samespace.estimators": "Estimators for scikit-learn",
    "samespace.migrate": "Migration",
    "samespace.report.figures": "Figures",
    "samespace.reproduce": "Reproductions",
}


def write_pages() -> None:
    """Write the pages, each object on one of them alone, and drop those of objects that are gone."""
    seen: set[int] = set()
    listed: set[str] = set()
    for room, title in ROOMS.items():
        names = [name for name, thing in public(room) if _is_new(thing, seen)]
        listed |= {f"{room}.{name}" for name in names}
        _write(FOLDER / f"{room}.rst", page(room, title, names))
    for generated in (FOLDER / "generated").glob("*.rst"):
        if generated.stem not in listed:
            generated.unlink()


def public(room: str) -> list[tuple[str, Any]]:
    """Public names of a room, relative to it, with what they name."""
    module = importlib.import_module(room)
    if listed := getattr(module, "__all__", None):
        return [(name, getattr(module, name)) for name in sorted(listed, key=str.lower)]
    found = _defined_in(module, prefix="")
    for part in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not part.name.startswith("_"):
            inner = importlib.import_module(f"{room}.{part.name}")
            found += _defined_in(inner, prefix=f"{part.name}.")
    return found


def page(room: str, title: str, names: list[str]) -> str:
    """One page, as reStructuredText."""
    listing = "".join(f"   {name}\n" for name in names)
    return (
        f"{title}\n{'=' * len(title)}\n\n*{room}*\n\n.. currentmodule:: {room}\n\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listing}"
    )


def _defined_in(module: ModuleType, *, prefix: str) -> list[tuple[str, Any]]:
    return [
        (prefix + name, thing)
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    ]


def _is_new(thing: Any, seen: set[int]) -> bool:
    documented = not inspect.ismodule(thing) and id(thing) not in seen
    seen.add(id(thing))
    return documented


def _write(path: Path, text: str) -> None:
    # An unchanged page keeps its time stamp, so that Sphinx does not build it again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
