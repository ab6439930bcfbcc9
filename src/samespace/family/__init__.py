"""The canonical family p(y|x,S) ~ exp f(x)'g(y): models, reductions to it, and what two of them say
of each other.
"""

from __future__ import annotations

from samespace.family.bias import absorb_bias
from samespace.family.canonical import Canonical, CanonicalModel, PerSample, from_arrays
from samespace.family.compare_models import ModelComparison, compare_models
from samespace.family.joint import JointClass
from samespace.family.layers import LayerAgreement, layer_agreement
from samespace.family.membership import Membership, membership
from samespace.family.modules import from_modules
from samespace.family.pretrained import from_pretrained
from samespace.family.reductions import (
    causal_lm,
    classifier,
    clip,
    cpc,
    masked_lm,
    n_pair,
    nplm,
    others,
    quick_thought,
    sentences,
    sequence_classifier,
    simclr,
    two_tower,
    xlnet,
)

__all__ = [
    "Canonical",
    "CanonicalModel",
    "JointClass",
    "LayerAgreement",
    "Membership",
    "ModelComparison",
    "PerSample",
    "absorb_bias",
    "causal_lm",
    "classifier",
    "clip",
    "compare_models",
    "cpc",
    "from_arrays",
    "from_modules",
    "from_pretrained",
    "layer_agreement",
    "masked_lm",
    "membership",
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
