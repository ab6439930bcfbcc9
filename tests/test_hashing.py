"""Hashes of row keys: the published mixer, even folds, and a sample that knows nothing of the folds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.hashing import FOLD_SALT, SAMPLE_SALT, fold_of, mix, priority_of
from tests.tolerances import STANDARD_ERRORS

N = 100_000
MASK = (1 << 64) - 1


def splitmix64(key: int, salt: int) -> int:
    z = (key + salt) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


@given(st.integers(0, MASK), st.sampled_from([FOLD_SALT, SAMPLE_SALT]))
def test_the_mixer_is_that_of_splitmix64_in_exact_integers(key, salt):
    assert int(mix(np.array([key], np.uint64), salt=salt)[0]) == splitmix64(key, salt)


def test_the_first_output_of_splitmix64_seeded_with_zero_is_the_published_one():
    # Vigna's splitmix64.c, seed 0: its first number is the finaliser of the golden gamma, our fold salt.
    assert int(mix(np.zeros(1, np.uint64), salt=FOLD_SALT)[0]) == 0xE220A8397B1DCDAF


def test_no_two_keys_collide():
    assert len(np.unique(mix(np.arange(N, dtype=np.uint64), salt=FOLD_SALT))) == N


@pytest.mark.parametrize("folds", [2, 7, 10])
@pytest.mark.parametrize("stride", [1, 10, 1 << 32])
def test_folds_are_even_even_for_keys_in_steps(folds, stride):
    keys = np.arange(N, dtype=np.uint64) * np.uint64(stride)
    share = np.bincount(fold_of(keys, folds), minlength=folds) / N
    error = np.sqrt(1 / folds * (1 - 1 / folds) / N)
    assert np.abs(share - 1 / folds).max() < STANDARD_ERRORS * error


def test_one_fold_takes_all():
    assert not fold_of(np.arange(50, dtype=np.uint64), 1).any()


def test_the_fold_of_a_row_depends_on_its_key_alone(rng):
    keys = rng.integers(0, 1 << 63, 300).astype(np.uint64)
    order = rng.permutation(300)
    assert (fold_of(keys[order], 10) == fold_of(keys, 10)[order]).all()
    assert (fold_of(keys[:7], 10) == fold_of(keys, 10)[:7]).all()


def test_the_sample_says_nothing_of_the_folds():
    keys = np.arange(N, dtype=np.uint64)
    kept = np.argsort(priority_of(keys))[:5000]
    share = np.bincount(fold_of(keys[kept], 10), minlength=10) / 5000
    assert np.abs(share - 0.1).max() < STANDARD_ERRORS * np.sqrt(0.1 * 0.9 / 5000)
