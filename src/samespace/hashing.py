"""Row keys -> pseudo-random 64-bit numbers: the same row always lands in the same fold and sample.

One mixer (the finaliser of SplitMix64, Steele et al. 2014) serves every use; a salt keeps the uses
independent, so that which fold a row is in says nothing about whether the reservoir keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Int, UInt64
    from numpy import ndarray as Array

FOLD_SALT = 0x9E3779B97F4A7C15
SAMPLE_SALT = 0xD1B54A32D192ED03


def mix(keys: UInt64[Array, " n"], *, salt: int) -> UInt64[Array, " n"]:
    """Scatter 64-bit keys uniformly: every output bit depends on every input bit."""
    z = keys.astype(np.uint64) + np.uint64(salt)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def fold_of(keys: UInt64[Array, " n"], folds: int) -> Int[Array, " n"]:
    """Fold of each row: a hash of its key, so it depends on neither batch size nor order."""
    return (mix(keys, salt=FOLD_SALT) % np.uint64(folds)).astype(np.intp)


def priority_of(keys: UInt64[Array, " n"]) -> UInt64[Array, " n"]:
    """Rank of each row for the sample: the rows of the smallest priorities are kept."""
    return mix(keys, salt=SAMPLE_SALT)
