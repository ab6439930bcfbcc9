"""Small transformers of one shape and different seeds, computed as one.

The models of a population differ in their numbers, not in their shape; a step of one of them on a CPU or a
GPU is all launch overhead. So every parameter carries the population as its first axis, the forward pass is
a handful of batched products, and all parameters are views of one flat tensor, which an optimiser updates
in one fused kernel. A model's numbers do not depend on which other models it is stacked with.

The block is the one of ``torch.nn.TransformerEncoderLayer`` in its default form: attention, then a
feed-forward layer with ReLU, each added to its input and normalised afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from samespace.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The shape that all models of a population share.

    Parameters
    ----------
    tokens
        Size of the vocabulary of the input, the mask included.
    length
        Length of the sequences; positions are learned.
    width
        Width of the embeddings and of every block.
    outputs
        Width of the linear layer at the end.
    layers, heads, feed_forward
        As in ``torch.nn.TransformerEncoder``.
    read
        "mean" reads the mean over positions, "first" the first position, "given" a position named for
        each sequence.
    position_sd
        Standard deviation of the initial positions. Small by default, so that they do not drown the
        embeddings of tokens that training has made small.
    """

    tokens: int
    length: int
    width: int
    outputs: int
    layers: int = 3
    heads: int = 1
    feed_forward: int = 32
    read: str = "mean"
    position_sd: float = 0.02

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise OptionError(
                f"The width must be a multiple of the number of heads; got width {self.width} and "
                f"{self.heads} heads."
            )
        if self.read not in ("mean", "first", "given"):
            raise OptionError(f"read is 'mean', 'first' or 'given'; got {self.read!r}.")

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Name every parameter of one model, with its shape; weights act on the right, (inputs, outputs)."""
        d, hidden = self.width, self.feed_forward
        shapes: dict[str, tuple[int, ...]] = {
            "token": (self.tokens, d),
            "position": (self.length, d),
        }
        for layer in range(self.layers):
            block = {
                "query_key_value": (d, 3 * d),
                "query_key_value.bias": (3 * d,),
                "attended": (d, d),
                "attended.bias": (d,),
                "norm1": (d,),
                "norm1.bias": (d,),
                "up": (d, hidden),
                "up.bias": (hidden,),
                "down": (hidden, d),
                "down.bias": (d,),
                "norm2": (d,),
                "norm2.bias": (d,),
            }
            shapes |= {f"{layer}.{name}": shape for name, shape in block.items()}
        return shapes | {"out": (d, self.outputs), "out.bias": (self.outputs,)}


class StackedParameters:
    """Parameters of a population: one flat leaf tensor, and a view of it per name.

    Parameters
    ----------
    models
        For each model its parameters by name; all models have the same names and shapes.
    device
        Where they are kept.
    """

    def __init__(
        self, models: Sequence[dict[str, Tensor]], *, device: str | torch.device = "cpu"
    ) -> None:
        self._shapes = {name: value.shape for name, value in models[0].items()}
        flat = [torch.cat([value.reshape(-1) for value in model.values()]) for model in models]
        self.flat = torch.stack(flat).to(device).requires_grad_()

    def views(self) -> dict[str, Tensor]:
        """Return every parameter by name with the population first; gradients reach the flat tensor."""
        sizes = [shape.numel() for shape in self._shapes.values()]
        parts = torch.functional.split(self.flat, sizes, dim=1)
        return {
            name: part.view(-1, *shape)
            for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }


def initial(shape: Shape, generator: torch.Generator) -> dict[str, Tensor]:
    """Draw one model's parameters as PyTorch's own layers do: tokens N(0, 1), Xavier for attention."""
    model = {}
    for name, size in shape.parameters().items():
        kind = name.rsplit(".", maxsplit=1)[-1]
        if name in ("token", "position"):
            sd = shape.position_sd if name == "position" else 1.0
            model[name] = sd * torch.randn(size, generator=generator)
        elif kind in ("norm1", "norm2"):
            model[name] = torch.ones(size)
        elif "norm" in name or name.endswith(("query_key_value.bias", "attended.bias")):
            model[name] = torch.zeros(size)
        else:
            bound = _bound(name, shape)
            model[name] = (2 * torch.rand(size, generator=generator) - 1) * bound
    return model


def forward(shape: Shape, weights: dict[str, Tensor], tokens: Tensor) -> Tensor:
    """Encode sequences: tokens (models, batch, length) to (models, batch, outputs)."""
    return encode(shape, weights, embedded(weights["token"], tokens))


def embedded(table: Tensor, tokens: Tensor) -> Tensor:
    """Look tokens (models, ...) up in each model's own table (models, vocabulary, width)."""
    models, vocabulary, width = table.shape
    if vocabulary <= _SMALL_VOCABULARY:
        codes = (tokens.unsqueeze(-1) == torch.arange(vocabulary, device=table.device)).to(
            table.dtype
        )
        return (codes.flatten(1, -2) @ table).view(*tokens.shape, width)
    offsets = vocabulary * torch.arange(models, device=table.device)
    index = tokens + offsets.view(-1, *[1] * (tokens.dim() - 1))
    return functional.embedding(index, table.reshape(-1, width))


