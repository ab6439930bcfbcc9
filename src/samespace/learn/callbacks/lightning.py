"""Similarity to a reference in the validations of a Lightning Trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samespace.errors import MissingDependencyError

try:
    from lightning.pytorch import Callback
except ImportError as error:
    raise MissingDependencyError(
        "samespace.learn.callbacks.lightning needs Lightning; install it with: pip install lightning."
    ) from error

if TYPE_CHECKING:
    from samespace.learn.callbacks.probe import SimilarityProbe


class LightningSimilarity(Callback):
    """Logs a probe's values at the end of every validation epoch, but for the sanity check before training.

    So loggers receive them, and ``ModelCheckpoint(monitor="similarity/cca")`` may watch one. Every process
    probes its own copy of the model; the values logged are the first process's.

    Examples
    --------
    >>> from samespace.learn.callbacks import SimilarityProbe
    >>> def probing(represent, reference):
    ...     from lightning.pytorch import Trainer
    ...     from samespace.learn.callbacks.lightning import LightningSimilarity
    ...     return Trainer(callbacks=[LightningSimilarity(SimilarityProbe(represent, reference))])
    """

    def __init__(self, probe: SimilarityProbe) -> None:
        super().__init__()
        self.probe = probe

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Probe the module and log the values."""
        if not trainer.sanity_checking:
            pl_module.log_dict(self.probe(pl_module))
