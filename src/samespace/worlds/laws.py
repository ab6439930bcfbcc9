"""Laws that marginals and conditionals are drawn from, on any space.

A *law* is anything with ``draw(space, mean, generator)``, that returns one point of the space per row
of `mean`. A marginal is a law about the space's centre, a conditional p(. | z) the law about z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from samespace.errors import OptionError
from samespace.worlds.spaces import Space

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


class Law(Protocol):
    """Anything that draws one point of a space per mean."""

    def draw(
        self, space: Space, mean: Float[Tensor, "rows n"], generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Return one point per row of `mean`."""


@dataclass(frozen=True)
class Uniform:
    """The uniform law of a bounded space, whatever the mean."""

    def draw(
        self, space: Space, mean: Float[Tensor, "rows n"], generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Draw uniformly on the space."""
        return space.uniform(len(mean), generator)


@dataclass(frozen=True, kw_only=True)
class GeneralisedNormal:
    """Independent coordinates of density proportional to exp(-|t / scale|^p) about the mean.

    Drawn as scale * sign * Gamma(1/p)^(1/p). p = 1 is the Laplace law of that scale, p = 2 the normal
    law of standard deviation scale / sqrt(2) (see `normal`), p = 3 Zimmermann's "GenNorm(3)".

    References
    ----------
    Zimmermann et al. (2021), Section 4.1.

    Examples
    --------
    >>> law = GeneralisedNormal.laplace(0.5)
    >>> law.variance
    0.5
    """

    p: float
    scale: float

    def __post_init__(self) -> None:
        if self.p <= 0 or self.scale <= 0:
            raise OptionError(
                f"A generalised normal has p > 0 and scale > 0; got p={self.p}, scale={self.scale}."
            )

    @classmethod
    def normal(cls, sd: float) -> GeneralisedNormal:
        """Return the normal law of a standard deviation."""
        return cls(p=2.0, scale=math.sqrt(2.0) * sd)

    @classmethod
    def laplace(cls, scale: float) -> GeneralisedNormal:
        """Return the Laplace law of a scale (its standard deviation is sqrt(2) times that)."""
        return cls(p=1.0, scale=scale)

    @property
    def variance(self) -> float:
        """Variance of a coordinate in R^n: scale^2 Gamma(3/p) / Gamma(1/p)."""
        return self.scale**2 * math.gamma(3.0 / self.p) / math.gamma(1.0 / self.p)

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Draw centred noise, on the generator's device."""
        device = generator.device
        if self.p == 2.0:
            sd = self.scale / math.sqrt(2.0)
            return sd * torch.randn(shape, generator=generator, device=device)
        if self.p == 1.0:
            size = torch.empty(shape, device=device).exponential_(generator=generator)
        else:
            shapes = torch.full(shape, 1.0 / self.p, device=device)
            size = torch._standard_gamma(shapes, generator=generator) ** (1.0 / self.p)
        sign = torch.rand(shape, generator=generator, device=device) < 0.5
        return self.scale * torch.where(sign, size, -size)

    def draw(
        self, space: Space, mean: Float[Tensor, "rows n"], generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Draw about the means, confined to the space as the space does it."""
        return space.around(mean, self.noise, generator)
