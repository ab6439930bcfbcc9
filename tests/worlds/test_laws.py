"""Samples have the moments of their law, on every space; streams are explicit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from samespace.errors import OptionError
from samespace.worlds.laws import GeneralisedNormal, Uniform
from samespace.worlds.spaces import Box, Sphere, Unbounded
from samespace.worlds.vmf import VonMisesFisher
from tests.tolerances import STANDARD_ERRORS

ROWS = 20_000


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def assert_mean(values, expected):
    """The mean lies within the table's number of standard errors of what it should be."""
    values = np.asarray(values, dtype=np.float64)
    error = values.std() / math.sqrt(values.size)
    assert abs(values.mean() - expected) <= STANDARD_ERRORS * error + 1e-12


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 0.7, 8.0])
def test_generalised_normal_has_its_density(p):
    law = GeneralisedNormal(p=p, scale=0.3)
    drawn = law.noise((ROWS,), generator()).double().numpy()
    assert stats.kstest(drawn, stats.gennorm(beta=p, scale=0.3).cdf).pvalue > 1e-4
    assert_mean(drawn**2, law.variance)


def test_named_laws_are_their_names():
    assert GeneralisedNormal.normal(0.5).variance == pytest.approx(0.25)
    assert GeneralisedNormal.laplace(0.5).variance == pytest.approx(0.5)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_box_conditions_the_law_on_the_box(p):
    law, space, at = GeneralisedNormal(p=p, scale=0.4), Box(2, 0.0, 1.0), 0.1
    z = law.draw(space, torch.full((ROWS, 2), at), generator())
    assert ((z >= 0) & (z <= 1)).all()
    free = stats.gennorm(beta=p, loc=at, scale=0.4)
    low, high = free.cdf(0.0), free.cdf(1.0)
    inside = lambda t: (free.cdf(t) - low) / (high - low)  # noqa: E731
    assert stats.kstest(z[:, 0].numpy(), inside).pvalue > 1e-4


@pytest.mark.parametrize("law", [GeneralisedNormal.normal(0.5), GeneralisedNormal.laplace(0.5)])
def test_sphere_projects_and_respects_its_radius(law):
    space = Sphere(4, radius=3.0)
    z = law.draw(space, space.centre().expand(ROWS, -1), generator())
    torch.testing.assert_close(z.norm(dim=1), torch.full((ROWS,), 3.0))
    assert z[:, 0].mean() > 2.0
    assert_mean(z[:, 1], 0.0)


