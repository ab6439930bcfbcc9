"""What a world gives: observations, always with the latents that made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Observations `x` of latents `z`; shapes may carry a leading member axis."""

    z: Float[Tensor, "*members n d_z"]
    x: Float[Tensor, "*members n d_x"]


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Observations `x` of latents `z` with a class each."""

    z: Float[Tensor, "*members n d_z"]
    x: Float[Tensor, "*members n d_x"]
    labels: Int[Tensor, "*members n"]


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Observations `x` of latents `z`, each with one or several positive partners from p(. | z)."""

    z: Float[Tensor, "*members n d_z"]
    x: Float[Tensor, "*members n d_x"]
    z_positive: Float[Tensor, "*members n *p d_z"]
    x_positive: Float[Tensor, "*members n *p d_x"]


Sample = TypeVar("Sample", Observed, Labelled, Pairs)


def stack(samples: Sequence[Sample]) -> Sample:
    """Stack the samples of K members along a new first axis."""
    kind = type(samples[0])
    return kind(
        **{
            field.name: torch.stack([getattr(sample, field.name) for sample in samples])
            for field in fields(kind)
        }
    )


def part(sample: Sample, number: int, *, of: int) -> Sample:
    """Return one of several equal parts of stacked samples, cut along the rows."""
    kind = type(sample)
    return kind(
        **{
            field.name: getattr(sample, field.name).unflatten(1, (of, -1))[:, number]
            for field in fields(kind)
        }
    )
