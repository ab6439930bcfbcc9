"""Equal likelihoods: A from g, B from f, regression and the normalisers all say the same."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import DiversityError, OptionError, ShapeError
from samespace.theory import shift_from_normalisers, theorem1
from tests.theory.pairs import equivalent, log_prob, log_z, unrelated
from tests.tolerances import atol, rtol


@pytest.mark.parametrize("anchors", [None, "all"])
def test_the_maps_are_recovered_with_the_shift(
    rng: np.random.Generator, anchors: str | None
) -> None:
    models = equivalent(rng)
    np.testing.assert_allclose(
        log_prob(models.f, models.g), log_prob(models.f_star, models.g_star), atol=1e-10
    )
    found = theorem1(*models.arrays, labels=anchors, inputs=anchors)  # type: ignore[arg-type]
    np.testing.assert_allclose(found.matrix_f, models.A.T, rtol=rtol("exact"), atol=atol("exact"))
    np.testing.assert_allclose(found.matrix_g, np.linalg.inv(models.A), atol=atol("exact"))
    np.testing.assert_allclose(found.bias, models.b, atol=atol("exact"))
    np.testing.assert_allclose(found.regression_f, found.matrix_f, atol=atol("exact"))
    np.testing.assert_allclose(found.regression_g, found.matrix_g, atol=atol("exact"))
    np.testing.assert_allclose(found.regression_bias, models.b, atol=atol("exact"))
    assert found.gap < 1e-10
    assert max(found.unexplained_f, found.unexplained_g) < 1e-20


def test_the_rows_convention_is_the_papers_columns_transposed(rng: np.random.Generator) -> None:
    models = equivalent(rng)
    found = theorem1(*models.arrays)
    L, L_star = ((g[found.labels[1:]] - g[found.labels[0]]).T for g in (models.g, models.g_star))
    paper = (L @ np.linalg.inv(L_star)).T
    np.testing.assert_allclose(found.matrix_f.T, paper, atol=atol("exact"))
    np.testing.assert_allclose(models.f_star.T, paper @ models.f.T, atol=1e-9)


def test_the_shift_follows_from_the_normalisers_alone(rng: np.random.Generator) -> None:
    models = equivalent(rng)
    found = theorem1(*models.arrays)
    at = found.inputs
    assert at is not None
    shift = shift_from_normalisers(
        models.f_star[at], log_z(models.f, models.g)[at], log_z(models.f_star, models.g_star)[at]
    )
    np.testing.assert_allclose(shift, models.b, atol=1e-9)


def test_any_choice_of_labels_gives_the_same_map_for_equal_likelihoods_and_not_otherwise(
    rng: np.random.Generator,
) -> None:
    def spread(models: object) -> float:
        maps = [
            theorem1(*models.arrays, labels=np.array(choice)).matrix_f  # type: ignore[attr-defined]
            for choice in ([0, 1, 2, 3], [5, 6, 7, 8])
        ]
        return float(np.linalg.norm(maps[0] - maps[1]))

    assert spread(equivalent(rng)) < 1e-9
    assert spread(unrelated(rng)) > 0.1


def test_opposite_rotations_of_f_and_g_fail_jointly_alone(rng: np.random.Generator) -> None:
    # f* = f R and g* = g R: each linear in its partner, so mean CCA is 1; jointly R would have to be R^-T,
    # which a rotation is. With f* = f R and g* = g R' it is not.
    models = equivalent(rng, m=2)
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    rotated = theorem1(models.f, models.g, models.f @ turn, models.g @ turn)
    opposite = theorem1(models.f, models.g, models.f @ turn, models.g @ turn.T)
    assert rotated.gap_joint < 1e-10
    assert opposite.gap > 1.0
    regressions = opposite.regression_f.T @ opposite.regression_g
    np.testing.assert_allclose(regressions, -np.eye(2), atol=1e-9)


def test_unrelated_models_disagree_three_times(rng: np.random.Generator) -> None:
    found = theorem1(*unrelated(rng).arrays)
    assert min(found.gap_f, found.gap_g, found.gap_joint) > 0.1
    assert found.gap == max(found.gap_f, found.gap_g, found.gap_joint)


def test_too_few_labels_end_in_the_reason(rng: np.random.Generator) -> None:
    models = equivalent(rng, k=3)
    with pytest.raises(DiversityError, match="3 labels have at most 2 independent differences"):
        theorem1(*models.arrays)


def test_dependent_labels_of_ones_own_choice_are_refused(rng: np.random.Generator) -> None:
    models = equivalent(rng, m=2)
    g_star = models.g_star.copy()
    g_star[2] = 2 * g_star[1] - g_star[0]
    with pytest.raises(DiversityError, match="at these labels are linearly dependent"):
        theorem1(models.f, models.g, models.f_star, g_star, labels=np.arange(3))


def test_a_wrong_number_of_anchors_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ShapeError, match=r"3 labels were given; M \+ 1 = 4 are needed"):
        theorem1(*equivalent(rng).arrays, labels=np.arange(3))


def test_an_unknown_choice_of_anchors_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match="inputs='best'; write 'all', row numbers"):
        theorem1(*equivalent(rng).arrays, inputs="best")  # type: ignore[arg-type]


def test_models_of_two_widths_are_sent_elsewhere(rng: np.random.Generator) -> None:
    wide, narrow = equivalent(rng, m=3), equivalent(rng, m=2)
    with pytest.raises(ShapeError, match="links models of one width M; got 3 and 2"):
        theorem1(wide.f, wide.g, narrow.f_star, narrow.g_star)
