"""Modules stay short enough to be read at one sitting, and are named for their idea."""

from __future__ import annotations

from tests.house.imports import modules
from tests.house.lengths import HARD_LIMIT, longer_than


def test_no_module_passes_the_hard_limit():
    assert not longer_than(HARD_LIMIT)


def test_no_module_is_named_for_nothing():
    nameless = {"utils", "util", "helpers", "misc", "common"}
    assert not [name for name in modules() if name.rsplit(".", maxsplit=1)[-1] in nameless]
