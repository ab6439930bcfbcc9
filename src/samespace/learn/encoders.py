"""Encoders whose K members are one module: every weight carries a leading member axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import torch
from torch import nn

from samespace.errors import OptionError
from samespace.learn.wide_layers import mixed_layers

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

Initial = Literal["torch", "he"]
Precision = Literal["float32", "bfloat16"]


class StackedLinear(nn.Module):
    """K linear layers in one: row k of the input goes through weights k, `x[k] @ weight[k] + bias[k]`.

    A member's weights are drawn from its own generator alone, so a member is the same whoever it is
    stacked with. "torch" draws weights and biases uniformly within 1 / sqrt(d_in), as torch's own linear
    layer does; "he" draws weights within sqrt(6 / d_in), which keeps the spread of rectified
    activations from layer to layer, and starts biases at zero.
    """

    def __init__(
        self,
        generators: Sequence[torch.Generator],
        d_in: int,
        d_out: int,
        *,
        initial: Initial = "torch",
    ) -> None:
        super().__init__()
        drawn = torch.stack([torch.rand(d_in + 1, d_out, generator=g) for g in generators])
        drawn = (2.0 * drawn - 1.0) * math.sqrt((6.0 if initial == "he" else 1.0) / d_in)
        bias = torch.zeros_like(drawn[:, -1:]) if initial == "he" else drawn[:, -1:].clone()
        self.weight = nn.Parameter(drawn[:, :-1].clone())
        self.bias = nn.Parameter(bias)

    def forward(self, x: Float[Tensor, "k n d_in"]) -> Float[Tensor, "k n d_out"]:
        return torch.baddbmm(self.bias, x, self.weight)


class StackedMLP(nn.Module):
    """K multi-layer perceptrons with leaky rectifiers between their layers, trained as one.

    Parameters
    ----------
    seeds
        One seed per member; equal seeds give equal members.
    widths
        Widths from the input to the output, at least two.
    slope
        Slope of the rectifier on the negative side.
    head
        What the last layer's output goes through: a `SphereHead`, a `BoxHead`, any module, or None.
    initial
        How weights start, see `StackedLinear`. From "torch", a deep encoder's outputs hardly vary with
        its inputs, and a contrastive loss has to find the latents one after the other from there;
        "he" starts them apart.
    precision
        What hidden layers multiply while training, see `mixed_layers`; the first and the last layer, and
        every layer in evaluation mode, stay in float32.

    Examples
    --------
    >>> encoder = StackedMLP([0, 1], [10, 32, 3], head=SphereHead())
    >>> encoder(torch.ones(2, 7, 10)).norm(dim=-1).allclose(torch.ones(2, 7))
    True
    """

    def __init__(
        self,
        seeds: Sequence[int],
        widths: Sequence[int],
        *,
        slope: float = 0.01,
        head: nn.Module | None = None,
        initial: Initial = "torch",
        precision: Precision = "float32",
    ) -> None:
        super().__init__()
        if precision not in ("float32", "bfloat16"):
            raise OptionError(f"Layers multiply 'float32' or 'bfloat16'; got {precision=}.")
        if initial not in ("torch", "he"):
            raise OptionError(f"Weights start as by 'torch' or 'he'; got initial={initial!r}.")
        if not seeds or len(widths) < 2:
            raise OptionError(
                "A stacked MLP needs at least one seed and two widths (input and output); got "
                f"{len(seeds)} seeds and widths {list(widths)}."
            )
        generators = generators_of(seeds)
        layers = [
            StackedLinear(generators, d_in, d_out, initial=initial)
            for d_in, d_out in pairwise(widths)
        ]
        self.layers: Sequence[StackedLinear] = nn.ModuleList(layers)  # type: ignore[assignment]
        self.slope, self.precision = slope, precision
        self.head = head if head is not None else nn.Identity()

    def forward(self, x: Float[Tensor, "k n d_in"]) -> Float[Tensor, "k n d_out"]:
        if self.precision == "bfloat16" and self.training and len(self.layers) > 2:
            layers = [(one.weight, one.bias) for one in self.layers]
            return self.head(mixed_layers(x, layers, slope=self.slope))
        *hidden, last = self.layers
        for layer in hidden:
            x = nn.functional.leaky_relu(layer(x), self.slope)
        return self.head(last(x))


class SphereHead(nn.Module):
    """Project rows on the sphere of a given radius."""

    def __init__(self, radius: float = 1.0) -> None:
        super().__init__()
        self.radius = radius

    def forward(self, x: Float[Tensor, "*k n d"]) -> Float[Tensor, "*k n d"]:
        return self.radius * nn.functional.normalize(x, dim=-1)


class BoxHead(nn.Module):
    """Squash rows into a box whose sides are learnt, one bound per member and dimension.

    Under a similarity -|a - b|^p / temperature a side s is the unit side at temperature / s^p: growing
    sides sharpen what began smooth. They are learnt through their logarithms, so that a step changes them
    by a factor, whatever their size.
    """

    def __init__(self, members: int, d: int, *, start: float = 1.0) -> None:
        super().__init__()
        if start <= 0:
            raise OptionError(f"A side of a box is positive; got start={start}.")
        self.log_bound = nn.Parameter(torch.full((members, 1, d), math.log(start)))

    def forward(self, x: Float[Tensor, "k n d"]) -> Float[Tensor, "k n d"]:
        return torch.sigmoid(x) * self.log_bound.exp()


class Members(nn.Module):
    """K modules of any kind as one: slice k of the input goes through module k.

    For encoders that are not stacked MLPs (convolutions, transformers, anything of your own). They
    run one after another; everything else of a population (one optimiser, checkpoints, scores per
    member) works the same.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(modules)

    def forward(self, x: Float[Tensor, "k n ..."]) -> Float[Tensor, "k n d"]:
        pairs = zip(self.members, x, strict=True)
        return torch.stack([module(one) for module, one in pairs])


class Classifier(nn.Module):
    """K models of the canonical family with a table of labels: p(y | x) ~ exp f(x)'g(y).

    `f` is any stacked encoder, `g` a learnt table of one vector per label; there is no bias, which
    the family does not have (a constant coordinate of f stands for one where it is wanted).

    g starts near zero. Its first steps then move g(y) along the mean of f(x) over the inputs of y,
    which puts like labels side by side; from a wide start a narrow f (two dimensions, say) is
    left with its labels in a random order that no later step can undo.
    """

    def __init__(self, f: nn.Module, seeds: Sequence[int], *, labels: int, d: int) -> None:
        super().__init__()
        self.f = f
        drawn = [torch.randn(labels, d, generator=one) for one in generators_of(seeds, stream=1)]
        self.g = nn.Parameter(0.01 * torch.stack(drawn))

    def forward(self, x: Float[Tensor, "k n d_in"]) -> Float[Tensor, "k n labels"]:
        return self.f(x) @ self.g.mT


def generators_of(
    seeds: Sequence[int], *, stream: int = 0, device: str = "cpu"
) -> list[torch.Generator]:
    """Return one generator per seed; other streams of the same seed are independent of it."""
    return [torch.Generator(device).manual_seed(_mix(seed, stream)) for seed in seeds]


def _mix(seed: int, stream: int) -> int:
    """Hash (seed, stream) to 63 bits by SplitMix64's finaliser, so that near seeds lie far apart."""
    mask = (1 << 64) - 1
    state = (seed * 0x9E3779B97F4A7C15 + stream * 0xD1B54A32D192ED03 + 0x632BE59BD9B4E019) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return (state ^ (state >> 31)) >> 1
