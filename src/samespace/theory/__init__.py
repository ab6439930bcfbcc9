"""The canonical family's theory: what two models' values of f and g say about each other.

All functions take plain arrays (or paths, or Representations) f (n, M) and g (K, M), rows on the inputs and
on the labels, of one or two models; those about two models take a `ModelPair` in place of the four.
"""

from __future__ import annotations

from samespace.theory.anchors import AnchorDifferences
from samespace.theory.closeness import Closeness, closeness
from samespace.theory.complexity import (
    DisplacedMap,
    EffectiveComplexity,
    displaced_map,
    effective_complexity,
)
from samespace.theory.context_diversity import context_diversity
from samespace.theory.diversity import Diversity, diversity
from samespace.theory.from_likelihoods import (
    epsilon_from_log_prob,
    normaliser_shift,
    shift_from_normalisers,
)
from samespace.theory.likelihood import LikelihoodGap, likelihood_gap, log_normalisers
from samespace.theory.llv import LLV, d_llv, pairwise_gaps
from samespace.theory.logit_distance import LogitDistance, logit_distance
from samespace.theory.model_pair import ModelPair
from samespace.theory.svd_distance import SVDDistance, d_svd
from samespace.theory.theorem1 import LinearEquivalence, theorem1
from samespace.theory.theorem2 import CloseToLinear, LinearPart, theorem2

__all__ = [
    "LLV",
    "AnchorDifferences",
    "CloseToLinear",
    "Closeness",
    "DisplacedMap",
    "Diversity",
    "EffectiveComplexity",
    "LikelihoodGap",
    "LinearEquivalence",
    "LinearPart",
    "LogitDistance",
    "ModelPair",
    "SVDDistance",
    "closeness",
    "context_diversity",
    "d_llv",
    "d_svd",
    "displaced_map",
    "diversity",
    "effective_complexity",
    "epsilon_from_log_prob",
    "likelihood_gap",
    "log_normalisers",
    "logit_distance",
    "normaliser_shift",
    "pairwise_gaps",
    "shift_from_normalisers",
    "theorem1",
    "theorem2",
]
