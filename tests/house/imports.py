"""Reads every import of the package from its syntax tree, wherever in a module it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True)
class Import:
    """One imported module: by whom, on which line, and when it happens."""

    importer: str
    imported: str
    line: int
    at_top: bool
    for_types: bool


def modules() -> dict[str, Path]:
    """Dotted name of every module of the package, with its file."""
    found = {}
    for path in sorted((SOURCE / "samespace").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> list[Import]:
    """Every import in one module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        Import(name, target, node.lineno, at_top, for_types)
        for node, at_top, for_types in _statements(tree.body, at_top=True, for_types=False)
        for target in _targets(node, known)
    ]


def _statements(
    body: list[ast.stmt], *, at_top: bool, for_types: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool, bool]]:
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, at_top, for_types
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        typed = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for block in _blocks(node):
            yield from _statements(
                block, at_top=at_top and not inside, for_types=for_types or typed
            )


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, None) or []
    for handler in getattr(node, "handlers", []):
        yield handler.body
    for case in getattr(node, "cases", []):
        yield case.body


def _targets(node: ast.Import | ast.ImportFrom, known: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    for alias in node.names:
        # `from samespace import errors` names a module; `from samespace.errors import ShapeError` does not.
        yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base
