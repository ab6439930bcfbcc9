"""The kernel that lifts rows does what array operations do, on a GPU or in Triton's interpreter."""

# ruff: noqa: E402 - the interpreter must be asked for before the kernel is imported

from __future__ import annotations

import os
from importlib.util import find_spec

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch, an optional library")
if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it comes with PyTorch for CUDA.", allow_module_level=True)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        pytest.skip("Triton's interpreter cannot loop under NumPy 2.4.", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernel is imported

import samespace as ss
from samespace.cuda.lift import lift
from tests.tolerances import rtol


@pytest.mark.parametrize("stored", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("d", [1, 5, 256, 300])
def test_rows_are_gathered_centred_rounded_and_measured(stored, precision, d):
    generator, dtype = torch.Generator().manual_seed(0), getattr(torch, precision)
    wide = torch.randn(20, d + 2, generator=generator) + 100.0
    side = wide.to(getattr(torch, stored)).to(DEVICE)[:, 1 : d + 1]  # rows apart from each other
    index = torch.tensor([3, -1, 0, 19, 3, 7, -1], device=DEVICE)
    pivot = (torch.randn(d, generator=generator, dtype=torch.float64) + 100.0).to(DEVICE)
    lifted = torch.full((7, d + 9), torch.nan, dtype=dtype, device=DEVICE)
    lift(side, index, pivot, lifted, start=3, norm=1)

    expected = (side.double()[index.clamp(min=0)] - pivot).to(dtype)
    expected[index < 0] = 0.0
    assert torch.equal(lifted[:, 3 : d + 3], expected)
    torch.testing.assert_close(
        lifted[:, 1].double(),
        expected.double().square().sum(1),
        rtol=rtol("exact", precision),
        atol=0.0,
    )
    # Nothing else was written.
    assert torch.isnan(lifted[:, [0, 2, *range(d + 3, d + 9)]]).all()


@pytest.mark.skipif(DEVICE == "cpu", reason="tensors on a GPU go through the kernel")
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_moments_on_a_gpu_are_those_of_the_host(rng, precision):
    X, Y = rng.standard_normal((5000, 40)) + 7.0, rng.standard_normal((5000, 30)) - 3.0
    host = ss.Moments.of(X, Y)
    device = ss.Moments.of(
        *(torch.from_numpy(side).to(DEVICE) for side in (X, Y)), precision=precision
    )
    scale = np.abs(host.Sxx).max()
    for name in ("Sxx", "Sxy", "Syy"):
        gap = np.abs(getattr(device, name) - getattr(host, name)).max()
        assert gap < rtol("exact", precision) * scale
    assert np.array_equal(device.reservoir.keys, host.reservoir.keys)
    assert np.array_equal(device.reservoir.x, host.reservoir.x)
