"""The identity of Theorem 2 holds to rounding, from representations and from log-likelihoods."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samespace.theory import (
    AnchorDifferences,
    ModelPair,
    epsilon_from_log_prob,
    normaliser_shift,
    theorem2,
)
from tests.theory.pairs import equivalent, log_prob, log_z, transformed, unrelated
from tests.tolerances import atol, rtol


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 4), extra=st.integers(0, 4))
def test_f_star_is_the_linear_part_plus_the_error_for_any_two_models(
    seed: int, m: int, extra: int
) -> None:
    models = unrelated(np.random.default_rng(seed), n=25, k=m + 1 + extra, m=m)
    pair = ModelPair.of(*models.arrays)
    for anchors, own, star in (
        (AnchorDifferences.of_labels(pair, None), models.f, models.f_star),
        (AnchorDifferences.of_inputs(pair, None), models.g, models.g_star),
    ):
        h = anchors.solve(anchors.epsilon(own, star))
        scale = np.abs(star).max() * anchors.condition
        np.testing.assert_allclose(own @ anchors.matrix + h, star, atol=scale * 1e-12)


def test_the_error_of_f_is_a_difference_of_log_likelihoods(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    pair = ModelPair.of(*models.arrays)
    anchors = AnchorDifferences.of_labels(pair, None)
    at = anchors.index
    likelihoods = epsilon_from_log_prob(
        log_prob(models.f, models.g)[:, at], log_prob(models.f_star, models.g_star)[:, at]
    )
    np.testing.assert_allclose(
        anchors.epsilon(models.f, models.f_star), likelihoods, rtol=rtol("exact"), atol=1e-10
    )


def test_the_error_of_g_needs_the_corrected_constant(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    anchors = AnchorDifferences.of_inputs(ModelPair.of(*models.arrays), None)
    at = anchors.index
    likelihoods = epsilon_from_log_prob(
        log_prob(models.f, models.g)[at].T, log_prob(models.f_star, models.g_star)[at].T
    )
    z, z_star = log_z(models.f, models.g)[at], log_z(models.f_star, models.g_star)[at]
    scalar = anchors.epsilon(models.g, models.g_star)
    np.testing.assert_allclose(scalar, likelihoods + normaliser_shift(z, z_star), atol=1e-10)
    # As printed (Eq. 50): three ratios, of which the last two partly cancel; and c = 0 for scalar products.
    printed = (z_star[0] - z[0]) + (z[1:] - z_star[1:]) + (z[0] - z[1:])
    assert np.abs(scalar - likelihoods - printed).max() > 0.1


def test_shares_are_those_of_the_remainder_itself(rng: np.random.Generator) -> None:
    models = equivalent(rng, n=200, noise=0.3)
    found = theorem2(*models.arrays)
    for part, own, star in (
        (found.f, models.f, models.f_star),
        (found.g, models.g, models.g_star),
    ):
        h = star - own @ part.matrix
        np.testing.assert_allclose(part.error_share, np.sum(h**2) / np.sum(star**2), rtol=1e-9)
        np.testing.assert_allclose(part.shift, h.mean(axis=0), atol=1e-10)
        centred = star - star.mean(axis=0)
        np.testing.assert_allclose(
            part.variance_share,
            np.sum((h - h.mean(axis=0)) ** 2) / np.sum(centred**2),
            rtol=1e-9,
        )
    L, L_star = (
        g[found.f.anchors[1:]] - g[found.f.anchors[0]]  # type: ignore[index]
        for g in (models.g, models.g_star)
    )
    odds = models.f_star @ L_star.T
    np.testing.assert_allclose(
        found.f.log_odds_share,
        np.sum((odds - models.f @ L.T) ** 2) / np.sum(odds**2),
        rtol=1e-9,
    )


def test_all_labels_are_least_squares_over_the_centred_logits(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    found = theorem2(*models.arrays, labels="all", inputs="all")
    G, G_star = (g - g.mean(axis=0) for g in (models.g, models.g_star))
    by_hand = np.linalg.lstsq(G_star, G @ models.f.T, rcond=None)[0].T
    np.testing.assert_allclose(models.f @ found.f.matrix, by_hand, atol=1e-10)
    error, odds = models.f_star @ G_star.T - models.f @ G.T, models.f_star @ G_star.T
    np.testing.assert_allclose(
        found.f.log_odds_share, np.sum(error**2) / np.sum(odds**2), rtol=1e-9
    )
    F, F_star = (f - f.mean(axis=0) for f in (models.f, models.f_star))
    by_hand = np.linalg.lstsq(F_star, F @ models.g.T, rcond=None)[0].T
    np.testing.assert_allclose(models.g @ found.g.matrix, by_hand, atol=1e-10)


def test_equal_likelihoods_leave_no_error_and_one_map(rng: np.random.Generator) -> None:
    models = equivalent(rng)
    for anchors in (None, "all"):
        found = theorem2(*models.arrays, labels=anchors, inputs=anchors)  # type: ignore[arg-type]
        assert found.f.error_share < 1e-12
        assert found.g.variance_share < 1e-12
        assert found.gap_joint is not None
        assert found.gap_joint < 1e-9
        np.testing.assert_allclose(found.g.shift, models.b, atol=1e-8)


def test_the_log_odds_share_depends_on_the_distributions_alone(rng: np.random.Generator) -> None:
    models = equivalent(rng, noise=0.3)
    labels, inputs = np.arange(4), np.arange(10, 14)
    before = theorem2(*models.arrays, labels=labels, inputs=inputs)
    after = theorem2(*transformed(models, rng), labels=labels, inputs=inputs)
    np.testing.assert_allclose(after.f.log_odds_share, before.f.log_odds_share, rtol=1e-8)
    assert abs(after.f.error_share - before.f.error_share) > 1e-3 * before.f.error_share


def test_the_interval_covers_the_share_of_more_inputs() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(40):
        models = equivalent(rng, n=4000, noise=0.5)
        few = theorem2(
            models.f[:400], models.g, models.f_star[:400], models.g_star, labels=np.arange(4)
        )
        many = theorem2(*models.arrays, labels=np.arange(4))
        assert few.f.low is not None
        assert few.f.high is not None
        covered += few.f.low <= many.f.error_share <= few.f.high
    assert covered >= 34


def test_g_has_no_interval_since_its_labels_are_no_sample(rng: np.random.Generator) -> None:
    found = theorem2(*equivalent(rng).arrays)
    assert (found.g.low, found.g.high) == (None, None)


def test_models_of_two_widths_are_split_as_well(rng: np.random.Generator) -> None:
    models = equivalent(rng, m=2)
    wide_f = np.column_stack([models.f, rng.standard_normal(len(models.f))])
    wide_g = np.column_stack([models.g, np.full(len(models.g), 0.7)])
    found = theorem2(wide_f, wide_g, models.f_star, models.g_star)
    assert found.f.matrix.shape == (3, 2)
    assert found.f.error_share < 1e-12
    assert found.gap_joint is None


def test_to_dict_names_both_sides(rng: np.random.Generator) -> None:
    content = theorem2(*equivalent(rng).arrays).to_dict()
    assert set(content) == {"f", "g", "gap_joint"}
    assert content["f"]["n"] == 60
    assert abs(content["gap_joint"]) < atol("exact") * 10
