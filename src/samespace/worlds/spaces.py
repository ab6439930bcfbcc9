"""Where latents live: the sphere, the box, and all of R^n."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from samespace.errors import OptionError

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

Noise = Callable[[tuple[int, ...], torch.Generator], "Tensor"]


class Space(Protocol):
    """A space in which latents of n coordinates lie, and how noise is confined to it."""

    @property
    def n(self) -> int:
        """Number of coordinates."""

    def centre(self) -> Float[Tensor, " n"]:
        """Return the point that non-uniform marginals are centred on."""

    def around(
        self, mean: Float[Tensor, "rows n"], noise: Noise, generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Draw points about given means, confined to the space."""

    def uniform(self, rows: int, generator: torch.Generator) -> Float[Tensor, "rows n"]:
        """Draw points uniformly."""


@dataclass(frozen=True)
class Sphere:
    """The sphere of a given radius in R^n; noise is added in R^n and projected back radially."""

    n: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        if self.n < 2 or self.radius <= 0:
            raise OptionError(
                f"A sphere has n >= 2 and radius > 0; got n={self.n}, radius={self.radius}."
            )

    @property
    def log_volume(self) -> float:
        """Log of the surface area, 2 pi^(n/2) radius^(n-1) / Gamma(n/2)."""
        unit = math.log(2.0) + 0.5 * self.n * math.log(math.pi) - math.lgamma(0.5 * self.n)
        return unit + (self.n - 1) * math.log(self.radius)

    def centre(self) -> Float[Tensor, " n"]:
        """Return the first axis's pole, radius * e1."""
        return self.radius * torch.eye(self.n)[0]

    def around(
        self, mean: Float[Tensor, "rows n"], noise: Noise, generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Add noise in R^n and project on the sphere."""
        return self.project(mean + noise(tuple(mean.shape), generator))

    def uniform(self, rows: int, generator: torch.Generator) -> Float[Tensor, "rows n"]:
        """Draw uniformly: the direction of a standard normal."""
        drawn = torch.randn(rows, self.n, generator=generator, device=generator.device)
        return self.project(drawn)

    def project(self, z: Float[Tensor, "rows n"]) -> Float[Tensor, "rows n"]:
        """Move points radially onto the sphere."""
        return self.radius * torch.nn.functional.normalize(z, dim=-1)


@dataclass(frozen=True)
class Box:
    """The box [low, high]^n; noise that leaves it is redrawn, coordinate by coordinate.

    Redrawing a coordinate until it is inside samples the noise's law conditioned on the box exactly,
    because its coordinates are independent.
    """

    n: int
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.n < 1 or self.low >= self.high:
            raise OptionError(
                f"A box has n >= 1 and low < high; got n={self.n}, [{self.low}, {self.high}]."
            )

    @property
    def log_volume(self) -> float:
        """Log of the volume."""
        return self.n * math.log(self.high - self.low)

    def centre(self) -> Float[Tensor, " n"]:
        """Return the middle of the box."""
        return torch.full((self.n,), 0.5 * (self.low + self.high))

    def around(
        self, mean: Float[Tensor, "rows n"], noise: Noise, generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Add noise and redraw every coordinate that fell outside."""
        if bool(self._outside(mean).any()):
            raise OptionError(
                f"Means of a law on the box [{self.low}, {self.high}]^{self.n} must lie in it; got "
                f"values from {float(mean.min()):g} to {float(mean.max()):g}."
            )
        z = mean + noise(tuple(mean.shape), generator)
        outside = self._outside(z)
        while count := int(outside.sum()):
            z[outside] = mean[outside] + noise((count,), generator)
            outside = self._outside(z)
        return z

    def uniform(self, rows: int, generator: torch.Generator) -> Float[Tensor, "rows n"]:
        """Draw uniformly."""
        drawn = torch.rand(rows, self.n, generator=generator, device=generator.device)
        return self.low + (self.high - self.low) * drawn

    def _outside(self, z: Tensor) -> Tensor:
        return (z < self.low) | (z > self.high)


@dataclass(frozen=True)
class Unbounded:
    """All of R^n; noise is added and nothing else happens. It has no uniform law."""

    n: int

    def centre(self) -> Float[Tensor, " n"]:
        """Return the origin."""
        return torch.zeros(self.n)

    def around(
        self, mean: Float[Tensor, "rows n"], noise: Noise, generator: torch.Generator
    ) -> Float[Tensor, "rows n"]:
        """Add noise."""
        return mean + noise(tuple(mean.shape), generator)

    def uniform(self, rows: int, generator: torch.Generator) -> Float[Tensor, "rows n"]:
        """Refuse: there is no uniform law on R^n."""
        raise OptionError(
            "R^n has no uniform law; use a normal or Laplace marginal, or a Box of finite sides."
        )
