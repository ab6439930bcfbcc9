"""Worlds give observations with their latents; mixings lose nothing."""

from __future__ import annotations

import math

import pytest
import torch

import samespace.worlds as worlds
from samespace.errors import DegenerateError, DiversityError, NoInverseError, OptionError
from samespace.worlds import (
    Box,
    ClusterWorld,
    GeneralisedNormal,
    LatentWorld,
    Mixing,
    RadialWorld,
    Sphere,
    Unbounded,
    Uniform,
    VonMisesFisher,
)
from samespace.worlds.samples import stack


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def small_mixing(n=4):
    return Mixing.filtered(n, generator(), pool=200)


def test_filtered_mixing_keeps_the_best_conditioned():
    mixing = small_mixing(10)
    assert [tuple(w.shape) for w in mixing.weights] == [(10, 10)] * 3
    for weight in mixing.weights:
        torch.testing.assert_close(weight.norm(dim=1), torch.ones(10))
        assert torch.linalg.cond(weight) < 9.0  # the pool's median is 28


def test_mixing_is_its_formula():
    mixing, z = small_mixing(), torch.randn(5, 4, generator=generator(1))
    w1, w2, w3 = mixing.weights
    rect = lambda t: torch.maximum(t, 0.2 * t)  # noqa: E731
    torch.testing.assert_close(mixing(z), rect(rect(z @ w1) @ w2) @ w3)


@pytest.mark.parametrize("mixing", [small_mixing(), Mixing.orthonormal(4, 7, generator())])
def test_mixing_is_inverted_and_stretches_within_its_bounds(mixing):
    z = torch.randn(300, 4, generator=generator(1))
    x = mixing(z)
    torch.testing.assert_close(mixing.inverse(x), z, rtol=1e-3, atol=1e-4)
    ratio = (x[1:] - x[:-1]).norm(dim=1) / (z[1:] - z[:-1]).norm(dim=1)
    low, high = mixing.stretch()
    assert low <= ratio.min() <= ratio.max() <= high


def test_orthonormal_mixing_certifies_its_stretch():
    low, high = Mixing.orthonormal(3, 8, generator(), layers=3, slope=0.2).stretch()
    assert (low, high) == pytest.approx((0.04, 1.0), rel=1e-5)


@pytest.mark.parametrize(
    ("space", "marginal", "conditional"),
    [
        (Sphere(4), Uniform(), VonMisesFisher(kappa=10.0)),
        (Sphere(4), GeneralisedNormal.normal(1.0), GeneralisedNormal.laplace(0.05)),
        (Box(4), Uniform(), GeneralisedNormal(p=3, scale=0.05)),
        (Box(4), GeneralisedNormal.laplace(0.2), GeneralisedNormal.normal(0.05)),
        (Unbounded(4), GeneralisedNormal.laplace(1.0), GeneralisedNormal.normal(1.0)),
    ],
)
def test_pairs_come_with_their_latents(space, marginal, conditional):
    mixing = small_mixing()
    world = LatentWorld(space=space, marginal=marginal, conditional=conditional, mixing=mixing)
    pairs = world.pairs(50, generator(2))
    torch.testing.assert_close(pairs.x, mixing(pairs.z))
    torch.testing.assert_close(pairs.x_positive, mixing(pairs.z_positive))
    apart = (pairs.z - pairs.z_positive).norm(dim=1).mean()
    assert 0 < apart < (pairs.z - pairs.z.roll(1, 0)).norm(dim=1).mean()
    assert torch.equal(pairs.z, world.pairs(50, generator(2)).z)
    assert not torch.allclose(pairs.z, world.pairs(50, generator(3)).z)


def test_radial_labels_are_sectors():
    world = RadialWorld()
    sample = world.labelled(4000, generator())
    assert torch.equal(sample.x[:, :2], sample.z)
    angle = torch.atan2(sample.z[:, 1], sample.z[:, 0])
    assert ((angle + math.pi) / (2 * math.pi / 18) - sample.labels >= -1e-4).all()
    assert ((angle + math.pi) / (2 * math.pi / 18) - sample.labels <= 1 + 1e-4).all()
    assert sample.labels.bincount(minlength=18).min() > 130
    assert float(sample.z.std()) == pytest.approx(3.0, abs=0.1)
    assert float(sample.x[:, 2:].std()) == pytest.approx(1.0, abs=0.02)


def test_clusters_gather_about_their_directions():
    mixing = small_mixing()
    world = ClusterWorld.drawn(4, 9, generator(), kappa=50.0, mixing=mixing, instances=30)
    sample = world.labelled(5000, generator(1))
    assert sample.labels.unique().tolist() == list(range(30))
    mean = world.directions[world.class_of(sample.labels)]
    expected = VonMisesFisher(kappa=50.0).mean_cosine(4)
    assert float((sample.z * mean).sum(1).mean()) == pytest.approx(expected, abs=0.002)
    by_class = ClusterWorld.drawn(4, 9, generator(), kappa=50.0, mixing=mixing)
    assert by_class.labelled(2000, generator(1)).labels.unique().tolist() == list(range(9))


def test_stacking_keeps_members():
    world = RadialWorld()
    both = stack([world.labelled(3, generator(0)), world.labelled(3, generator(1))])
    assert both.x.shape == (2, 3, 22)
    assert torch.equal(both.labels[1], world.labelled(3, generator(1)).labels)


def test_names_are_found_lazily():
    assert set(worlds.__all__) <= set(dir(worlds))
    assert all(getattr(worlds, name).__name__ == name for name in worlds.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Torus'"):
        worlds.Torus  # noqa: B018


def test_errors_say_what_to_do():
    with pytest.raises(DegenerateError, match="Layer 2 of the mixing maps 2 dimensions to rank 1"):
        Mixing((torch.eye(2), torch.ones(2, 2)))
    with pytest.raises(OptionError, match=r"slope in \(0, 1\]"):
        Mixing((torch.eye(2),), slope=0.0)
    with pytest.raises(OptionError, match="do not fit injectively"):
        Mixing.orthonormal(4, 3, generator())
    with pytest.raises(NoInverseError, match="on its image alone"):
        Mixing.orthonormal(2, 5, generator()).inverse(torch.ones(3, 5))
    with pytest.raises(DiversityError, match="4 directions span 3 of 4 dimensions"):
        ClusterWorld.drawn(4, 4, generator(), kappa=1.0, mixing=small_mixing())
    with pytest.raises(OptionError, match="got instances=3"):
        ClusterWorld.drawn(4, 9, generator(), kappa=1.0, mixing=small_mixing(), instances=3)
    with pytest.raises(OptionError, match="at least 2 classes"):
        RadialWorld(classes=1)


def test_several_positives_of_a_row_are_drawn_about_it():
    world = LatentWorld(
        space=Box(2),
        marginal=Uniform(),
        conditional=GeneralisedNormal.normal(0.01),
        mixing=Mixing.orthonormal(2, 3, generator(0)),
    )
    pairs = world.pairs(40, generator(1), positives=3)
    assert pairs.z_positive.shape == (40, 3, 2)
    assert pairs.x_positive.shape == (40, 3, 3)
    apart = pairs.z_positive - pairs.z[:, None]
    assert 0.0 < float(apart.abs().max()) < 0.1
    assert len(apart.unique()) == apart.numel()
    torch.testing.assert_close(pairs.x_positive, world.mixing(pairs.z_positive))
