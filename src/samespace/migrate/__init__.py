"""From one model to the next: the retrain gate, applying a map to an index, judging the retrieval.

This room composes the others and adds no mathematics of its own.
"""

from __future__ import annotations

from samespace.migrate.apply import Applied, apply
from samespace.migrate.gate import GateDecision, gate

__all__ = [
    "Applied",
    "GateDecision",
    "apply",
    "gate",
]
