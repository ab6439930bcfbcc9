"""How alike two representations are, one measure a file; the linear ones are functions of Moments."""

from samespace.measures.alignment_uniformity import alignment, uniformity
from samespace.measures.cca import CCA, cca
from samespace.measures.cca_rows import cca_from_rows
from samespace.measures.cka import CKA, cka
from samespace.measures.mcc import MCC, mcc
from samespace.measures.neighbours import NeighbourOverlap, neighbour_overlap
from samespace.measures.procrustes import Procrustes, procrustes
from samespace.measures.pwcca import PWCCA, pwcca
from samespace.measures.r2 import R2, r2
from samespace.measures.svcca import SVCCA, svcca

__all__ = [
    "CCA",
    "CKA",
    "MCC",
    "PWCCA",
    "R2",
    "SVCCA",
    "NeighbourOverlap",
    "Procrustes",
    "alignment",
    "cca",
    "cca_from_rows",
    "cka",
    "mcc",
    "neighbour_overlap",
    "procrustes",
    "pwcca",
    "r2",
    "svcca",
    "uniformity",
]
