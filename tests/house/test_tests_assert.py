"""Every test can fail: it asserts, expects an error or a warning, or calls something that does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CHECKING_CALLS = ("assert", "raises", "warns", "check", "expect", "fail", "until")
SILENT_ERRORS = ("KeyboardInterrupt", "SystemExit")  # they carry no sentence to match


def all_tests(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def can_fail(test: ast.FunctionDef) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rsplit(".", maxsplit=1)[-1].lstrip("_")
            if called.startswith(CHECKING_CALLS):
                return True
    return False


def raises_without_match(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "pytest.raises":
            continue
        silent = node.args and ast.unparse(node.args[0]) in SILENT_ERRORS
        if not silent and not any(keyword.arg == "match" for keyword in node.keywords):
            yield node.lineno


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(TESTS.rglob("*.py")):
        yield path.relative_to(TESTS), ast.parse(path.read_text(encoding="utf-8"))


def test_every_test_can_fail():
    idle = [
        f"{p}:{t.lineno} {t.name}"
        for p, tree in sources()
        for t in all_tests(tree)
        if not can_fail(t)
    ]
    assert not idle, "\n".join(idle)


def test_every_expected_error_is_matched():
    # An error of the right class for the wrong reason is the commonest way for such a test to lie.
    loose = [f"{p}:{line}" for p, tree in sources() for line in raises_without_match(tree)]
    assert not loose, "\n".join(loose)


def test_the_check_itself_sees_an_idle_test():
    tree = ast.parse("def test_a():\n    f(1)\n\ndef test_b():\n    assert f(1)\n")
    assert [can_fail(test) for test in all_tests(tree)] == [False, True]
