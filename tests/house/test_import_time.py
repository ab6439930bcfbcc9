"""`import samespace` is light: NumPy and SciPy alone, in under half a second."""

from __future__ import annotations

import subprocess
import sys

from tests.house.imports import SOURCE, Import, imports, modules
from tests.house.rooms import LIGHT_PACKAGES

LIMIT_SECONDS = 0.5

# Processor time, so that a busy machine does not count; the best of three, so that a cold disk does not.
TIMER = f"""
import sys, time
sys.path.insert(0, {str(SOURCE)!r})
start = time.process_time()
import samespace
print(time.process_time() - start)
"""


def loaded_at_once(start: str) -> list[Import]:
    """Every import that happens when one module is imported, without running anything."""
    known, seen, waiting, found = modules(), set(), [start], []
    while waiting:
        name = waiting.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        ahead = [
            one for one in imports(name, known[name], known) if one.at_top and not one.for_types
        ]
        found += ahead
        waiting += [one.imported for one in ahead]
        waiting += [name.rsplit(".", maxsplit=1)[0]]
    return found


def test_import_takes_less_than_half_a_second():
    runs = [
        subprocess.run([sys.executable, "-c", TIMER], check=True, capture_output=True, text=True)
        for _ in range(3)
    ]
    assert min(float(run.stdout) for run in runs) < LIMIT_SECONDS


def test_import_loads_numpy_and_scipy_alone():
    light = LIGHT_PACKAGES | sys.stdlib_module_names
    heavy = [
        f"{one.importer}:{one.line} imports {one.imported}"
        for one in loaded_at_once("samespace")
        if one.imported.split(".")[0] not in light
    ]
    assert not heavy, "import these inside the function that needs them:\n" + "\n".join(heavy)