def test_uniform_laws_have_the_uniform_moments():
    z = Uniform().draw(Sphere(5, radius=2.0), torch.zeros(ROWS, 5), generator())
    torch.testing.assert_close(z.norm(dim=1), torch.full((ROWS,), 2.0))
    assert_mean(z[:, 2] ** 2, 4.0 / 5.0)
    box = Uniform().draw(Box(3, -1.0, 2.0), torch.zeros(ROWS, 3), generator())
    assert stats.kstest(box[:, 1].numpy(), stats.uniform(-1.0, 3.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("n", [2, 3, 10, 200])
@pytest.mark.parametrize("kappa", [0.0, 1.0, 10.0, 3000.0])
def test_vmf_has_its_closed_form_moments(n, kappa):
    law, space = VonMisesFisher(kappa=kappa), Sphere(n, radius=2.0)
    mean = space.uniform(1, generator(1)).expand(ROWS, -1)
    z = law.draw(space, mean, generator()).double()
    torch.testing.assert_close(z.norm(dim=1), torch.full((ROWS,), 2.0).double(), rtol=1e-5, atol=0)
    cosine = (z * mean).sum(1).numpy() / 4.0
    assert_mean(cosine, law.mean_cosine(n))
    assert_mean((cosine - law.mean_cosine(n)) ** 2, law.cosine_variance(n))
    # What is left of the mean direction has no direction of its own.
    rest = z / 2.0 - torch.from_numpy(cosine)[:, None] * mean / 2.0
    other = Sphere(n).project(torch.eye(n)[:1] - (mean[0, 0] / 2.0) * mean[:1] / 2.0)
    if n > 2:
        assert_mean((rest * other).sum(1), 0.0)


def test_vmf_moments_agree_with_quadrature():
    n, kappa = 6, 4.0
    weight = lambda w: (1 - w * w) ** ((n - 3) / 2) * math.exp(kappa * w)  # noqa: E731
    total = integrate.quad(weight, -1, 1)[0]
    mean = integrate.quad(lambda w: w * weight(w), -1, 1)[0] / total
    square = integrate.quad(lambda w: w * w * weight(w), -1, 1)[0] / total
    law = VonMisesFisher(kappa=kappa)
    assert law.mean_cosine(n) == pytest.approx(mean, rel=1e-9)
    assert law.cosine_variance(n) == pytest.approx(square - mean**2, rel=1e-8)
    log_mass = math.log(total) + Sphere(n - 1).log_volume
    assert law.log_normaliser(n) == pytest.approx(-log_mass, rel=1e-9)
    assert VonMisesFisher(kappa=0.0).log_normaliser(n) == pytest.approx(-Sphere(n).log_volume)


def test_vmf_normaliser_far_out_agrees_with_the_scaled_bessel_function():
    kappa, n = 5000.0, 12
    scaled = math.log(special.ive(n / 2 - 1, kappa)) + kappa
    by_hand = (n / 2 - 1) * math.log(kappa) - n / 2 * math.log(2 * math.pi) - scaled
    assert VonMisesFisher(kappa=kappa).log_normaliser(n) == pytest.approx(by_hand, rel=1e-10)


def test_cross_entropy_is_least_at_the_truth():
    law = VonMisesFisher(kappa=5.0)
    at = [law.cross_entropy(4, model_kappa=k) for k in (3.0, 5.0, 8.0)]
    assert at[1] < min(at[0], at[2])
    assert VonMisesFisher(kappa=0.0).cross_entropy(4, model_kappa=0.0) == pytest.approx(
        Sphere(4).log_volume
    )


def test_volumes():
    assert Sphere(3, radius=2.0).log_volume == pytest.approx(math.log(16 * math.pi))
    assert Box(3, -1.0, 1.0).log_volume == pytest.approx(math.log(8.0))


@pytest.mark.parametrize(
    "law",
    [
        Uniform(),
        GeneralisedNormal.laplace(0.2),
        GeneralisedNormal(p=3, scale=0.2),
        VonMisesFisher(kappa=3.0),
    ],
)
def test_equal_seeds_agree_and_different_seeds_differ(law):
    space = Sphere(4)
    mean = space.centre().expand(7, -1)
    first = law.draw(space, mean, generator(3))
    assert torch.equal(first, law.draw(space, mean, generator(3)))
    assert not torch.allclose(first, law.draw(space, mean, generator(4)))


def test_errors_say_what_to_do():
    with pytest.raises(OptionError, match="no uniform law"):
        Uniform().draw(Unbounded(3), torch.zeros(2, 3), generator())
    with pytest.raises(OptionError, match="lives on a Sphere"):
        VonMisesFisher(kappa=1.0).draw(Box(3), torch.zeros(2, 3), generator())
    with pytest.raises(OptionError, match="must lie in it"):
        GeneralisedNormal.normal(1.0).draw(Box(3), torch.full((2, 3), 5.0), generator())
    with pytest.raises(OptionError, match="finite and >= 0"):
        VonMisesFisher(kappa=-1.0)
    with pytest.raises(OptionError, match="p > 0 and scale > 0"):
        GeneralisedNormal(p=0.0, scale=1.0)
    with pytest.raises(OptionError, match="n >= 2 and radius > 0"):
        Sphere(1)
    with pytest.raises(OptionError, match="low < high"):
        Box(2, 1.0, 1.0)
