"""The fused layers are the plain ones but for the rounding of bfloat16; they run on a GPU alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch.nn.functional import leaky_relu

from samespace.learn import fused
from samespace.learn.wide_layers import mixed_layers

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="these kernels need a GPU")
WIDTHS = [10, 100, 500, 500, 100, 7]


def drawn(widths, *, exact, k=2):
    """Small integers are exact in bfloat16, and so are their sums below 2^8; others are not."""
    generator = torch.Generator().manual_seed(0)
    layers = []
    for d, d_out in pairwise(widths):
        weight, bias = (torch.randn(k, rows, d_out, generator=generator) for rows in (d, 1))
        sparse = torch.rand(k, d, d_out, generator=generator) < 2.0 / d
        weight = weight.sign() * sparse if exact else weight / d**0.5
        layers.append((weight, bias.round() if exact else 0.1 * bias))
    return [tuple(one.cuda().requires_grad_() for one in layer) for layer in layers]


def plainly(x, layers, slope):
    *hidden, (weight, bias) = layers
    for one, other in hidden:
        x = leaky_relu(x @ one + other, slope)
    return x @ weight + bias


def both(x, layers, slope, grad):
    leaves = [one for layer in layers for one in layer]
    ours, plain = mixed_layers(x, layers, slope=slope), plainly(x, layers, slope)
    return zip(
        [ours, *torch.autograd.grad(ours, leaves, grad)],
        [plain, *torch.autograd.grad(plain, leaves, grad)],
        strict=True,
    )


@needs_gpu
@pytest.mark.parametrize("n", [1, 130, 3072])
@pytest.mark.parametrize("widths", [[3, 5, 4, 2], WIDTHS, [31, 63, 700, 255, 1]])
def test_exact_numbers_come_out_exactly(n, widths):
    layers = drawn(widths, exact=True)
    x = torch.randint(-1, 2, (2, n, widths[0])).float().cuda()
    grad = torch.randint(-1, 2, (2, n, widths[-1])).float().cuda()
    assert fused.applies_to_layers(x, [weight for weight, _ in layers])
    for ours, plain in both(x, layers, 0.5, grad):
        assert ours.shape == plain.shape
        # Values, and sums over rows, that grow beyond 2^8 are rounded.
        off = 2**-7 * float(plain.detach().abs().max())
        torch.testing.assert_close(ours, plain, rtol=0.0, atol=off if off > 2.0 else 0.0)


@needs_gpu
def test_others_differ_by_the_rounding():
    layers, x = drawn(WIDTHS, exact=False), torch.randn(2, 5000, 10).cuda()
    for ours, plain in both(x, layers, 0.01, torch.randn(2, 5000, 7).cuda()):
        assert 1e-4 * plain.norm() < (ours - plain).norm() < 0.02 * plain.norm()


@needs_gpu
def test_the_same_rows_give_the_same_bits():
    layers, x = drawn(WIDTHS, exact=False), torch.randn(2, 5000, 10).cuda()
    found = [[one for one, _ in both(x, layers, 0.01, torch.ones(2, 5000, 7).cuda())] for _ in "ab"]
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_which_perceptrons_have_kernels():
    weights = [torch.empty(1, d, d_out) for d, d_out in pairwise(WIDTHS)]
    assert not fused.applies_to_layers(torch.ones(1, 2, 10), weights)  # on the CPU
