"""The scores of a training as it went, and what a step of it cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

    from samespace.learn.training import History, Scores


class Watch:
    """Score a model when asked, and keep the clock of what lies between two scores.

    Scoring reads numbers off the device and so waits for every step before it: the time from the end
    of one scoring to the beginning of the next is that of the steps alone.
    """

    def __init__(self, score: Callable[[nn.Module], Scores]) -> None:
        self._score = score
        self._spans: list[float] = []
        self._since: float | None = None
        self.story: dict[str, Any] = {}

    def __call__(self, model: nn.Module) -> Scores:
        """Return the scores of the model."""
        float(next(model.parameters()).sum())  # known only when all steps are done
        if self._since is not None:
            self._spans.append(time.perf_counter() - self._since)
        scores = self._score(model)
        self._since = time.perf_counter()
        return scores

    def close(self, history: History, every: int) -> None:
        """Write down the scores, and the seconds of a step: the median over this process's spans.

        None where the training was taken up again for too short a rest to have a whole span.
        """
        spans = sorted(self._spans)
        self.story = {
            "steps": history.steps,
            "scores": history.scores,
            "losses": history.losses,
            "seconds_per_step": spans[len(spans) // 2] / every if spans else None,
        }
