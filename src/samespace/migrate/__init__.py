"""From one model to the next: the retrain gate, applying a map to an index, judging the retrieval.

This room composes the others and adds no mathematics of its own.
"""

from __future__ import annotations

from samespace.migrate.apply import Applied, apply
from samespace.migrate.baselines import Migration, evaluate_migration
from samespace.migrate.gate import GateDecision, gate
from samespace.migrate.ranking import rank
from samespace.migrate.retrieval import Retrieval, evaluate

__all__ = [
    "Applied",
    "GateDecision",
    "Migration",
    "Retrieval",
    "apply",
    "evaluate",
    "evaluate_migration",
    "gate",
    "rank",
]
