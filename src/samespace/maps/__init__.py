"""The admissible maps, one class per file, from the smallest to the largest."""

from samespace.maps.affine import Affine
from samespace.maps.base import Map
from samespace.maps.identity import Identity
from samespace.maps.low_rank import LowRank
from samespace.maps.orthogonal import Orthogonal
from samespace.maps.permutation import Permutation

__all__ = ["Affine", "Identity", "LowRank", "Map", "Orthogonal", "Permutation"]
