"""Similarity to a reference in the evaluations of a Hugging Face Trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samespace.errors import MissingDependencyError

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise MissingDependencyError(
        "samespace.learn.callbacks.trainer needs transformers; install it with: pip install 'samespace[hf]'."
    ) from error

if TYPE_CHECKING:
    from samespace.learn.callbacks.probe import SimilarityProbe


class TrainerSimilarity(TrainerCallback):
    """Adds a probe's values to the metrics of every evaluation, and to the Trainer's log history.

    So ``trainer.evaluate()`` returns them, and ``metric_for_best_model`` may name one. Every process probes
    the model, since the forward pass of a sharded one needs all of them.

    Examples
    --------
    >>> from samespace.learn.callbacks import SimilarityProbe
    >>> from samespace.learn.callbacks.trainer import TrainerSimilarity
    >>> def probing(trainer, represent, reference):
    ...     trainer.add_callback(TrainerSimilarity(SimilarityProbe(represent, reference)))
    ...     return trainer.evaluate()["eval_similarity/cca"]
    """

    def __init__(self, probe: SimilarityProbe) -> None:
        self.probe = probe

    def on_evaluate(
        self,
        args: Any,
        state: Any,
        control: Any,
        *,
        model: Any = None,
        metrics: dict[str, float] | None = None,
        **others: Any,
    ) -> None:
        """Probe the model after an evaluation; values are named as the evaluation's own are."""
        values = {f"eval_{name}": value for name, value in self.probe(model).items()}
        if metrics is not None:
            metrics.update(values)
        state.log_history.append({**values, "epoch": state.epoch, "step": state.global_step})
