"""Wide layers are the plain ones but for the rounding of bfloat16, forwards and backwards."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch.nn.functional import leaky_relu

from samespace.errors import OptionError
from samespace.learn.encoders import StackedMLP
from samespace.learn.wide_layers import wide_layers


def drawn(k, widths, *, exact):
    """Layers of small integers are exact in bfloat16; others are not."""
    generator = torch.Generator().manual_seed(0)
    layers = []
    for d, d_out in pairwise(widths):
        weight = torch.randn(k, d, d_out, generator=generator)
        bias = torch.randn(k, 1, d_out, generator=generator)
        layers.append((weight.sign(), bias.round()) if exact else (weight / d**0.5, 0.1 * bias))
    return [tuple(one.requires_grad_() for one in layer) for layer in layers]


def plainly(x, layers, slope):
    for weight, bias in layers:
        x = leaky_relu(x @ weight + bias, slope)
    return x


def both(x, layers, slope, grad):
    leaves = [x, *[one for layer in layers for one in layer]]
    found = []
    for function in (
        lambda: wide_layers(x, layers, slope=slope),
        lambda: plainly(x, layers, slope),
    ):
        y = function()
        found.append([y, *torch.autograd.grad(y, leaves, grad)])
    return zip(*found, strict=True)


# 63 units and the 1 fill a row of 64 exactly; 3072 rows are cut into parts.
@pytest.mark.parametrize(("n", "widths"), [(5, [3, 4]), (7, [63, 2]), (3072 * 2, [5, 6, 3])])
def test_exact_numbers_come_out_exactly(n, widths):
    layers = drawn(2, widths, exact=True)
    x = torch.randint(-1, 2, (2, n, widths[0])).float().requires_grad_()
    grad = torch.randint(-1, 2, (2, n, widths[-1])).float()
    for ours, plain in both(x, layers, 0.5, grad):
        assert ours.shape == plain.shape
        # Sums of few rows stay below 2^8, which bfloat16 holds; of many rows it rounds the partial sums.
        off = 0.0 if n < 100 else 2**-8 * float(plain.detach().abs().max())
        torch.testing.assert_close(ours, plain, rtol=0.0, atol=off)


def test_others_differ_by_the_rounding():
    layers = drawn(2, [20, 50, 50, 10], exact=False)
    x = torch.randn(2, 4000, 20, requires_grad=True)
    _, one_row, *weights = both(x, layers, 0.01, torch.ones(2, 4000, 10))
    # A unit near zero may change its side, and then its slope; over rows that averages out.
    assert (one_row[0] - one_row[1]).norm() < 0.1 * one_row[1].norm()
    for ours, plain in weights:
        assert (ours - plain).norm() < 0.02 * plain.norm()
    y = wide_layers(x, layers, slope=0.01)
    assert 1e-4 < float((y - plainly(x, layers, 0.01)).detach().norm() / y.detach().norm()) < 2**-7


def test_encoders_are_exact_when_they_are_judged():
    plain, halved = (
        StackedMLP([0, 1], [4, 16, 16, 3], precision=precision)
        for precision in ("float32", "bfloat16")
    )
    x = torch.randn(2, 50, 4)
    assert torch.equal(plain(x), halved.eval()(x))
    assert not torch.equal(plain(x), halved.train()(x))
    torch.testing.assert_close(plain(x), halved(x), rtol=0.05, atol=0.01)
    with pytest.raises(OptionError, match="got precision='float16'"):
        StackedMLP([0], [2, 3], precision="float16")
