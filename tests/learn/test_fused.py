"""The fused kernels are the plain formula, in values and gradients, on a GPU or in Triton's interpreter."""

# ruff: noqa: E402 - the interpreter must be asked for before the kernels are imported

from __future__ import annotations

import math
import os
from importlib.util import find_spec

import numpy as np
import pytest
import torch

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it comes with PyTorch for CUDA.", allow_module_level=True)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        pytest.skip("Triton's interpreter cannot loop under NumPy 2.4.", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are imported

from samespace.learn import fused
from samespace.learn.contrastive import contrastive
from samespace.learn.fused import launch
from samespace.learn.fused.launch import Plan
from samespace.learn.logsumexp import logsumexp_rows
from samespace.learn.similarity import DotProduct, PowerDistance
from tests.tolerances import atol, rtol

pytestmark = [
    pytest.mark.filterwarnings("ignore:Conversion of an array with ndim:DeprecationWarning"),
    # Numbers of the interpreter that are infinite on purpose, such as the row left out.
    pytest.mark.filterwarnings("ignore::RuntimeWarning:triton"),
]


def plain(a, b, p, temperature, skip_own):
    """Every pair, written out."""
    apart = a[..., :, None, :] - b[..., None, :, :]
    s = a @ b.mT if p == 0 else -apart.abs().pow(p).sum(-1)
    s = s / temperature[..., None, None]
    if skip_own:
        own = torch.eye(*s.shape[-2:], dtype=torch.bool, device=s.device)
        s = s.masked_fill(own, -torch.inf)
    return s.logsumexp(-1)


def similarity_of(p):
    return DotProduct() if p == 0 else PowerDistance(p)


