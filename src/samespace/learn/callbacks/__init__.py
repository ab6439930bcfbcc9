"""Similarity to a reference representation, reported while a model trains; one adapter a framework.

``samespace.learn.callbacks.trainer`` serves the Hugging Face Trainer, ``samespace.learn.callbacks.lightning``
Lightning. Each is imported by itself, since each needs its framework.
"""

from samespace.learn.callbacks.probe import HELD_OUT, SimilarityProbe

__all__ = ["HELD_OUT", "SimilarityProbe"]
