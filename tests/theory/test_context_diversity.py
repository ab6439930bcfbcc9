"""Roeder's condition on (-log Z, f) is neither weaker nor stronger than Definition 1."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import ShapeError
from samespace.theory import context_diversity, diversity


def test_a_constant_normaliser_makes_both_conditions_the_same(rng: np.random.Generator) -> None:
    f = rng.standard_normal((20, 3))
    assert context_diversity(f, np.ones(20)).rank == 4
    assert diversity(f, of="inputs").rank == 3


def test_embeddings_on_a_hyperplane_through_zero_meet_one_condition_and_not_the_other(
    rng: np.random.Generator,
) -> None:
    # f spans both dimensions, its differences only one; log Z is independent of both.
    f = np.column_stack([np.ones(20), rng.standard_normal(20)])
    assert context_diversity(f, rng.standard_normal(20)).verdict == "holds"
    assert diversity(f, of="inputs").verdict == "degenerate"


def test_a_normaliser_that_is_linear_in_f_fails(rng: np.random.Generator) -> None:
    f = rng.standard_normal((20, 2))
    assert diversity(f, of="inputs").verdict == "holds"
    found = context_diversity(f, f @ [1.0, 2.0])
    assert (found.verdict, found.rank) == ("degenerate", 2)


def test_two_inputs_are_too_few() -> None:
    assert context_diversity(np.eye(2), np.ones(2)).verdict == "too few"


def test_a_nearly_dependent_normaliser_is_ill_conditioned(rng: np.random.Generator) -> None:
    f = rng.standard_normal((20, 2))
    z = f @ [1.0, 2.0] + 1e-9 * rng.standard_normal(20)
    assert context_diversity(f, z).verdict == "ill-conditioned"


def test_a_normaliser_per_row_is_needed() -> None:
    with pytest.raises(
        ShapeError, match=r"one number per row of f, shape \(3,\); got shape \(2,\)"
    ):
        context_diversity(np.ones((3, 2)), np.ones(2))
