"""The hand-written pairs have the losses, the divergences and the angles that the papers print."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from samespace.errors import OptionError
from samespace.worlds.nielsen import (
    TabulatedPair,
    close_distributions_pair,
    close_losses_pair,
)
from tests.tolerances import atol


def test_close_losses_pair_has_both_losses_below_1e_8(rng: np.random.Generator) -> None:
    pair = close_losses_pair(rng)
    right = np.arange(len(pair.labels)), pair.labels
    assert 0 < -pair.prime.log_prob()[right].mean() < 1e-8
    assert 0 < -pair.star.log_prob()[right].mean() < 1e-8


def test_close_losses_pair_turns_the_star_embeddings_sixteen_times_as_far(
    rng: np.random.Generator,
) -> None:
    pair = close_losses_pair(rng, per_label=50)

    def offsets(f: np.ndarray, g: np.ndarray) -> np.ndarray:
        to_label = (f[:, 0] + 1j * f[:, 1]) / (g[pair.labels, 0] + 1j * g[pair.labels, 1])
        return np.angle(to_label)

    np.testing.assert_allclose(
        offsets(pair.star.f, pair.star.g),
        16 * offsets(pair.prime.f, pair.prime.g),
        atol=atol("exact"),
    )
    np.testing.assert_allclose(
        np.linalg.norm(pair.star.f, axis=1), np.linalg.norm(pair.prime.f, axis=1)
    )


def test_close_distributions_pair_has_a_divergence_that_vanishes_with_length() -> None:
    def divergence(length: float) -> float:
        pair = close_distributions_pair(np.random.default_rng(3), length=length, per_label=50)
        p, q = pair.prime.log_prob(), pair.star.log_prob()
        return float((np.exp(p) * (p - q)).sum(axis=1).mean())

    first, middle, last = (divergence(length) for length in (1.0, 10.0, 20.0))
    assert first > 0.5
    assert 1e-3 < middle < 0.1
    assert 0.0 <= last < 1e-4


def test_close_distributions_pair_permutes_the_places_of_the_labels(
    rng: np.random.Generator,
) -> None:
    pair = close_distributions_pair(rng, per_label=2)
    np.testing.assert_array_equal(pair.star.g, pair.prime.g[[5, 0, 2, 4, 6, 1, 3]])


@pytest.mark.parametrize("make", [close_losses_pair, close_distributions_pair])
def test_equal_seeds_agree_and_different_seeds_differ(make: Callable[..., TabulatedPair]) -> None:
    def draw(seed: int) -> np.ndarray:
        return make(np.random.default_rng(seed), per_label=5).star.f

    np.testing.assert_array_equal(draw(1), draw(1))
    assert not np.allclose(draw(1), draw(2))


@pytest.mark.parametrize("make", [close_losses_pair, close_distributions_pair])
def test_a_pair_without_inputs_is_refused(
    make: Callable[..., TabulatedPair], rng: np.random.Generator
) -> None:
    with pytest.raises(OptionError, match="per_label must be at least 1; got 0"):
        make(rng, per_label=0)


def test_what_is_no_permutation_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match=r"each of 0\.\.2 once; got \[0, 0, 1\]"):
        close_distributions_pair(rng, permutation=(0, 0, 1))