# Up to this length attention is cheaper written out: the fused kernel costs more to call than to run.
_SHORT = 4
# Up to here a product with 0 and 1 is faster than a lookup, whose gradient has to be sorted by token.
_SMALL_VOCABULARY = 64


def encode(
    shape: Shape,
    weights: dict[str, Tensor],
    embeddings: Tensor,
    *,
    present: Tensor | None = None,
    position: Tensor | None = None,
) -> Tensor:
    """Send embeddings (models, batch, length, width) through the blocks and the last linear layer.

    Parameters
    ----------
    shape, weights, embeddings
        The shape, the parameters by name, and the looked-up tokens.
    present
        Where sequences of unequal length have tokens, (models, batch, length); no token attends to the
        rest. Reading the mean would take the rest in, so read a position.
    position
        For ``read="given"`` the position to read of each sequence, (models, batch).
    """
    if (shape.read == "given") != (position is not None) or (
        present is not None and shape.read == "mean"
    ):
        raise OptionError(
            "A position is given exactly where read is 'given', and sequences of unequal length are not "
            f"read by their mean; got read {shape.read!r}, "
            f"{'no ' if position is None else ''}position and {'no ' if present is None else ''}present."
        )
    models, batch, length, width = embeddings.shape
    x = (embeddings + weights["position"].unsqueeze(1)).view(models, batch * length, width)
    seen = None if present is None else present.reshape(models * batch, 1, 1, length)
    for layer in range(shape.layers):
        x = _block(shape, {k: weights[f"{layer}.{k}"] for k in _BLOCK}, x, batch, seen)
    read = _read(shape, x.view(models, batch, length, width), position)
    return _linear(read, weights["out"], weights["out.bias"])


def _read(shape: Shape, x: Tensor, position: Tensor | None) -> Tensor:
    if position is not None:
        index = position[..., None, None].expand(-1, -1, 1, x.shape[-1])
        return x.gather(2, index).squeeze(2)
    return x.mean(dim=2) if shape.read == "mean" else x[:, :, 0]


_BLOCK = tuple(
    f"{name}{suffix}"
    for name in ("query_key_value", "attended", "norm1", "up", "down", "norm2")
    for suffix in ("", ".bias")
)


def _bound(name: str, shape: Shape) -> float:
    """Half-width of the uniform distribution that PyTorch draws this parameter from."""
    if name.endswith("query_key_value"):
        return math.sqrt(6.0 / (4 * shape.width))  # Xavier over the three stacked projections
    inputs = shape.feed_forward if ".down" in name else shape.width
    return 1.0 / math.sqrt(inputs)


def _block(
    shape: Shape, w: dict[str, Tensor], x: Tensor, batch: int, seen: Tensor | None
) -> Tensor:
    projected = _linear(x, w["query_key_value"], w["query_key_value.bias"])
    mixed = _linear(_attention(shape, projected, batch, seen), w["attended"], w["attended.bias"])
    x = _normalised(x + mixed, w["norm1"], w["norm1.bias"])
    hidden = _linear(x, w["up"], w["up.bias"]).relu()
    return _normalised(x + _linear(hidden, w["down"], w["down.bias"]), w["norm2"], w["norm2.bias"])


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.baddbmm(bias.unsqueeze(1), x, weight)


def _normalised(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    normal = functional.layer_norm(x, x.shape[-1:])
    return torch.addcmul(bias.unsqueeze(1), normal, weight.unsqueeze(1))


def _attention(shape: Shape, projected: Tensor, batch: int, seen: Tensor | None) -> Tensor:
    """Scaled dot-product attention within each sequence; projected: (models, batch * length, 3 width)."""
    models, rows, _ = projected.shape
    split = projected.view(models * batch, rows // batch, 3, shape.heads, -1)
    if seen is None and rows // batch <= _SHORT:
        return _short_attention(*split.unbind(2)).view(models, rows, shape.width)
    query, key, value = split.permute(2, 0, 3, 1, 4)
    mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
    return mixed.transpose(1, 2).reshape(models, rows, shape.width)


def _short_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attend as products and sums over (sequences, length, heads, width), without a copy of any of them."""
    scores = (query.unsqueeze(2) * key.unsqueeze(1)).sum(dim=-1) * (query.shape[-1] ** -0.5)
    return (scores.softmax(dim=2).unsqueeze(-1) * value.unsqueeze(1)).sum(dim=2)
