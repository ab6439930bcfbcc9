"""Effective complexity, and the map between what two likelihoods see, with diversity or without."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import DegenerateError
from samespace.theory import displaced_map, effective_complexity
from tests.theory.pairs import equivalent, log_prob, transformed
from tests.tolerances import rtol


def test_the_complexity_is_the_rank_of_the_pivoted_logits(rng: np.random.Generator) -> None:
    for k, m, rank in ((9, 3, 3), (3, 5, 2), (2, 2, 1), (1, 4, 0)):
        f, g = rng.standard_normal((40, m)), rng.standard_normal((k, m))
        logits = f @ g.T
        found = effective_complexity(f, g)
        assert found.complexity == rank
        assert found.complexity == np.linalg.matrix_rank(logits - logits[:, :1], tol=1e-9)


def test_the_spectrum_is_that_of_the_centred_logits(rng: np.random.Generator) -> None:
    f, g = rng.standard_normal((40, 3)), rng.standard_normal((9, 3))
    logits = f @ (g - g.mean(axis=0)).T
    singular = np.linalg.svd(logits, compute_uv=False)[:3]
    found = effective_complexity(f, g)
    np.testing.assert_allclose(found.spectrum, singular / np.sqrt(360), rtol=rtol("exact"))


def test_embeddings_on_a_subspace_lower_the_complexity_and_not_the_labels_rank(
    rng: np.random.Generator,
) -> None:
    f = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 4))
    found = effective_complexity(f, rng.standard_normal((9, 4)))
    assert (found.complexity, found.rank_f, found.rank_g) == (2, 2, 4)


def test_the_complexity_depends_on_the_distribution_alone(rng: np.random.Generator) -> None:
    models = equivalent(rng)
    f, g, *_ = transformed(models, rng)
    before, after = effective_complexity(models.f, models.g), effective_complexity(f, g)
    np.testing.assert_allclose(after.spectrum, before.spectrum, rtol=1e-9)


def test_models_of_other_widths_and_equal_likelihoods_are_linked_where_they_are_seen(
    rng: np.random.Generator,
) -> None:
    narrow = equivalent(rng, m=2)
    A = rng.standard_normal((5, 5))
    hidden_f = rng.standard_normal((60, 3))
    f = np.column_stack([narrow.f, hidden_f]) @ A.T
    g = np.column_stack([narrow.g, np.full((9, 3), 0.3)]) @ np.linalg.inv(A)
    np.testing.assert_allclose(log_prob(f, g), log_prob(narrow.f_star, narrow.g_star), atol=1e-8)
    found = displaced_map(f, g, narrow.f_star, narrow.g_star)
    np.testing.assert_allclose(f @ found.matrix, narrow.f_star, atol=1e-8)
    back = displaced_map(narrow.f_star, narrow.g_star, f, g)
    assert (found.rank, found.rank_star, back.unexplained < 1e-16) == (2, 2, True)
    assert found.invisible > 0.05
    assert found.invisible_star < 1e-12
    assert found.condition is not None
    assert np.isclose(found.condition, back.condition)
    seen = f @ found.matrix @ back.matrix
    visible = effective_complexity(f, g).visible
    np.testing.assert_allclose(seen @ visible, f @ visible, atol=1e-8)


def test_spans_of_other_dimensions_have_no_inverse(rng: np.random.Generator) -> None:
    models = equivalent(rng, m=3)
    flat = models.g_star.copy()
    flat[:, 2] = 1.0
    found = displaced_map(models.f, models.g, models.f_star, flat)
    assert (found.rank, found.rank_star, found.condition) == (3, 2, None)
    assert found.unexplained > 0.01


def test_equal_labels_see_nothing(rng: np.random.Generator) -> None:
    models = equivalent(rng)
    with pytest.raises(DegenerateError, match="likelihood is uniform and sees nothing of f"):
        displaced_map(models.f, np.ones((9, 3)), models.f_star, models.g_star)
