"""Reductions of models made of plain functions: the adapter's log-probabilities are the original
loss, to rounding.

Every original loss is written out with PyTorch's own losses and layers, none of which the adapters
use.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

from samespace.errors import OptionError, ShapeError  # noqa: E402
from samespace.family import (  # noqa: E402
    PerSample,
    classifier,
    cpc,
    n_pair,
    nplm,
    others,
    quick_thought,
    simclr,
    two_tower,
)
from tests.tolerances import atol  # noqa: E402

EXACT = atol("exact")


@pytest.fixture(autouse=True)
def _double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def frozen(*layers):
    return nn.Sequential(*layers).requires_grad_(False)


@pytest.mark.parametrize("bias", [False, True])
def test_classifier(bias):
    backbone, head = (
        frozen(nn.Linear(6, 4), nn.Tanh()),
        nn.Linear(4, 5, bias=bias).requires_grad_(False),
    )
    x, y = torch.randn(30, 6), torch.randint(5, (30,))
    model = classifier(backbone, head.weight, head.bias)
    loss = F.cross_entropy(head(backbone(x)), y).item()
    assert -model.log_likelihood(x, y).mean() == pytest.approx(loss, abs=EXACT)
    assert model.dim == 4 + bias
    assert model.bias is bias


def test_cpc():
    """The InfoNCE loss of van den Oord et al. 2018, Eq. 4, with the density ratio exp(z' W c)."""
    recurrent = nn.GRU(3, 7, batch_first=True).requires_grad_(False)
    encoder, W = frozen(nn.Linear(4, 5), nn.ReLU()), torch.randn(5, 7)
    past, future = torch.randn(12, 6, 3), torch.randn(12, 4)
    c, z = recurrent(past)[0][:, -1], encoder(future)
    ratio = torch.stack([torch.stack([z_j @ W @ c_t for z_j in z]) for c_t in c])
    loss = F.cross_entropy(ratio, torch.arange(12)).item()
    model = cpc(lambda x: recurrent(x)[0][:, -1], encoder, W)
    assert -model.log_likelihood(past, np.arange(12), future).mean() == pytest.approx(
        loss, abs=EXACT
    )


def test_quick_thought_with_candidates_of_the_batch_and_of_each_sentence():
    f, g = frozen(nn.Linear(6, 4), nn.Tanh()), frozen(nn.Linear(6, 4), nn.Tanh())
    s, following = torch.randn(9, 6), torch.randn(9, 6)
    model = quick_thought(f, g, dim=4)
    loss = F.cross_entropy(f(s) @ g(following).T, torch.arange(9)).item()
    assert -model.log_likelihood(s, np.arange(9), following).mean() == pytest.approx(
        loss, abs=EXACT
    )
    own = torch.randn(9, 5, 6)
    each = torch.stack([F.cross_entropy(g(own[i]) @ f(s[i]), torch.tensor(2)) for i in range(9)])
    said = model.log_likelihood(s, np.full(9, 2), PerSample(own))
    assert -said == pytest.approx(each.numpy(), abs=EXACT)


def test_n_pair():
    """Sohn 2016: the mean of log(1 + sum over j != i of exp(f_i'f_j+ - f_i'f_i+))."""
    encode = frozen(nn.Linear(6, 4), nn.Tanh())
    x, positive = torch.randn(8, 6), torch.randn(8, 6)
    inner = encode(x) @ encode(positive).T
    terms = [
        torch.log1p(sum(torch.exp(inner[i, j] - inner[i, i]) for j in range(8) if j != i))
        for i in range(8)
    ]
    model = n_pair(encode, dim=4)
    said = -model.log_likelihood(x, np.arange(8), positive)
    assert said == pytest.approx(torch.stack(terms).numpy(), abs=EXACT)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_nplm(diagonal, bias):
    """Mnih & Teh 2012, Eqs. 1 to 3, with the per-word bias inside the softmax."""
    V, M, positions = 11, 3, 4
    r, q, b = torch.randn(V, M), torch.randn(V, M), torch.randn(V)
    C = torch.randn(positions, M) if diagonal else torch.randn(positions, M, M)
    context, word = torch.randint(V, (20, positions)), torch.randint(V, (20,))
    full = torch.diag_embed(C) if diagonal else C
    predicted = torch.stack([sum(full[i] @ r[w] for i, w in enumerate(row)) for row in context])
    score = predicted @ q.T + (b if bias else 0.0)
    model = nplm(r, C, q, b if bias else None)
    assert -model.log_likelihood(context, word).mean() == pytest.approx(
        F.cross_entropy(score, word).item(), abs=EXACT
    )
    assert model.bias is bias


def test_info_nce_with_temperature_and_normalisation():
    f, g = frozen(nn.Linear(6, 4)), frozen(nn.Linear(5, 4))
    q, items = torch.randn(10, 6), torch.randn(10, 5)
    cosine = F.cosine_similarity(f(q)[:, None], g(items)[None], dim=-1)
    model = two_tower(f, g, dim=4, temperature=0.07, normalise=True)
    said = model.log_likelihood(q, np.arange(10), items)
    assert -said.mean() == pytest.approx(
        F.cross_entropy(cosine / 0.07, torch.arange(10)).item(), abs=EXACT
    )


def test_simclr():
    """NT-Xent with 2N views; the anchor is masked out of the similarity matrix."""
    encode = frozen(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    views = torch.randn(12, 6)  # view i and view i + 6 are of one image
    z = F.normalize(encode(views))
    similarity = (z @ z.T / 0.2).masked_fill(torch.eye(12, dtype=torch.bool), -torch.inf)
    partner = (np.arange(12) + 6) % 12
    loss = F.cross_entropy(similarity, torch.as_tensor(partner)).item()
    position = np.where(
        partner > np.arange(12), partner - 1, partner
    )  # the anchor's column is gone
    model = simclr(encode, dim=4, temperature=0.2)
    assert -model.log_likelihood(views, position, others(views)).mean() == pytest.approx(
        loss, abs=EXACT
    )


def test_the_reductions_work_on_numpy_too(rng):
    x, weight = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    model = classifier(np.tanh, weight, np.zeros(4))
    assert isinstance(model.log_prob(x), np.ndarray)
    assert two_tower(np.tanh, np.sin, dim=3, normalise=True).log_prob(x, x).shape == (5, 5)


def test_what_cannot_be_meant_is_refused(rng):
    with pytest.raises(ShapeError, match=r"weight is \(classes, features\)"):
        classifier(np.tanh, np.zeros(3))
    with pytest.raises(ShapeError, match="W is"):
        cpc(np.tanh, np.tanh, np.zeros(3))
    with pytest.raises(ShapeError, match="matrices or"):
        nplm(np.eye(3), np.zeros(3), np.eye(3))
    with pytest.raises(ShapeError, match="A context has 2 words"):
        nplm(np.eye(3), np.ones((2, 3)), np.eye(3)).embed(np.zeros((4, 5), dtype=int))
    with pytest.raises(OptionError, match="temperature must be positive"):
        two_tower(np.tanh, np.tanh, dim=2, temperature=0.0)
    with pytest.raises(OptionError, match="two views at least"):
        others(np.zeros((1, 3)))
