"""samespace: whether two models learned the same representation, up to which map, and the map."""

from samespace import maps, measures
from samespace.compare import Comparison, compare
from samespace.errors import SamespaceError
from samespace.measures import (
    alignment,
    cca,
    cka,
    mcc,
    neighbour_overlap,
    procrustes,
    pwcca,
    r2,
    svcca,
    uniformity,
)
from samespace.moments import Moments
from samespace.representation import Pair, Representation

__all__ = [
    "Comparison",
    "Moments",
    "Pair",
    "Representation",
    "SamespaceError",
    "alignment",
    "cca",
    "cka",
    "compare",
    "maps",
    "mcc",
    "measures",
    "neighbour_overlap",
    "procrustes",
    "pwcca",
    "r2",
    "svcca",
    "uniformity",
]
