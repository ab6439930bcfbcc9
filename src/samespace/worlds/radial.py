"""Roeder's classification world: the angle of a Gaussian point, told among distractors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from samespace.errors import OptionError
from samespace.worlds.samples import Labelled


@dataclass(frozen=True, kw_only=True)
class RadialWorld:
    """Points of a 2-D Gaussian labelled by which of K equal sectors their angle falls in.

    z ~ N(0, sd^2 I) in the plane; y = floor(K (angle(z) + pi) / 2 pi); the observation is z followed
    by `noise` standard normal inputs that say nothing about y.

    With K = 18 sectors and a representation of M = 2 dimensions, K >= M + 1 holds, which is what
    Theorem 1 needs to identify f and g up to a linear map.

    Parameters
    ----------
    classes
        K, the number of sectors.
    sd
        Standard deviation of each of the two coordinates.
    noise
        Number of added inputs without information.

    Notes
    -----
    The paper says "20 input dimensions of random noise" and not of which law; standard normal here.

    References
    ----------
    Roeder, Metz & Kingma (2021), Section 5.1, Figure 2 and Appendix A.2.

    Examples
    --------
    >>> import torch
    >>> sample = RadialWorld().labelled(5, torch.Generator().manual_seed(0))
    >>> sample.x.shape, sample.z.shape, int(sample.labels.max()) < 18
    (torch.Size([5, 22]), torch.Size([5, 2]), True)
    """

    classes: int = 18
    sd: float = 3.0
    noise: int = 20

    def __post_init__(self) -> None:
        if self.classes < 2 or self.noise < 0 or self.sd <= 0:
            raise OptionError(
                "A radial world has at least 2 classes, sd > 0 and noise >= 0; got "
                f"classes={self.classes}, sd={self.sd}, noise={self.noise}."
            )

    @property
    def d_x(self) -> int:
        """Width of an observation."""
        return 2 + self.noise

    def labelled(self, rows: int, generator: torch.Generator) -> Labelled:
        """Draw observations with their points and classes, on the generator's device."""
        drawn = torch.randn(rows, self.d_x, generator=generator, device=generator.device)
        z = self.sd * drawn[:, :2]
        turns = (torch.atan2(z[:, 1], z[:, 0]) + math.pi) / (2 * math.pi)
        # An angle of exactly pi would open sector K.
        labels = (turns * self.classes).long().clamp(max=self.classes - 1)
        return Labelled(z=z, x=torch.cat([z, drawn[:, 2:]], dim=1), labels=labels)
