"""Mixings: networks that turn latents into observations and lose nothing on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from samespace.errors import DegenerateError, NoInverseError, OptionError

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Mixing:
    """Linear layers without bias, leaky rectifiers between them: x = (rect(z W1) ...) WL.

    A leaky rectifier is a bijection, so the network is injective exactly when no layer loses rank.
    That is checked when it is made; `stretch` gives the certified bounds.

    Parameters
    ----------
    weights
        One (d_in, d_out) matrix per layer, d_out >= d_in.
    slope
        Slope of the rectifier on the negative side, in (0, 1].
    """

    weights: tuple[Tensor, ...]
    slope: float = 0.2

    def __post_init__(self) -> None:
        if not self.weights or not 0 < self.slope <= 1:
            raise OptionError(
                "A mixing has at least one layer and a slope in (0, 1]; got "
                f"{len(self.weights)} layers and slope {self.slope}."
            )
        for number, weight in enumerate(self.weights, start=1):
            values = torch.linalg.svdvals(weight.double())
            rank = int((values > 1e-6 * values[0]).sum())
            if rank < weight.shape[0]:
                raise DegenerateError(
                    f"Layer {number} of the mixing maps {weight.shape[0]} dimensions to rank {rank}: "
                    "latents would be lost. Draw another, or give it full row rank."
                )

    @classmethod
    def filtered(
        cls,
        n: int,
        generator: torch.Generator,
        *,
        layers: int = 3,
        slope: float = 0.2,
        pool: int = 25_000,
    ) -> Mixing:
        """Draw a square mixing with Zimmermann's condition filter.

        Entries are uniform on (-1, 1) and each input's outgoing weights have unit length. The smallest
        condition number among `pool` such matrices is the threshold; each layer is redrawn until
        its own is at or below it (about 3.9 for n = 10, where the pool's median is 28).

        References
        ----------
        Zimmermann et al. (2021), Section 4.1, as their released program does it.
        """
        threshold = float(_condition(_unit_rows(pool, n, generator)).min())
        weights: list[Tensor] = []
        while len(weights) < layers:
            drawn = _unit_rows(pool, n, generator)
            good = drawn[_condition(drawn) <= threshold]
            weights.extend(good[: layers - len(weights)])
        return cls(tuple(weight.float() for weight in weights), slope)

    @classmethod
    def orthonormal(
        cls,
        n: int,
        d_x: int,
        generator: torch.Generator,
        *,
        layers: int = 3,
        slope: float = 0.2,
    ) -> Mixing:
        """Draw an injective mixing into d_x >= n dimensions from layers with orthonormal rows.

        Every layer keeps lengths, so the certified stretch lies within [slope^(layers-1), 1]: far from
        degenerate whatever the draw, without any filter.
        """
        if d_x < n:
            raise OptionError(f"{n} latents do not fit injectively into {d_x} dimensions.")
        widths = [n, *[d_x] * layers]
        gaussians = [
            torch.randn(d_out, d_in, generator=generator, device=generator.device).double()
            for d_in, d_out in pairwise(widths)
        ]
        return cls(tuple(torch.linalg.qr(one)[0].T.float() for one in gaussians), slope)

    def __call__(self, z: Float[Tensor, "*rows n"]) -> Float[Tensor, "*rows d_x"]:
        for weight in self.weights[:-1]:
            z = torch.nn.functional.leaky_relu(z @ weight, self.slope)
        return z @ self.weights[-1]

    def inverse(self, x: Float[Tensor, "*rows d_x"]) -> Float[Tensor, "*rows n"]:
        """Return the latents of observations; of points off the image, an error.

        Computed in float64 by the layers' left inverses.
        """
        z = x.double() @ torch.linalg.pinv(self.weights[-1].double())
        for weight in reversed(self.weights[:-1]):
            z = torch.where(z < 0, z / self.slope, z) @ torch.linalg.pinv(weight.double())
        z = z.to(x.dtype)
        off = float((self(z) - x).abs().max()) if len(x) else 0.0
        if off > 1e-3 * max(1.0, float(x.abs().max()) if len(x) else 1.0):
            raise NoInverseError(
                f"Some rows are no observations of this mixing: the nearest found is {off:.2g} away. "
                "The inverse exists on its image alone."
            )
        return z

    def stretch(self) -> tuple[float, float]:
        """Return bounds (low, high): low |z - z'| <= |x - x'| <= high |z - z'| for all z, z'."""
        values = [torch.linalg.svdvals(weight.double()) for weight in self.weights]
        low = math.prod(float(each[-1]) for each in values)
        high = math.prod(float(each[0]) for each in values)
        return low * self.slope ** (len(self.weights) - 1), high

    def to(self, device: str | torch.device) -> Mixing:
        """Return the mixing on another device."""
        return Mixing(tuple(weight.to(device) for weight in self.weights), self.slope)


def _unit_rows(count: int, n: int, generator: torch.Generator) -> Float[Tensor, "count n n"]:
    """Draw uniform matrices with rows of unit length: with `z @ W`, a row is an input's weights."""
    drawn = torch.rand(
        count, n, n, generator=generator, device=generator.device, dtype=torch.float64
    )
    return torch.nn.functional.normalize(2.0 * drawn - 1.0, dim=-1)


def _condition(matrices: Float[Tensor, "count n n"]) -> Float[Tensor, " count"]:
    values = torch.linalg.svdvals(matrices)
    return values[:, 0] / values[:, -1]
