"""The fused layers are as exact as torch's own operations in bfloat16; they run on a GPU alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch.nn.functional import leaky_relu

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


def of(x, layers, slope, grad, through):
    """The output of the layers, and the gradients of their weights."""
    y = through(x, layers, slope=slope)
    return [y, *torch.autograd.grad(y, [one for layer in layers for one in layer], grad)]


def plainly(x, layers, *, slope):
    *hidden, (weight, bias) = layers
    for one, other in hidden:
        x = leaky_relu(x @ one + other, slope)
    return x @ weight + bias


def operations(x, layers, *, slope):
    """Torch's own operations, which round to bfloat16 where the kernels do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused, "applies_to_layers", lambda *_: False)
        return mixed_layers(x, layers, slope=slope)


@needs_gpu
@pytest.mark.parametrize("n", [1, 130, 3072])
@pytest.mark.parametrize("widths", [[3, 5, 4, 2], WIDTHS, [31, 63, 700, 255, 1]])
def test_kernels_err_no_more_than_operations_that_round_as_often(n, widths):
    layers, x = drawn(widths), torch.randn(2, n, widths[0]).cuda()
    grad = torch.randn(2, n, widths[-1]).cuda()
    assert fused.applies_to_layers(x, [weight for weight, _ in layers])
    wide = [tuple(one.detach().double().requires_grad_() for one in layer) for layer in layers]
    exact = of(x.double(), wide, 0.1, grad.double(), plainly)
    found = (of(x, layers, 0.1, grad, through) for through in (mixed_layers, operations))
    for ours, theirs, truth in zip(*found, exact, strict=True):
        assert ours.shape == truth.shape
        assert (ours - truth).norm() <= 1.3 * (theirs - truth).norm() + 1e-6 * truth.norm()


@needs_gpu
def test_small_integers_come_out_exactly():
    layers = [
        tuple(one.sign().detach().requires_grad_() for one in la) for la in drawn([3, 5, 4, 2])
    ]
    x, grad = (torch.randint(-1, 2, (2, 7, d)).float().cuda() for d in (3, 2))
    found = (of(x, layers, 0.5, grad, through) for through in (mixed_layers, plainly))
    for ours, plain in zip(*found, strict=True):
        assert torch.equal(ours, plain)


@needs_gpu
def test_the_same_rows_give_the_same_bits():
    layers, x, grad = drawn(WIDTHS), torch.randn(2, 5000, 10).cuda(), torch.ones(2, 5000, 7).cuda()
    found = (of(x, layers, 0.01, grad, mixed_layers) for _ in "ab")
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_which_perceptrons_have_kernels():
    weights = [torch.empty(1, d, d_out) for d, d_out in pairwise(WIDTHS)]
    assert not fused.applies_to_layers(torch.ones(1, 2, 10), weights)  # on the CPU
