"""Zimmermann's worlds: a space, a marginal on it, a conditional for positive pairs, a mixing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from samespace.worlds.laws import Law
from samespace.worlds.samples import Observed, Pairs
from samespace.worlds.spaces import Space

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class LatentWorld:
    """z ~ p(z) on a space, z+ ~ p(z+ | z), and the observations x = g(z), x+ = g(z+).

    Parameters
    ----------
    space
        `Sphere`, `Box` or `Unbounded`.
    marginal
        The law of z about the space's centre: `Uniform`, `GeneralisedNormal`, your own.
    conditional
        The law of z+ about z: `VonMisesFisher`, `GeneralisedNormal`, your own.
    mixing
        g, any function of rows; a `Mixing` is injective for certain.

    References
    ----------
    Zimmermann et al. (2021), Equation 2 (sphere) and Section 3.3 (convex bodies).

    Examples
    --------
    >>> import torch
    >>> from samespace.worlds import LatentWorld, Mixing, Sphere, Uniform, VonMisesFisher
    >>> generator = torch.Generator().manual_seed(0)
    >>> world = LatentWorld(
    ...     space=Sphere(3), marginal=Uniform(), conditional=VonMisesFisher(kappa=10.0),
    ...     mixing=Mixing.orthonormal(3, 5, generator))
    >>> pairs = world.pairs(4, generator)
    >>> pairs.z.shape, pairs.x_positive.shape
    (torch.Size([4, 3]), torch.Size([4, 5]))
    """

    space: Space
    marginal: Law
    conditional: Law
    mixing: Callable[[Tensor], Tensor]

    def latents(self, rows: int, generator: torch.Generator) -> Float[Tensor, "rows n"]:
        """Draw latents alone, on the generator's device."""
        centre = self.space.centre().to(generator.device)
        return self.marginal.draw(self.space, centre.expand(rows, -1), generator)

    def observed(self, rows: int, generator: torch.Generator) -> Observed:
        """Draw observations with their latents, on the generator's device."""
        z = self.latents(rows, generator)
        return Observed(z=z, x=self.mixing(z))

    def pairs(self, rows: int, generator: torch.Generator, *, positives: int = 1) -> Pairs:
        """Draw positive pairs with their latents, on the generator's device.

        Of several positives of a row, independent given it, each array has them along an axis of their own.
        """
        z = self.latents(rows, generator)
        means = z if positives == 1 else z.repeat_interleave(positives, dim=0)
        z_positive = self.conditional.draw(self.space, means, generator)
        if positives > 1:
            z_positive = z_positive.unflatten(0, (rows, positives))
        return Pairs(
            z=z, x=self.mixing(z), z_positive=z_positive, x_positive=self.mixing(z_positive)
        )
