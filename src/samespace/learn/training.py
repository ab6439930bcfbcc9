"""Training a population: one optimiser for K members, that a kill at any moment does not change."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from torch import nn

from samespace.errors import NotFiniteError, OptionError
from samespace.learn import checkpoint as checkpoints
from samespace.learn.steps import CapturedStep, EagerStep, Loss
from samespace.learn.streams import Stream

if TYPE_CHECKING:
    from torch import Tensor

Progress = Callable[[str, int, int], None]
Scores = Mapping[str, Sequence[float | None]]
"""What `evaluate` gives: a value per member or pair; None for what cannot be measured."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to optimise: steps, optimiser, and the learning rate at each step.

    The rate rises linearly over `warmup` steps, then stays ("constant") or falls to zero along half
    a cosine ("cosine"); it is a function of the step alone.
    """

    steps: int
    learning_rate: float = 1e-4
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = 0
    optimiser: Literal["adam", "adamw"] = "adam"
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.learning_rate <= 0 or self.warmup < 0:
            raise OptionError(
                "A recipe has steps >= 1, learning_rate > 0 and warmup >= 0; got "
                f"{self.steps}, {self.learning_rate} and {self.warmup}."
            )

    def rate(self, step: int) -> float:
        """Return the learning rate of one step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        if self.schedule == "constant":
            return self.learning_rate
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done))

    def optimiser_of(self, model: nn.Module) -> torch.optim.Optimizer:
        """Make the optimiser: elementwise, so that members stacked together never meet in it.

        On a GPU its whole state lives there, the rate too, so that a captured step can read it.
        """
        kind = torch.optim.AdamW if self.optimiser == "adamw" else torch.optim.Adam
        device = next(model.parameters()).device
        on_gpu = device.type == "cuda"
        return kind(
            model.parameters(),
            lr=torch.tensor(self.learning_rate, device=device) if on_gpu else self.learning_rate,
            betas=self.betas,
            weight_decay=self.weight_decay,
            fused=on_gpu,
            capturable=on_gpu,
        )


@dataclass(frozen=True, kw_only=True)
class History:
    """What training saw: per evaluation the step, the members' mean losses since, and their scores."""

    steps: list[int] = field(default_factory=list)
    losses: list[list[float]] = field(default_factory=list)
    scores: list[dict[str, Sequence[float | None]]] = field(default_factory=list)

    def add(self, step: int, losses: list[float], scores: Scores) -> None:
        """Append one evaluation."""
        self.steps.append(step)
        self.losses.append(losses)
        self.scores.append(dict(scores))


def train(
    model: nn.Module,
    stream: Stream,
    loss: Loss,
    recipe: Recipe,
    *,
    evaluate: Callable[[nn.Module], Scores] | None = None,
    every: int | None = None,
    stop: Callable[[Scores], bool] | None = None,
    checkpoint: Path | None = None,
    seconds: float = 30.0,
    captured: bool = False,
    before_step: Callable[[int], None] | None = None,
    progress: Progress | None = None,
) -> History:
    """Train every member of the model in place on its own loss, and return what was seen.

    One step takes the gradient of the *sum* of the members' losses. Members share no weight and
    Adam works weight by weight, so each member moves as if it were alone.

    Parameters
    ----------
    model
        Any module; a population carries a leading member axis in its output (`StackedMLP`,
        `Members`), a single module is a population of one.
    stream
        Where batches come from: `WorldStream`, `LoaderStream`, or your own `Stream`.
    loss
        From the model and a batch to one loss per member, or to a single number.
    evaluate
        From the model to named lists of one score per member, run without gradients every `every`
        steps and at the end. It must not draw from the stream.
    stop
        From the latest scores to whether to stop now, such as `agreed` of `samespace.learn`.
    checkpoint
        A file for the unfinished state. Training that finds it there goes on from it, and on the same
        device ends at bit-identical weights, whenever it was killed.
    seconds
        Least time between two checkpoints.
    captured
        On a GPU, record the whole step once as a CUDA graph and replay it: for small models, whose
        launches cost more than their arithmetic. The loss must not look at a number on the host.
    before_step
        Called with the number of every step, from 0, to set what the loss reads and training changes, such as
        a temperature: a function of the step alone, written in place, where a captured step reads it.
    progress
        Called as progress("training: " and the members' latest scores, steps done, steps in all).

    Notes
    -----
    An unfinished checkpoint of other settings is an error, not an overwrite. The file is left in
    place at the end, so that a repeated call returns at once.
    """
    run = _Run(model, stream, recipe, loss, captured=captured)
    if checkpoint is not None:
        run.resume(checkpoint)
    every = every if every is not None else recipe.steps
    saved_at = time.monotonic()
    while run.step < recipe.steps and not run.stopped:
        if before_step is not None:
            before_step(run.step)
        run.advance()
        if run.step % every == 0 or run.step == recipe.steps:
            scores = _scores(model, evaluate)
            run.record(scores)
            run.stopped = stop is not None and stop(scores)
        if progress is not None:
            progress(_stage(run.history), run.step, recipe.steps)
        over = run.stopped or run.step == recipe.steps
        if checkpoint is not None and (over or time.monotonic() - saved_at > seconds):
            run.save(checkpoint)
            saved_at = time.monotonic()
    return run.history


