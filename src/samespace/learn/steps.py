"""One step of training, taken as it is or replayed from a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from samespace.errors import OptionError, ShapeError

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

Loss = Callable[[nn.Module, Any], "Tensor"]

_WARM_UP = 3
"""Steps taken as they are before one is captured: libraries choose and allocate on first use."""


class EagerStep:
    """Go down the gradient of the sum of the members' losses on one batch."""

    def __init__(self, model: nn.Module, optimiser: torch.optim.Optimizer, loss: Loss) -> None:
        self._model, self._optimiser, self._loss = model, optimiser, loss

    def __call__(self, batch: Any, *, rate: float) -> Float[Tensor, " k"]:
        """Take a step at a learning rate, and return the members' losses before it."""
        self.set_rate(rate)
        return self.descend(batch)

    def set_rate(self, rate: float) -> None:
        for group in self._optimiser.param_groups:
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def descend(self, batch: Any) -> Float[Tensor, " k"]:
        losses = self._loss(self._model, batch).reshape(-1)
        self._optimiser.zero_grad(set_to_none=True)
        losses.sum().backward()
        self._optimiser.step()
        return losses.detach()


class CapturedStep:
    """The same step, recorded once as a CUDA graph and replayed on every later batch.

    The graph reads its batch from where the recorded one lay, so batches must all be of one shape. What
    it returns is overwritten by the next step.
    """

    def __init__(self, model: nn.Module, optimiser: torch.optim.Optimizer, loss: Loss) -> None:
        device = next(model.parameters()).device
        if device.type != "cuda":
            raise OptionError(
                f"A captured step is a CUDA graph and needs a GPU; the model is on {device}. Move it "
                "there, or train with captured=False."
            )
        self._eager = EagerStep(model, optimiser, loss)
        self._stream = torch.cuda.Stream(device)
        self._taken = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._batch: Any = None
        self._losses: Tensor | None = None

    def __call__(self, batch: Any, *, rate: float) -> Float[Tensor, " k"]:
        """Take a step at a learning rate, and return the members' losses before it."""
        self._taken += 1
        if self._taken <= _WARM_UP:
            return self._beside(batch, rate)
        if self._graph is None:
            self._capture(batch)
        self._eager.set_rate(rate)
        copy(self._batch, batch)
        assert self._graph is not None
        assert self._losses is not None
        self._graph.replay()
        return self._losses

    def _beside(self, batch: Any, rate: float) -> Tensor:
        """Take a step on the stream that will be captured."""
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            losses = self._eager(batch, rate=rate)
        torch.cuda.current_stream().wait_stream(self._stream)
        return losses

    def _capture(self, batch: Any) -> None:
        """Record a step without taking it."""
        outside = {str(one.device) for one in tensors(batch) if one.device.type != "cuda"}
        if outside:
            raise OptionError(
                f"A captured step reads its batch on the GPU; got tensors on {', '.join(outside)}. Let the "
                "stream put them there, or train with captured=False."
            )
        self._batch, self._graph = mapped(torch.clone, batch), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=self._stream):
            self._losses = self._eager.descend(self._batch)


def copy(to: Any, batch: Any) -> None:
    """Copy a batch onto another of the same shapes."""
    for kept, new in zip(tensors(to), tensors(batch), strict=True):
        if kept.shape != new.shape:
            raise ShapeError(
                f"A captured step takes batches of one shape, {tuple(kept.shape)}; got "
                f"{tuple(new.shape)}. Drop the last, smaller batch, or train with captured=False."
            )
        kept.copy_(new, non_blocking=True)


def tensors(batch: Any) -> list[Tensor]:
    """Return the tensors of a batch in order."""
    found: list[Tensor] = []
    mapped(found.append, batch)
    return found


def mapped(function: Callable[[Tensor], Any], batch: Any) -> Any:
    """Apply a function to every tensor of a batch: any nest of sequences, mappings and dataclasses."""
    if isinstance(batch, torch.Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        return {key: mapped(function, one) for key, one in batch.items()}
    if isinstance(batch, list | tuple):
        return [mapped(function, one) for one in batch]
    if is_dataclass(batch) and not isinstance(batch, type):
        return type(batch)(**{key: mapped(function, one) for key, one in vars(batch).items()})
    return batch
