"""What to type next: how to use the map that was found, and how to get this report again."""

from __future__ import annotations

import platform
import shlex
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samespace.compare import Comparison

_SUFFIXES = (".npy", ".parquet", ".safetensors")
_PACKAGES = ("samespace", "numpy", "scipy")


@dataclass(frozen=True)
class Recipe:
    """A few lines of code with what they are for."""

    title: str
    language: str
    code: str


def use_the_map(result: Comparison) -> list[Recipe]:
    """Code that applies the verdict's map; empty when the verdict names no map."""
    name = result.verdict.name
    if name in ("none", "undecided"):
        return []
    python = [] if name == "identity" else [Recipe("In Python", "python", _transform(result))]
    if not _are_files(result):
        return python
    old, new = (shlex.quote(str(label)) for label in result.names)
    gate = f"samespace gate {old} {new} --require {name}"
    apply = (
        f"samespace compare {old} {new} --save-map map.safetensors\n"
        f"samespace apply map.safetensors {old} mapped{Path(result.names[0]).suffix}"
    )
    shell = [
        Recipe("From the command line, for files of any size", "shell", apply),
        Recipe("In CI, after every retrain", "shell", gate),
    ]
    return python + (shell[1:] if name == "identity" else shell)


def reproduce(result: Comparison, *, command: str | None = None) -> list[Recipe]:
    """The call that gives the same comparison, and the command line if that is how it was made."""
    options = ", ".join(f"{key}={value!r}" for key, value in vars(result.settings).items())
    call = f"ss.compare({_arguments(result)}, {options})"
    recipes = [Recipe("In Python", "python", f"import samespace as ss\n\nresult = {call}")]
    if command is not None:
        recipes.insert(0, Recipe("This report was written by", "shell", command))
    return recipes


def versions() -> dict[str, str]:
    """Versions of what computed the numbers."""
    found = {package: _version(package) for package in _PACKAGES}
    return {**found, "python": platform.python_version(), "machine": platform.machine()}


def _transform(result: Comparison) -> str:
    name = result.verdict.name
    back = "new_in_old = found.inverse_transform(new_vectors)   # or new queries for the old index"
    return "\n".join(
        [
            "import samespace as ss",
            "",
            f"result = ss.compare({_arguments(result)})",
            f"found = result.{name}.map",
            "old_in_new = found.transform(old_vectors)   # an old index for new queries",
            *([back] if result.d_x == result.d_y else []),
            'found.save("map.safetensors")',
        ]
    )


def _arguments(result: Comparison) -> str:
    return ", ".join(repr(str(name)) for name in result.names) if _are_files(result) else "old, new"


def _are_files(result: Comparison) -> bool:
    """Whether the names are paths that a command line could take; else arrays were compared."""
    return all(Path(str(name)).suffix in _SUFFIXES for name in result.names)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "source tree"
