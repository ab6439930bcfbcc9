"""The fused layers are torch's own operations, roundings included; they run on a GPU alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from samespace.learn import fused
from samespace.learn.wide_layers import mixed_layers

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="these kernels need a GPU")
WIDTHS = [10, 100, 500, 500, 100, 7]


def drawn(widths, k=2):
    generator = torch.Generator().manual_seed(0)
    layers = []
    for d, d_out in pairwise(widths):
        weight, bias = (torch.randn(k, rows, d_out, generator=generator) for rows in (d, 1))
        layers.append((weight / d**0.5, 0.1 * bias))
    return [tuple(one.cuda().requires_grad_() for one in layer) for layer in layers]


def both(x, layers, slope, grad, monkeypatch):
    """The kernels, and torch's own operations with the same roundings."""
    leaves, found = [one for layer in layers for one in layer], []
    assert fused.applies_to_layers(x, [weight for weight, _ in layers])
    for kernels in (True, False):
        with monkeypatch.context() as patch:
            if not kernels:
                patch.setattr(fused, "applies_to_layers", lambda *_: False)
            y = mixed_layers(x, layers, slope=slope)
        found.append([y, *torch.autograd.grad(y, leaves, grad)])
    return zip(*found, strict=True)


@needs_gpu
@pytest.mark.parametrize("n", [1, 130, 3072])
@pytest.mark.parametrize("widths", [[3, 5, 4, 2], WIDTHS, [31, 63, 700, 255, 1]])
def test_kernels_are_the_plain_operations(n, widths, monkeypatch):
    layers, x = drawn(widths), torch.randn(2, n, widths[0]).cuda()
    for ours, plain in both(x, layers, 0.1, torch.randn(2, n, widths[-1]).cuda(), monkeypatch):
        assert ours.shape == plain.shape
        # Sums in another order may round to the next bfloat16, by 2^-8, and a unit at 0 change its side.
        assert (ours - plain).norm() < 2**-7 * plain.norm()


@needs_gpu
def test_small_integers_come_out_exactly(monkeypatch):
    layers = [
        tuple(one.sign().detach().requires_grad_() for one in la) for la in drawn([3, 5, 4, 2])
    ]
    x, grad = (torch.randint(-1, 2, (2, 7, d)).float().cuda() for d in (3, 2))
    for ours, plain in both(x, layers, 0.5, grad, monkeypatch):
        assert torch.equal(ours, plain)


@needs_gpu
def test_the_same_rows_give_the_same_bits(monkeypatch):
    layers, x, grad = drawn(WIDTHS), torch.randn(2, 5000, 10).cuda(), torch.ones(2, 5000, 7).cuda()
    found = [[ours for ours, _ in both(x, layers, 0.01, grad, monkeypatch)] for _ in "ab"]
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_which_perceptrons_have_kernels():
    weights = [torch.empty(1, d, d_out) for d, d_out in pairwise(WIDTHS)]
    assert not fused.applies_to_layers(torch.ones(1, 2, 10), weights)  # on the CPU
