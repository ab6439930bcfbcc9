"""Nothing in the repository names a machine, a home folder or a package registry's host."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GIT_LISTS_FILES = (ROOT / ".git").exists()

# Written in pieces, so that this file passes its own check.
FORBIDDEN = {
    "a home or work folder": re.compile(r"(?<![\w.])/(?:home|Users|root|work)/\w"),
    "a machine's package folder": re.compile(r"(?<![\w.])/opt/(?:pypi|wheels)"),
    "a registry's host": re.compile(
        r"(?:pypi\.|files\.python"
        + r"hosted\.|registry\.npm"
        + r"js\.|deb\.deb"
        + r"ian\.)(?:org|io|net)"
    ),
    "a package index": re.compile(r"https?://[^\s)\"]*/simple\b|--(?:extra-)?index-url"),
}
TEXT_LIMIT = 2_000_000


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def lines(path: Path) -> list[str]:
    if not path.is_file() or path.stat().st_size > TEXT_LIMIT:
        return []
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


@pytest.mark.skipif(not GIT_LISTS_FILES, reason="not a git checkout: there is no list of files")
def test_no_file_names_a_machine_or_a_registry():
    found = [
        f"{path.relative_to(ROOT)}:{number} names {what}"
        for path in tracked()
        if path != Path(__file__).resolve()
        for number, line in enumerate(lines(path), start=1)
        for what, pattern in FORBIDDEN.items()
        if pattern.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line", ["/home" + "/ann/data", "see https://pypi" + ".org/p", "http://host/" + "simple/x"]
)
def test_the_check_itself_sees_an_address(line):
    assert any(pattern.search(line) for pattern in FORBIDDEN.values())
