"""Every objective is its formula written out plainly, in values and in gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from samespace.errors import OptionError, ShapeError
from samespace.learn import logsumexp
from samespace.learn.contrastive import (
    Temperature,
    alignment,
    contrastive,
    in_batch,
    limit,
    uniformity,
)
from samespace.learn.similarity import DotProduct, PowerDistance
from tests.tolerances import atol, rtol

N, D = 9, 4


def plain(a, b, p):
    """One similarity of two vectors, written out."""
    return a @ b if p == 0 else -((a - b).abs() ** p).sum()


def written_out(anchors, positives, negatives, p, tau, skip_own):
    losses = []
    for i, anchor in enumerate(anchors):
        s_positive = plain(anchor, positives[i], p) / tau
        rest = [
            plain(anchor, n, p) / tau for j, n in enumerate(negatives) if j != i or not skip_own
        ]
        total = sum(s.exp() for s in rest) + s_positive.exp()
        losses.append(-(s_positive.exp() / total).log())
    return torch.stack(losses)


def similarity_of(p):
    return DotProduct() if p == 0 else PowerDistance(p)


def rows(*shape, seed=0):
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn.requires_grad_()


def gradients(loss, *inputs):
    return torch.autograd.grad((loss * torch.arange(1.0, loss.numel() + 1)).sum(), inputs)


def assert_same(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=rtol("exact"), atol=atol("exact"))


@pytest.fixture(autouse=True, params=[logsumexp.BLOCK, 3 * N, 1])
def block(request, monkeypatch):
    """Blocks of all rows, of three (the last one is whole), and of one."""
    monkeypatch.setattr(logsumexp, "BLOCK", request.param)


@pytest.mark.parametrize("p", [0, 1, 2, 3, 1.5])
@pytest.mark.parametrize("skip_own", [False, True])
def test_contrastive_is_its_formula(p, skip_own):
    a, b, tau = rows(N, D), rows(N, D, seed=1), torch.tensor(0.7).double().requires_grad_()
    ours = contrastive(a, b, a, similarity=similarity_of(p), temperature=tau, skip_own=skip_own)
    theirs = written_out(a, b, a, p, tau, skip_own)
    assert_same(ours, theirs)
    assert_same(gradients(ours, a, b, tau), gradients(theirs, a, b, tau))


@pytest.mark.parametrize("p", [0, 1, 3])
def test_sampled_negatives_shared_or_of_each_row(p):
    a, b, s = rows(N, D), rows(N, D, seed=1), rows(5, D, seed=2)
    shared = contrastive(a, b, s, similarity=similarity_of(p), temperature=0.7)
    assert_same(shared, written_out(a, b, s, p, 0.7, False))
    own = contrastive(a, b, s.expand(N, 5, D), similarity=similarity_of(p), temperature=0.7)
    assert_same(own, shared)
    assert_same(gradients(own, a, b, s), gradients(shared, a, b, s))


def test_several_positives_share_the_denominator():
    a, b, s = rows(N, D), rows(N, 2, D, seed=1), rows(5, D, seed=2)
    expected = []
    for i in range(N):
        pos = torch.stack([plain(a[i], b[i, q], 0) for q in range(2)])
        neg = torch.stack([plain(a[i], n, 0) for n in s])
        expected.append(-(pos - torch.cat([pos, neg]).logsumexp(0)).mean())
    ours = contrastive(a, b, s)
    assert_same(ours, torch.stack(expected))
    assert_same(gradients(ours, a, b, s), gradients(torch.stack(expected), a, b, s))


@pytest.mark.parametrize("p", [0, 1])
def test_positives_apart_are_as_many_pairs(p):
    a, b, s = rows(N, D), rows(N, 2, D, seed=1), rows(5, D, seed=2)
    options = {"similarity": similarity_of(p), "temperature": 0.7}
    ours = contrastive(a, b, s, apart=True, **options)
    expected = torch.stack([contrastive(a, b[:, q], s, **options) for q in range(2)]).mean(0)
    assert_same(ours, expected)
    assert_same(gradients(ours, a, b, s), gradients(expected, a, b, s))


@pytest.mark.parametrize("p", [0, 2, 3])
def test_in_batch_is_a_softmax_over_the_batch(p):
    a, b = rows(N, D), rows(N, D, seed=1)
    table = torch.stack([torch.stack([plain(x, y, p) for y in b]) for x in a]) / 0.5
    to_b, to_a = -table.log_softmax(1).diagonal(), -table.log_softmax(0).diagonal()
    one_way = in_batch(a, b, similarity=similarity_of(p), temperature=0.5)
    both = in_batch(a, b, similarity=similarity_of(p), temperature=0.5, symmetric=True)
    assert_same(one_way, to_b)
    assert_same(both, 0.5 * (to_b + to_a))
    assert_same(gradients(both, a, b), gradients(0.5 * (to_b + to_a), a, b))


def test_a_similarity_of_ones_own_with_weights():
    a, b, weight = rows(N, D), rows(N, D, seed=1), rows(D, D, seed=2)

    class Bilinear(nn.Module):
        def forward(self, x, y):
            return x @ weight @ y.mT

    ours = contrastive(a, b, a, similarity=Bilinear(), temperature=0.7, skip_own=True)
    theirs = contrastive(a @ weight, b, a, skip_own=True, temperature=0.7)
    assert_same(ours, theirs)
    assert_same(gradients(ours, a, b, weight), gradients(theirs, a, b, weight))
    both = in_batch(a, b, similarity=Bilinear(), symmetric=True)
    assert_same(both, in_batch(a @ weight, b, symmetric=True))


@pytest.mark.parametrize("p", [0, 1, 2])
def test_members_are_apart(p):
    a, b, tau = rows(2, N, D), rows(2, N, D, seed=1), torch.tensor([0.5, 2.0]).double()
    ours = contrastive(a, b, a, similarity=similarity_of(p), temperature=tau)
    for k in range(2):
        assert_same(ours[k], written_out(a[k], b[k], a[k], p, tau[k], False))
    [grad] = torch.autograd.grad(ours[0].sum(), a)
    assert not grad[1].any()


def test_temperature_is_learnt_through_its_logarithm():
    tau = Temperature(2, start=0.5).double()
    torch.testing.assert_close(tau(), torch.full((2,), 0.5).double(), rtol=1e-6, atol=0)
    a, b = rows(2, N, D), rows(2, N, D, seed=1)
    contrastive(a, b, a, temperature=tau()).mean(-1).sum().backward()
    assert (tau.log.grad != 0).all()


def test_alignment_and_uniformity_are_their_formulas():
    a, b = rows(N, D), rows(N, D, seed=1)
    assert_same(alignment(a, b), ((a - b) ** 2).sum(1).mean())
    assert_same(alignment(a, b, power=3.0), ((a - b) ** 2).sum(1).sqrt().pow(3).mean())
    ours, theirs = uniformity(a, t=1.5), (-1.5 * nn.functional.pdist(a) ** 2).exp().mean().log()
    assert_same(ours, theirs)
    assert_same(torch.autograd.grad(ours, a), torch.autograd.grad(theirs, a))


@pytest.mark.parametrize("p", [0, 2])
def test_limit_is_alignment_plus_log_mean(p):
    a, b, s = rows(N, D), rows(N, D, seed=1), rows(20, D, seed=2)
    align, uniform = limit(a, b, s, similarity=similarity_of(p), temperature=0.5)
    table = torch.stack([torch.stack([plain(x, y, p) for y in s]) for x in a]) / 0.5
    assert_same(uniform, table.exp().mean(1).log().mean())
    assert_same(
        align, -torch.stack([plain(x, y, p) for x, y in zip(a, b, strict=True)]).mean() / 0.5
    )


def test_far_rows_neither_overflow_nor_vanish():
    a = (1e3 + rows(N, D).detach().float() * 30).requires_grad_()
    for p in (1, 2, 3):
        loss = contrastive(a, a + 0.01, a, similarity=PowerDistance(p), skip_own=True)
        [grad] = torch.autograd.grad(loss.sum(), a)
        assert loss.isfinite().all()
        assert grad.isfinite().all()


def test_errors_say_what_to_do():
    a = torch.zeros(2, 5, 3)
    with pytest.raises(ShapeError, match="Anchors"):
        contrastive(a, a[:, :4], a)
    with pytest.raises(ShapeError, match="as many shared negatives as rows"):
        contrastive(a, a, a[:, :4], skip_own=True)
    with pytest.raises(ShapeError, match="one positive per anchor"):
        in_batch(a, a[:, :4])
    with pytest.raises(ShapeError, match="at least 2 are needed"):
        uniformity(a[:, :1])
    with pytest.raises(ShapeError, match=r"one per member \(2,\); got \(3,\)"):
        contrastive(a, a, a, temperature=torch.ones(3))
    with pytest.raises(OptionError, match="positive; got -1"):
        contrastive(a, a, a, temperature=-1)
    with pytest.raises(OptionError, match="positive; got start=0"):
        Temperature(1, start=0)
    with pytest.raises(OptionError, match="p >= 1"):
        PowerDistance(0.5)


def test_written_out_example():
    assert float(contrastive(torch.eye(2), torch.eye(2), torch.eye(2))[0]) == pytest.approx(
        -1 + math.log(2 * math.e + 1)
    )
