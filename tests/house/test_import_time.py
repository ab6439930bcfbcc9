"""`import samespace` is light: NumPy and SciPy alone, in under half a second."""

from __future__ import annotations

import subprocess
import sys

from tests.house.imports import SOURCE
from tests.house.rooms import LIGHT_PACKAGES

LIMIT_SECONDS = 0.5

# Processor time, so that a busy machine does not count; the best of three, so that a cold disk does not.
TIMER = """
import time
start = time.process_time()
import samespace
print(time.process_time() - start)
"""

LISTER = """
import sys, sysconfig
before = set(sys.modules)
import samespace
site = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
for name in sorted(set(sys.modules) - before):
    origin = getattr(sys.modules[name], "__file__", None) or ""
    if "." not in name and any(origin.startswith(folder) for folder in site):
        print(name)
"""


def python(code: str) -> str:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{code}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_import_takes_less_than_half_a_second():
    seconds = min(float(python(TIMER)) for _ in range(3))
    assert seconds < LIMIT_SECONDS


def test_import_loads_numpy_and_scipy_alone():
    loaded = set(python(LISTER).split())
    assert loaded <= LIGHT_PACKAGES, f"imported at the top of a module: {loaded - LIGHT_PACKAGES}"