class _Run:
    """The whole state of a training: everything that its next step depends on."""

    def __init__(
        self, model: nn.Module, stream: Stream, recipe: Recipe, loss: Loss, *, captured: bool
    ) -> None:
        self.model, self.stream, self.recipe = model, stream, recipe
        self.optimiser = recipe.optimiser_of(model)
        self.device = next(model.parameters()).device
        kind = CapturedStep if captured else EagerStep
        self.take = kind(model, self.optimiser, loss)
        self.step, self.stopped, self.history = 0, False, History()
        self._sum: Tensor | None = None
        self._since = 0

    def advance(self) -> None:
        """Take one step on the next batch."""
        losses = self.take(self.stream.next(), rate=self.recipe.rate(self.step))
        # Summed on the device: reading a number at every step would make a GPU wait.
        self._sum = losses.clone() if self._sum is None else self._sum + losses
        self._since += 1
        self.step += 1

    def record(self, scores: Scores) -> None:
        """Close the stretch since the last evaluation."""
        assert self._sum is not None
        losses = (self._sum / self._since).tolist()
        bad = [member for member, value in enumerate(losses) if not math.isfinite(value)]
        if bad:
            raise NotFiniteError(
                f"The loss of member(s) {bad} is not finite by step {self.step}; lower the learning "
                f"rate (now {self.recipe.learning_rate:g}) or lengthen the warm-up."
            )
        self.history.add(self.step, losses, scores)
        self._sum, self._since = None, 0

    def save(self, path: Path) -> None:
        state = {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "stream": self.stream.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state(self.device) if self._on_gpu else None,
            "step": self.step,
            "stopped": self.stopped,
            "sum": self._sum,
            "since": self._since,
            "history": vars(self.history),
        }
        checkpoints.save(path, state, identity=self._identity)

    def resume(self, path: Path) -> None:
        state = checkpoints.load(path, identity=self._identity, device="cpu")
        if state is None:
            return
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self._bring_rates()
        self.stream.load_state_dict(state["stream"])
        torch.set_rng_state(state["random"])
        if self._on_gpu and state["random_cuda"] is not None:
            torch.cuda.set_rng_state(state["random_cuda"], self.device)
        self.step, self.stopped = state["step"], state["stopped"]
        self._sum = None if state["sum"] is None else state["sum"].to(self.device)
        self._since, self.history = state["since"], History(**state["history"])

    def _bring_rates(self) -> None:
        """Move the rates of a loaded state to where a captured step reads them."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], torch.Tensor):
                group["lr"] = group["lr"].to(self.device)

    @property
    def _on_gpu(self) -> bool:
        return self.device.type == "cuda"

    @property
    def _identity(self) -> str:
        shapes = {name: tuple(value.shape) for name, value in self.model.state_dict().items()}
        return (
            f"{self.recipe}, {sum(math.prod(s) for s in shapes.values())} weights in {len(shapes)}"
        )


def _stage(history: History) -> str:
    """Name the stage, with the members' latest scores."""
    latest = history.scores[-1] if history.scores else {}
    shown = [f"{name} {' '.join(map(_told, values))}" for name, values in latest.items()]
    return ": ".join(["training", ", ".join(shown)]) if shown else "training"


def _told(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _scores(model: nn.Module, evaluate: Callable[[nn.Module], Scores] | None) -> Scores:
    if evaluate is None:
        return {}
    was_training = model.training
    model.eval()
    with torch.no_grad():
        scores = evaluate(model)
    model.train(was_training)
    return scores
