"""Reizinger's world: classes are directions of the sphere, and latents gather about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from samespace.errors import DiversityError, OptionError
from samespace.worlds.samples import Labelled
from samespace.worlds.spaces import Sphere
from samespace.worlds.vmf import VonMisesFisher

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterWorld:
    """z ~ vMF(v_c, kappa) about the direction v_c of its class c, and x = g(z).

    Labels are drawn uniformly: classes for supervised classification; or, with `instances`, the
    numbers of instances, each of which belongs to class `number % classes` and is seen through endless
    draws about the same direction (parametric instance discrimination).

    Parameters
    ----------
    directions
        One unit vector per class. They must span R^n affinely (n + 1 of them in general position);
        without that, no classifier can tell the latents along what is missing.
    kappa
        Concentration of the latents about their direction.
    mixing
        g, an injective function of rows.
    instances
        Number of instances, at least one per class, or None to label by class.

    References
    ----------
    Reizinger et al., "Cross-Entropy Is All You Need To Invert the Data Generating Process" (2024),
    the cluster-centric process and Theorem 1.
    """

    directions: Float[Tensor, "classes n"]
    kappa: float
    mixing: Callable[[Tensor], Tensor]
    instances: int | None = None

    def __post_init__(self) -> None:
        classes, n = self.directions.shape
        spread = self.directions[1:] - self.directions[:1]
        rank = int(torch.linalg.matrix_rank(spread.double(), rtol=1e-6)) if classes > 1 else 0
        if rank < n:
            raise DiversityError(
                f"{classes} directions span {rank} of {n} dimensions affinely; give at least {n + 1} in "
                "general position."
            )
        if self.instances is not None and self.instances < classes:
            raise OptionError(
                f"Each of {classes} classes needs an instance; got instances={self.instances}."
            )

    @classmethod
    def drawn(
        cls,
        n: int,
        classes: int,
        generator: torch.Generator,
        *,
        kappa: float,
        mixing: Callable[[Tensor], Tensor],
        instances: int | None = None,
    ) -> ClusterWorld:
        """Draw the classes' directions uniformly on the sphere."""
        directions = Sphere(n).uniform(classes, generator)
        return cls(directions=directions, kappa=kappa, mixing=mixing, instances=instances)

    def labelled(self, rows: int, generator: torch.Generator) -> Labelled:
        """Draw observations with their latents and labels, on the generator's device."""
        classes, n = self.directions.shape
        count = classes if self.instances is None else self.instances
        labels = torch.randint(count, (rows,), generator=generator, device=generator.device)
        mean = self.directions.to(generator.device)[self.class_of(labels)]
        z = VonMisesFisher(kappa=self.kappa).draw(Sphere(n), mean, generator)
        return Labelled(z=z, x=self.mixing(z), labels=labels)

    def class_of(self, labels: Int[Tensor, " rows"]) -> Int[Tensor, " rows"]:
        """Return the class of each label: itself, or that of the instance it numbers."""
        return labels % len(self.directions)
