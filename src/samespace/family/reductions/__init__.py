"""One file per reduction of Roeder et al. 2021, Section 4 and Appendix D: an objective in the wild
-> (f, g, S).

Each function takes what the original model is made of and returns a `CanonicalModel` whose
log-probabilities are the original's own, to rounding. Skip-gram with negative sampling is not among
them: see `samespace.family.membership`.
"""

from __future__ import annotations

from samespace.family.reductions.causal_lm import causal_lm
from samespace.family.reductions.classifier import classifier
from samespace.family.reductions.clip import clip
from samespace.family.reductions.cpc import cpc
from samespace.family.reductions.masked_lm import masked_lm
from samespace.family.reductions.n_pair import n_pair
from samespace.family.reductions.nplm import nplm
from samespace.family.reductions.quick_thought import quick_thought
from samespace.family.reductions.sentences import sentences
from samespace.family.reductions.sequence_classifier import sequence_classifier
from samespace.family.reductions.simclr import others, simclr
from samespace.family.reductions.two_tower import two_tower
from samespace.family.reductions.xlnet import xlnet

__all__ = [
    "causal_lm",
    "classifier",
    "clip",
    "cpc",
    "masked_lm",
    "n_pair",
    "nplm",
    "others",
    "quick_thought",
    "sentences",
    "sequence_classifier",
    "simclr",
    "two_tower",
    "xlnet",
]
