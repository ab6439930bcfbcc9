"""The von Mises-Fisher law on a sphere: an exact sampler, and its moments in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import gammaln, logsumexp

from samespace.errors import OptionError
from samespace.worlds.spaces import Space, Sphere

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class VonMisesFisher:
    """Points of the sphere with density C_n(kappa) exp(kappa u'm) for unit directions u and m.

    On a sphere of another radius the directions are drawn so and then scaled: kappa always is the
    concentration of the *direction*. kappa = 0 is the uniform law.

    References
    ----------
    Wood, "Simulation of the von Mises Fisher distribution" (1994), for the envelope; Mardia & Jupp,
    *Directional Statistics* (2000), Section 9.3, for the moments.

    Examples
    --------
    >>> law = VonMisesFisher(kappa=10.0)
    >>> round(law.mean_cosine(3), 6)  # coth(10) - 1/10 in three dimensions
    0.9
    """

    kappa: float

    def __post_init__(self) -> None:
        if not 0 <= self.kappa < math.inf:
            raise OptionError(f"A concentration is finite and >= 0; got kappa={self.kappa}.")

    def draw(
        self, space: Space, mean: Float[Tensor, "rows n"], generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Draw one point per mean, in any dimension, exactly."""
        if not isinstance(space, Sphere):
            raise OptionError(
                f"A von Mises-Fisher law lives on a Sphere; got {space}. On a box or R^n use "
                "GeneralisedNormal.normal, which has the same form there."
            )
        direction = torch.nn.functional.normalize(mean, dim=-1)
        fall = self._fall(len(mean), space.n, generator)[:, None]
        noise = torch.randn(mean.shape, generator=generator, device=generator.device)
        tangent = noise - (noise * direction).sum(-1, keepdim=True) * direction
        tangent = torch.nn.functional.normalize(tangent, dim=-1)
        # sin^2 = 1 - (1 - fall)^2, without cancellation where the law is narrow
        point = (1.0 - fall) * direction + torch.sqrt(fall * (2.0 - fall)) * tangent
        return space.project(point)

    def _fall(self, rows: int, n: int, generator: torch.Generator) -> Float[Tensor, " rows"]:
        """Draw 1 - cosine to the mean by Wood's rejection; about two of three proposals are kept."""
        fall, kept = self._propose(rows, n, generator)
        while int((~kept).sum()):
            missing = (~kept).nonzero()[:, 0]
            fall[missing], kept[missing] = self._propose(len(missing), n, generator)
        return fall

    def _propose(self, rows: int, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Propose 1 - cosine, and say which proposals to keep.

        With b = (n-1) / (2 kappa + sqrt(4 kappa^2 + (n-1)^2)), x0 = (1-b)/(1+b), and beta drawn from
        Beta((n-1)/2, (n-1)/2), Wood proposes the cosine w = (1 - (1+b) beta) / (1 - (1-b) beta) and
        keeps it when kappa w + (n-1) log(1 - x0 w) - kappa x0 - (n-1) log(1 - x0^2) >= log u.
        Written for 1 - w, nothing cancels at large kappa.
        """
        shape = torch.full((2, rows), 0.5 * (n - 1), device=generator.device)
        gamma = torch._standard_gamma(shape, generator=generator)
        beta = gamma[0] / gamma.sum(0)
        b = (n - 1) / (2.0 * self.kappa + math.sqrt(4.0 * self.kappa**2 + (n - 1) ** 2))
        rest = 2.0 * b / (1.0 + b)  # 1 - x0
        # The antipode is at 2; rounding may put a proposal a hair beyond.
        fall = (2.0 * b * beta / (1.0 - (1.0 - b) * beta)).clamp(max=2.0)
        ratio = (rest + (1.0 - rest) * fall) / (rest * (2.0 - rest))
        level = self.kappa * (rest - fall) + (n - 1) * torch.log(ratio)
        u = torch.rand(rows, generator=generator, device=generator.device)
        return fall, level >= torch.log(u)

    def log_normaliser(self, n: int) -> float:
        """Return log C_n(kappa) on the unit sphere, so that log p(u) = log C_n(kappa) + kappa u'm."""
        if self.kappa == 0.0:
            return -Sphere(n).log_volume
        order = 0.5 * n - 1.0
        return (
            order * math.log(self.kappa)
            - 0.5 * n * math.log(2.0 * math.pi)
            - _log_bessel(order, self.kappa)
        )

    def mean_cosine(self, n: int) -> float:
        """Return E[u'm] = I_{n/2}(kappa) / I_{n/2-1}(kappa)."""
        if self.kappa == 0.0:
            return 0.0
        return math.exp(_log_bessel(0.5 * n, self.kappa) - _log_bessel(0.5 * n - 1.0, self.kappa))

    def cosine_variance(self, n: int) -> float:
        """Return Var[u'm] = 1 - A^2 - (n-1) A / kappa with A the mean cosine."""
        if self.kappa == 0.0:
            return 1.0 / n
        a = self.mean_cosine(n)
        return 1.0 - a * a - (n - 1) * a / self.kappa

    def cross_entropy(self, n: int, *, model_kappa: float) -> float:
        """Return E[-log q] for q of the same mean and another concentration, on the unit sphere."""
        model = VonMisesFisher(kappa=model_kappa)
        return -model_kappa * self.mean_cosine(n) - model.log_normaliser(n)


def _log_bessel(order: float, x: float) -> float:
    """Return log I_order(x), x > 0, from its power series, all of whose terms are positive.

    I_v(x) = sum_k (x/2)^(2k+v) / (k! Gamma(v+k+1)). The terms peak before k = x/2 and fall off as a
    normal law of that variance does, so x/2 + 12 sqrt(x/2) + 40 of them hold all of the sum.
    """
    k = np.arange(int(0.5 * x + 12.0 * math.sqrt(0.5 * x)) + 40)
    terms = (2 * k + order) * math.log(0.5 * x) - gammaln(k + 1) - gammaln(order + k + 1)
    return float(logsumexp(terms))
