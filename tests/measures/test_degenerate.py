"""Every measure on the data that break measures: too few rows, lost rank, constants, duplicates, extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samespace.measures import (
    alignment,
    cca,
    cca_from_rows,
    cka,
    mcc,
    neighbour_overlap,
    procrustes,
    pwcca,
    r2,
    svcca,
    uniformity,
)
from tests.measures.pairs import related
from tests.tolerances import atol

Pair = tuple[np.ndarray, np.ndarray]

READINGS: dict[str, Callable[[Any, Any], list[float]]] = {
    "cca": lambda X, Y: [cca(X, Y).mean, cca(X, Y).held_out_mean],
    "cca_from_rows": lambda X, Y: [cca_from_rows(X, Y).mean],
    "svcca": lambda X, Y: [svcca(X, Y).mean, svcca(X, Y).held_out_mean],
    "pwcca": lambda X, Y: [pwcca(X, Y).similarity, pwcca(X, Y).held_out_similarity],
    "r2": lambda X, Y: [r2(X, Y).mean, r2(X, Y).variance_weighted],
    "mcc": lambda X, Y: [mcc(X, Y).mean, mcc(X, Y).held_out_mean],
    "spearman": lambda X, Y: [mcc(X, Y, kind="spearman").mean],
    "cka": lambda X, Y: [cka(X, Y).biased, cka(X, Y).debiased],
    "procrustes": lambda X, Y: [procrustes(X, Y).similarity],
    "half_whitened": lambda X, Y: [procrustes(X, Y, alpha=0.5).similarity],
    "neighbours": lambda X, Y: [neighbour_overlap(X, Y, distance="euclidean").overlap],
    "alignment": lambda X, Y: [alignment(X[:, :3], Y[:, :3])],
    "uniformity": lambda X, Y: [uniformity(X)],
}
EVERY = pytest.mark.parametrize("measure", READINGS)


def few_rows(rng: np.random.Generator) -> Pair:
    return rng.standard_normal((25, 40)), rng.standard_normal((25, 30))


def lost_rank(rng: np.random.Generator) -> Pair:
    X, Y = related(rng)
    return np.hstack([X, X @ rng.standard_normal((4, 5))]), np.hstack([Y, Y[:, :1]])


def constant_column(rng: np.random.Generator) -> Pair:
    X, Y = related(rng)
    return np.column_stack([X, np.full(200, 0.1)]), np.column_stack([np.full(200, -3e5), Y])


def duplicated_rows(rng: np.random.Generator) -> Pair:
    X, Y = related(rng, n=40)
    return np.repeat(X, 5, axis=0), np.repeat(Y, 5, axis=0)


def two_valued(rng: np.random.Generator) -> Pair:
    X = rng.integers(0, 2, (200, 4)).astype(float) + 1
    return X, rng.integers(0, 2, (200, 3)).astype(float) + 1


def far_from_zero(rng: np.random.Generator) -> Pair:
    X, Y = related(rng)
    return X + 1e7, Y - 1e7


CASES = [few_rows, lost_rank, constant_column, duplicated_rows, two_valued, far_from_zero]


@EVERY
@pytest.mark.parametrize("case", CASES)
def test_says_something_finite_and_possible(measure, case, rng):
    values = READINGS[measure](*case(rng))
    assert np.all(np.isfinite(values))
    if measure not in ("alignment", "uniformity"):
        assert max(values) <= 1 + atol("exact")


@EVERY
@pytest.mark.parametrize("case", CASES)
def test_a_pair_with_itself_is_perfect(measure, case, rng):
    X, _ = case(rng)
    values = READINGS[measure](X, X.copy())
    if measure == "alignment":
        assert values == [0.0]
    elif measure != "uniformity":
        held_out_is_hopeless = case is few_rows and measure in ("cca", "svcca", "pwcca")
        # A constant column has nothing to recover, and enters the MCC as 0.
        share = 4 / 5 if case is constant_column and measure in ("mcc", "spearman") else 1.0
        np.testing.assert_allclose(
            values[: 1 if held_out_is_hopeless else None], share, rtol=0, atol=1e-9
        )


@EVERY
@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_scale_does_not_matter_up_to_seventy_powers_of_ten(measure, scale, rng):
    X, Y = related(rng)
    expected = READINGS[measure](X, Y)
    np.testing.assert_allclose(READINGS[measure](X * scale, Y / scale), expected, rtol=1e-9)


@EVERY
def test_half_precision_is_read_as_the_numbers_it_holds(measure, rng):
    X, Y = (Z.astype(np.float16) for Z in related(rng))
    expected = READINGS[measure](X.astype(np.float64), Y.astype(np.float64))
    # Measures of rows compute in single precision; a near-tie may then fall the other way.
    slack = 0.01 if measure == "neighbours" else atol("exact", np.float32)
    np.testing.assert_allclose(READINGS[measure](X, Y), expected, rtol=0, atol=slack)
