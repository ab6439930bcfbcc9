"""Training populations epoch by epoch, without a word between the device and the host.

On a GPU a step of a small model is all launch overhead. So a whole epoch of a population, forward, backward
and update of every batch, is captured once as a CUDA graph and replayed; the order of the samples is written
into a fixed place beforehand, what is measured stays on the device until the end, and populations of
different shapes take turns on streams of their own, so that the device works on all of them at once. On a CPU
the same epoch is simply called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from samespace.errors import ShapeError
from samespace.learn import checkpoint as checkpoints
from samespace.learn.epoch_orders import EPOCHS, EpochOrders
from samespace.learn.epoch_recipe import EpochRecipe
from samespace.learn.stacked_transformer import StackedParameters

Progress = Callable[[str, int, int], None]


class Training:
    """One population on its way: its weights, its optimiser, and what was measured so far.

    Parameters
    ----------
    parameters
        Of the population, trained in place.
    loss
        From sample numbers (models, batch) to one loss per model.
    measure
        From nothing to named tensors, models first, at every evaluation.
    orders
        Which samples each model sees when.
    recipe
        How to train.
    checkpoint
        A file for the unfinished state. A training that finds it there goes on from it, and on the same
        device ends where it would have ended, bit for bit on a CPU.
    identity
        What else the result depends on, in words; a checkpoint of another identity is refused.
    seconds
        Least time between two checkpoints.
    captured
        Whether epochs on a GPU are CUDA graphs; without effect elsewhere.
    """

    def __init__(
        self,
        parameters: StackedParameters,
        loss: Callable[[Tensor], Tensor],
        measure: Callable[[], Mapping[str, Tensor]],
        orders: EpochOrders,
        recipe: EpochRecipe,
        *,
        checkpoint: Path | None = None,
        identity: str = "",
        seconds: float = 60.0,
        captured: bool = True,
    ) -> None:
        models = parameters.flat.shape[0]
        if models != len(orders.seeds):
            raise ShapeError(
                "Each model draws its samples from a seed of its own: "
                f"{models} models need {models} seeds, got {len(orders.seeds)}."
            )
        self.recipe, self.orders, self.epoch = recipe, orders, 0
        self._weights, self._loss, self._measure = parameters.flat, loss, measure
        self._slices = list(_equal_stretches(recipe.decays(models)))
        self._optimiser = self._adam()
        self._checkpoint, self._identity, self._seconds = (
            checkpoint,
            f"{recipe} {identity}",
            seconds,
        )
        self._saved_at, self._block = time.monotonic(), -1
        device = parameters.flat.device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(device))
        with self._on_stream():
            self._rows = orders.block(0)[0].to(device)
            self._total = torch.zeros(models, device=device)
            self._history = self._empty_history()
            self._run_epoch = self._rehearsed(captured=captured)
            self._resume()

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        return self.epoch >= self.recipe.epochs

    def advance(self) -> None:
        """Train for one epoch, and measure and save when it is time."""
        with self._on_stream():
            block, within = divmod(self.epoch, EPOCHS)
            if block != self._block:
                self._drawn, self._block = self._on_device(self.orders.block(block)), block
            self._rows.copy_(self._drawn[within])
            self._run_epoch()
            self.epoch += 1
            if self.epoch % self.recipe.every == 0:
                self._record(self.epoch // self.recipe.every)
            if time.monotonic() - self._saved_at > self._seconds or self.finished:
                self._save()

    def history(self) -> dict[str, Tensor]:
        """Return what was measured, evaluations first, with the mean training loss under "loss"."""
        with self._on_stream():
            return {name: values.cpu() for name, values in self._history.items()}

    def _adam(self) -> torch.optim.Optimizer:
        """One optimiser on slices of the flat weights, since Adam has one decay per group."""
        weights, recipe = self._weights.detach(), self.recipe
        self._parts = [weights[start:stop] for start, stop, _ in self._slices]
        groups = [
            {"params": [part], "weight_decay": decay}
            for part, (_, _, decay) in zip(self._parts, self._slices, strict=True)
        ]
        return torch.optim.Adam(
            groups, lr=recipe.learning_rate, fused=True, capturable=weights.is_cuda
        )

    def _one_epoch(self) -> None:
        self._total.zero_()
        batches = self._rows.split(self.recipe.batch, dim=1)
        for rows in batches:
            losses = self._loss(rows)
            # Models share no parameter, so the gradient of the sum is each model's own gradient.
            (gradient,) = torch.autograd.grad(losses.sum(), self._weights)
            for part, (start, stop, _) in zip(self._parts, self._slices, strict=True):
                part.grad = gradient[start:stop]
            self._optimiser.step()
            self._total.add_(losses.detach(), alpha=1.0 / len(batches))

    def _rehearsed(self, *, captured: bool) -> Callable[[], Any]:
        """Run an epoch so that everything is allocated, capture it on a GPU, and go back to the start."""
        start = self._weights.detach().clone()
        self._one_epoch()
        run: Callable[[], Any] = self._one_epoch
        if self._stream is not None and captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self._stream):
                self._one_epoch()
            run = graph.replay
        for tensor in self._state().values():
            tensor.zero_()
        self._weights.detach().copy_(start)
        return run

    def _empty_history(self) -> dict[str, Tensor]:
        measured, count = self._measured(), len(self.recipe.evaluations())
        return {
            name: torch.full((count, *value.shape), torch.nan, device=value.device)
            for name, value in measured.items()
        }

    def _measured(self) -> dict[str, Tensor]:
        with torch.no_grad():
            found = {**self._measure(), "loss": self._total}
        # A view of the weights taken without gradients still carries their mark.
        return {name: value.detach() for name, value in found.items()}

    def _record(self, evaluation: int) -> None:
        for name, value in self._measured().items():
            self._history[name][evaluation] = value

    def _state(self) -> dict[str, Tensor]:
        """Return all tensors that the next epoch depends on, by name."""
        moments = {
            f"{name} {number}": value
            for number, part in enumerate(self._parts)
            for name, value in self._optimiser.state[part].items()
        }
        return {"weights": self._weights.detach(), **moments}

    def _save(self) -> None:
        if self._checkpoint is not None:
            state = {"epoch": self.epoch, "state": self._state(), "history": self._history}
            checkpoints.save(self._checkpoint, state, identity=self._identity)
        self._saved_at = time.monotonic()

    def _resume(self) -> None:
        saved = None
        if self._checkpoint is not None:
            device = self._weights.device
            saved = checkpoints.load(self._checkpoint, identity=self._identity, device=device)
        if saved is None:
            self._record(0)
            self._history["loss"][0] = torch.nan
            return
        self.epoch = saved["epoch"]
        for kept, mine in ((saved["state"], self._state()), (saved["history"], self._history)):
            for name, tensor in mine.items():
                tensor.copy_(kept[name])

    def _on_device(self, block: Tensor) -> Tensor:
        if self._stream is None:
            return block
        # From pinned memory the copy waits in the stream; from other memory the host would wait.
        return block.pin_memory().to(self._weights.device, non_blocking=True)

    def _on_stream(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)


def train(trainings: Sequence[Training], *, progress: Progress | None = None) -> None:
    """Train populations to their ends, an epoch of each in turn."""
    total = max((one.recipe.epochs for one in trainings), default=0)
    while unfinished := [one for one in trainings if not one.finished]:
        for one in unfinished:
            one.advance()
        if progress is not None:
            progress("epochs", min(one.epoch for one in unfinished), total)


def _equal_stretches(values: Sequence[float]) -> Iterator[tuple[int, int, float]]:
    """Yield start, stop and value of each stretch of equal values."""
    start = 0
    for stop in range(1, len(values) + 1):
        if stop == len(values) or values[stop] != values[start]:
            yield start, stop, values[start]
            start = stop
