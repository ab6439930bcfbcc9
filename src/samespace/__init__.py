"""samespace: whether two models learned the same representation, up to which map, and the map."""

from samespace import maps
from samespace.compare import Comparison, compare
from samespace.moments import Moments
from samespace.representation import Pair, Representation

__all__ = ["Comparison", "Moments", "Pair", "Representation", "compare", "maps"]
