"""Imports go one way: each room knows the floors below it, torch stays in the rooms that train."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from tests.house.imports import Import, imports, modules
from tests.house.rooms import (
    FLOOR,
    TORCH_MODULES_OF_FAMILY,
    TORCH_PACKAGES,
    TORCH_ROOMS,
    UPWARDS_INSIDE_FUNCTIONS,
    room,
)

MODULES = modules()
ALL = [found for name, path in MODULES.items() for found in imports(name, path, MODULES)]
OURS = [found for found in ALL if found.imported.split(".")[0] == "samespace"]


def where(found: Import) -> str:
    return f"{found.importer}:{found.line} imports {found.imported}"


def shows_itself(found: Import) -> bool:
    rooms = (room(found.importer), room(found.imported))
    return rooms in UPWARDS_INSIDE_FUNCTIONS and not found.at_top


def test_every_room_stands_in_the_table():
    rooms = {room(name) for name in MODULES} - {""}
    assert rooms <= FLOOR.keys(), f"add to tests/house/rooms.py: {sorted(rooms - FLOOR.keys())}"


def test_rooms_import_downwards_only():
    wrong = [
        where(found)
        for found in OURS
        if room(found.importer) in FLOOR
        and FLOOR.get(room(found.imported), -1) > FLOOR[room(found.importer)]
        and not shows_itself(found)
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_package_itself_re_exports():
    # A room that imports `samespace` itself would load, and depend on, every room above it.
    wrong = [
        where(found)
        for found in OURS
        if found.imported == "samespace" and room(found.importer) not in {"", "cli", "reproduce"}
    ]
    assert not wrong, "\n".join(wrong)


def test_no_two_modules_import_each_other():
    at_top = [found for found in OURS if found.at_top and not found.for_types]
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in at_top:
        # A package's __init__ gathers its own modules; they name each other, not the package.
        if not found.imported.startswith(found.importer + "."):
            graph[found.importer].add(found.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None
    assert graph


def test_torch_stays_in_its_rooms():
    wrong = [
        where(found)
        for found in ALL
        if found.imported.split(".")[0] in TORCH_PACKAGES
        and not found.for_types
        and room(found.importer) not in TORCH_ROOMS
        and not found.importer.startswith(TORCH_MODULES_OF_FAMILY)
    ]
    assert not wrong, "\n".join(wrong)
