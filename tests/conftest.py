"""What every test gets: one BLAS thread, fixed seeds, a headless plot backend, and the shared data."""

from __future__ import annotations

import os

# Before NumPy is imported: pytest-xdist runs one worker a core, and BLAS threads on top only contend.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# Tokenisers fork beside xdist's workers and would warn; hubs cannot be reached from a test.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import random
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"

# No deadline: a shared machine stalls now and then. Derandomised: a red run can be run again.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


@pytest.fixture
def shared_data() -> Path:
    """Folder of real data beside the checkout; the test is skipped where there is none."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs ../shared/data, which is absent here")
    return SHARED_DATA


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of the test's own: the same in every run, others in every test."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _fixed_global_seeds() -> None:
    """Peers' packages draw from global state; samespace itself does not."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (the legacy state is the one that peers draw from)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="needs torch, an optional library")