def drawn(*shape, seed=0):
    """Rows that lie close: every pair weighs, and a row's own does not drown the others."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def both(a, b, p, temperature, skip_own):
    """Values and gradients of the kernels, and of the formula in float64; b None stands for a."""
    found = []
    for dtype in (torch.float32, torch.float64):
        one, tau = (x.to(dtype).requires_grad_() for x in (a, temperature))
        other = one if b is None else b.to(dtype).requires_grad_()
        inputs = (one, tau) if b is None else (one, other, tau)
        if dtype == torch.float32:
            out = fused.logsumexp_rows(one, other, similarity_of(p), tau, skip_own)
        else:
            out = plain(one, other, p, tau, skip_own)
        weight = torch.linspace(-1.0, 2.0, out.numel(), dtype=dtype, device=DEVICE)
        grads = torch.autograd.grad((out.reshape(-1) * weight).sum(), inputs)
        found.append((out, *grads))
    return found


def assert_same(ours, theirs):
    for x, y in zip(ours, theirs, strict=True):
        torch.testing.assert_close(
            x.double(), y, rtol=rtol("exact", "float32"), atol=atol("exact", "float32")
        )


@pytest.mark.parametrize("p", [0, 1, 2, 3])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("skip_own", [False, True])
def test_kernels_are_their_formula(p, symmetric, skip_own):
    a, tau = drawn(2, 37, 10), torch.tensor([0.4, 1.5], device=DEVICE)
    b = None if symmetric else drawn(2, 37, 10, seed=1)
    ours, theirs = both(a, b, p, tau, skip_own)
    assert_same(ours, theirs)
    relative = (ours[1] - theirs[1]).norm() / theirs[1].norm()
    assert relative < 1e-5


@pytest.mark.parametrize("p", [0, 1, 2, 3])
@pytest.mark.parametrize("d", [1, 3, 17])
def test_rows_of_other_lengths_and_numbers(p, d):
    a, b = drawn(1, 5, d), drawn(1, 23, d, seed=1)
    assert_same(*both(a, b, p, torch.ones(1, device=DEVICE), False))


@pytest.mark.parametrize("p", [0, 2])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("skip_own", [False, True])
def test_wide_rows_on_tensor_cores(p, symmetric, skip_own):
    a, b = drawn(2, 37, 40), None if symmetric else drawn(2, 37, 40, seed=1)
    assert_same(*both(a, b, p, torch.tensor([4.0, 6.0], device=DEVICE), skip_own))


def test_coordinates_that_tie_have_no_slope():
    a = drawn(1, 9, 4)
    a[:, :, 0] = 1.0  # a box's wall
    b = drawn(1, 8, 4, seed=1)
    b[:, :, 0] = 1.0
    ours, theirs = both(a, b, 1, torch.ones(1, device=DEVICE), False)
    assert_same(ours, theirs)
    assert not ours[1][..., 0].any()
    assert not ours[2][..., 0].any()


def test_parts_of_the_others_add_up(monkeypatch):
    a, scale = drawn(2, 50, 4), torch.full((2,), math.log2(math.e), device=DEVICE)
    whole, parts = Plan(1, 4, 1, programs=1), Plan(2, 2, 1, programs=1000)
    monkeypatch.setattr(launch, "_FEWEST", 8)
    lse, natural = launch.logsumexp(a, a, scale, 3, False, parts)
    assert_same([natural], [plain(*[a.double()] * 2, 3, torch.ones(2, device=DEVICE), False)])
    by = lse, torch.rand_like(lse)
    one, several = (launch.gradient(a, a, scale, by, by, 3, False, plan) for plan in (whole, parts))
    assert_same([several], [one.double()])


def test_members_that_do_not_follow_each_other_are_read_where_they_lie():
    halves = drawn(2, 20, 10)
    a, b = halves.chunk(2, dim=1)
    assert_same(*both(a, b, 2, torch.ones(2, device=DEVICE), False))
    assert_same(*both(halves[..., 1:7], None, 2, torch.ones(2, device=DEVICE), False))


def test_a_shift_of_far_rows_costs_no_digits():
    a, tau = drawn(1, 20, 4), torch.ones(1, device=DEVICE)
    shifted = a + 1024.0  # the same differences, as far as float32 can tell the rows
    ours, theirs = both(shifted, None, 2, tau, False)
    torch.testing.assert_close(ours[0].double(), theirs[0], rtol=1e-6, atol=1e-6)


def test_which_rows_have_kernels():
    assert fused.covers(PowerDistance(3.0), 32)
    assert fused.covers(DotProduct(), 126)
    assert not fused.covers(PowerDistance(3.0), 33)
    assert not fused.covers(PowerDistance(1.5), 3)
    assert not fused.covers(DotProduct(), 127)
    assert not fused.applies(torch.ones(2, 2), torch.ones(2, 2), DotProduct())


@pytest.mark.skipif(DEVICE == "cpu", reason="which device rows are on decides who serves them")
@pytest.mark.parametrize("p", [0, 1, 2, 3])
def test_objectives_on_a_gpu_go_through_the_kernels(p):
    a, b = drawn(2, 700, 10).requires_grad_(), drawn(2, 700, 10, seed=1).requires_grad_()
    wide = [x.detach().double().requires_grad_() for x in (a, b)]
    ours = contrastive(a, b, a, similarity=similarity_of(p), temperature=0.5)
    theirs = contrastive(wide[0], wide[1], wide[0], similarity=similarity_of(p), temperature=0.5)
    assert "FusedLogSumExp" in str(_names(ours))
    grads = torch.autograd.grad(ours.sum(), (a, b)), torch.autograd.grad(theirs.sum(), wide)
    assert_same([ours, *grads[0]], [theirs, *grads[1]])


@pytest.mark.skipif(DEVICE == "cpu", reason="a CUDA graph needs a GPU")
def test_a_graph_captures_value_and_gradient():
    a, tau = drawn(2, 500, 10).requires_grad_(), torch.ones(2, device=DEVICE)

    def run():
        out = logsumexp_rows(a, a, similarity=PowerDistance(1.0), temperature=tau)
        return out, *torch.autograd.grad(out.sum(), a)

    # As torch asks: what is captured has run before, on the stream that captures it.
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        expected = [x.clone() for x in run()]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=beside):
        recorded = run()
    graph.replay()
    for x, y in zip(recorded, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=0, atol=0)


def _names(value):
    """Return the nodes of a value's graph by name."""
    seen, left = [], [value.grad_fn]
    while left:
        node = left.pop()
        if node is not None:
            seen.append(node.name())
            left.extend(one for one, _ in node.next_functions)
    return seen
