"""d_LLV, d_SVD and the logit distance: oracles by hand, invariance, and the bounds between them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import DegenerateError, OptionError
from samespace.theory import ModelPair, d_llv, d_svd, logit_distance, pairwise_gaps
from samespace.worlds.nielsen import close_distributions_pair
from tests.theory.pairs import Models, equivalent, log_prob, transformed, unrelated
from tests.tolerances import atol, rtol

LABELS, INPUTS = np.array([4, 0, 2, 7]), np.array([11, 3, 30, 45])


def t_by_hand(p: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """T_1 and T_3 of columns of log-probabilities, the pivot first."""
    gaps, scales = [], []
    for i in range(1, p.shape[1]):
        s, s_star = np.std(p[:, i] - p[:, 0]), np.std(q[:, i] - q[:, 0])
        gaps += [np.std(p[:, y] / s - q[:, y] / s_star) for y in (i, 0)]
        scales.append(abs(s - s_star))
    return max(gaps), max(scales)


def svd_by_hand(f: np.ndarray, g: np.ndarray, f_star: np.ndarray, g_star: np.ndarray, at) -> float:
    """d_SVD from the standardised coordinates themselves."""
    parts = []
    for rows, dual in ((f, g), (f_star, g_star)):
        odds = rows @ (dual[at[1:]] - dual[at[0]]).T
        parts.append((odds - odds.mean(axis=0)) / odds.std(axis=0))
    cross = parts[0].T @ parts[1] / len(f)
    return 1.0 - np.linalg.svd(cross, compute_uv=False).sum() / len(cross)


def test_d_llv_is_its_definition(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    p, q = log_prob(models.f, models.g), log_prob(models.f_star, models.g_star)
    found = d_llv(*models.arrays, labels=LABELS, inputs=INPUTS, weight=0.5)
    t1, t3 = t_by_hand(p[:, LABELS], q[:, LABELS])
    t2, t4 = t_by_hand(p[INPUTS].T, q[INPUTS].T)
    np.testing.assert_allclose(
        [found.t1, found.t2, found.t3, found.t4], [t1, t2, t3, t4], rtol=rtol("exact")
    )
    assert found.value == max(found.t1, found.t2, 0.5 * found.t3, 0.5 * found.t4)


def test_all_labels_are_a_maximum_over_labels(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    every = d_llv(*models.arrays, labels="all", inputs=INPUTS)
    pivot = every.pivot_label
    order = np.r_[pivot, np.delete(np.arange(9), pivot)]
    listed = d_llv(*models.arrays, labels=order, inputs=INPUTS)
    np.testing.assert_allclose(every.t1, listed.t1, rtol=rtol("exact"))
    assert every.worst_label == listed.worst_label
    assert every.labels is None


def test_pairwise_gaps_hold_every_pivot_and_label(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    gaps = pairwise_gaps(*models.arrays)
    assert np.isnan(np.diag(gaps)).all()
    for pivot, label in ((0, 1), (5, 2), (8, 7)):
        pair = d_llv(*models.arrays, labels=np.array([pivot, label]), inputs=INPUTS)
        np.testing.assert_allclose(gaps[pivot, label], pair.t1, rtol=rtol("exact"))


def test_d_svd_is_its_definition_on_both_sides(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    np.testing.assert_allclose(
        d_svd(*models.arrays, anchors=LABELS).value,
        svd_by_hand(*models.arrays, LABELS),
        rtol=rtol("exact"),
    )
    np.testing.assert_allclose(
        d_svd(*models.arrays, of="g", anchors=INPUTS).value,
        svd_by_hand(models.g, models.f, models.g_star, models.f_star, INPUTS),
        rtol=rtol("exact"),
    )


def test_the_search_over_few_labels_is_exhaustive(rng: np.random.Generator) -> None:
    models = unrelated(rng, k=5, m=2)
    found = d_svd(*models.arrays, anchors="search")
    by_hand = max(
        svd_by_hand(*models.arrays, np.array([p, *(m for m in s if m != p)]))
        for s in combinations(range(5), 3)
        for p in s
    )
    np.testing.assert_allclose(found.value, by_hand, rtol=rtol("exact"))
    assert (found.sets, found.searched) == (30, "all 30 sets")


def test_the_search_among_many_labels_climbs_and_says_so(rng: np.random.Generator) -> None:
    models = unrelated(rng, k=60)
    start = d_svd(*models.arrays)
    found = d_svd(*models.arrays, anchors="search", rng=np.random.default_rng(1))
    again = d_svd(*models.arrays, anchors="search", rng=np.random.default_rng(1))
    other = d_svd(*models.arrays, anchors="search", rng=np.random.default_rng(2))
    assert found.value > start.value
    assert found.searched.endswith("by exchanges: a lower bound of the maximum")
    np.testing.assert_array_equal(found.anchors, again.anchors)
    assert not np.array_equal(found.anchors, other.anchors)


def test_the_logit_distance_is_that_of_the_centred_logits(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    u, v = models.f @ models.g.T, models.f_star @ models.g_star.T
    u, v = u - u.mean(axis=1, keepdims=True), v - v.mean(axis=1, keepdims=True)
    squared = np.sum((u - v) ** 2, axis=1)
    found = logit_distance(*models.arrays)
    np.testing.assert_allclose(found.value**2, squared.mean(), rtol=rtol("exact"))
    np.testing.assert_allclose(found.share, squared.mean() / np.mean(np.sum(u**2, axis=1)))
    np.testing.assert_allclose(
        found.spectrum, np.linalg.eigvalsh(v.T @ v / len(v))[::-1][:3], rtol=1e-9
    )
    rest = v - models.f @ np.linalg.lstsq(models.f, v, rcond=None)[0]
    np.testing.assert_allclose(found.unexplained, np.sum(rest**2) / len(v), rtol=1e-9)
    q, q_star = (np.linalg.qr(f)[0] for f in (models.f, models.f_star))
    np.testing.assert_allclose(
        found.rho, np.linalg.svd(q.T @ q_star, compute_uv=False), rtol=rtol("exact")
    )


@pytest.mark.parametrize("measure", ["llv", "svd_f", "svd_g", "logit"])
def test_equal_likelihoods_are_at_distance_zero_and_others_are_not(
    rng: np.random.Generator, measure: str
) -> None:
    assert distance(measure, equivalent(rng)) < 1e-10
    assert distance(measure, unrelated(rng)) > 0.1


@pytest.mark.parametrize("measure", ["llv", "svd_f", "svd_g", "logit"])
def test_other_coordinates_of_the_same_distributions_change_nothing(
    rng: np.random.Generator, measure: str
) -> None:
    models = equivalent(rng, noise=0.5)
    other = Models(*transformed(models, rng), models.A, models.b)
    np.testing.assert_allclose(distance(measure, other), distance(measure, models), rtol=1e-8)


@pytest.mark.parametrize("measure", ["llv", "svd_f", "svd_g", "logit"])
def test_a_map_of_f_alone_is_not_forgiven(rng: np.random.Generator, measure: str) -> None:
    models = equivalent(rng)
    shear = np.eye(3) + np.triu(np.ones((3, 3)), 1)
    sheared = Models(models.f @ shear, *models.arrays[1:], models.A, models.b)
    assert distance(measure, sheared) > 0.01


def distance(measure: str, models: Models) -> float:
    if measure == "llv":
        return d_llv(*models.arrays, labels=LABELS, inputs=INPUTS).value
    if measure == "logit":
        return logit_distance(*models.arrays).value
    at = LABELS if measure == "svd_f" else INPUTS
    return d_svd(*models.arrays, of=measure[-1], anchors=at).value  # type: ignore[arg-type]


@given(
    seed=st.integers(0, 2**32 - 1),
    m=st.integers(1, 4),
    noise=st.floats(1e-6, 10.0),
    extra=st.integers(0, 4),
)
def test_d_svd_is_at_most_twice_the_square_of_d_llv(
    seed: int, m: int, noise: float, extra: int
) -> None:
    models = equivalent(np.random.default_rng(seed), n=30, k=m + 2 + extra, m=m, noise=noise)
    pair = ModelPair.of(*models.arrays)
    llv, f, g = d_llv(pair), d_svd(pair), d_svd(pair, of="g")
    slack = 1e-12
    assert f.value <= llv.sharp_bound_f + slack <= llv.bound_f + 2 * slack
    assert g.value <= llv.sharp_bound_g + slack <= llv.bound_g + 2 * slack
    assert max(llv.bound_f, llv.bound_g) <= 2 * llv.value**2 + slack
    assert max(f.unexplained, 0.0) <= 4 * llv.t1**2 + slack
    assert f.unexplained <= llv.log_odds_gap_f**2 + slack


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 4), noise=st.floats(1e-6, 10.0))
def test_the_logit_distance_bounds_what_no_linear_map_explains(
    seed: int, m: int, noise: float
) -> None:
    models = equivalent(np.random.default_rng(seed), n=30, k=m + 3, m=m, noise=noise)
    found = logit_distance(*models.arrays)
    slack = 1e-10 * found.spectrum.sum()
    assert found.canonical_bound <= found.unexplained + slack
    assert found.unexplained <= found.value**2 + slack


def test_the_sharper_bound_is_nearly_attained(rng: np.random.Generator) -> None:
    # Independent noise of one size on whitened log-odds: d_SVD is half the squared gap, to first order.
    f = np.linalg.qr(rng.standard_normal((4000, 2)) - 0.0)[0] * np.sqrt(4000)
    g = np.vstack([np.zeros(2), np.eye(2)])
    models = (f, g, f + 0.05 * rng.standard_normal(f.shape), g)
    labels = np.arange(3)
    svd, llv = d_svd(*models, anchors=labels), d_llv(*models, labels=labels)
    assert 0.9 * llv.sharp_bound_f < svd.value <= llv.sharp_bound_f


def test_the_papers_pair_is_close_in_divergence_and_far_in_both_distances() -> None:
    pair = close_distributions_pair(np.random.default_rng(0), length=20.0, per_label=100)
    models = ModelPair.of(pair.prime.f, pair.prime.g, pair.star.f, pair.star.g)
    assert models.likelihoods.kl < 1e-4
    assert np.nanmin(np.sort(pairwise_gaps(models), axis=1)[:, 1]) > 0.3
    assert d_svd(models, anchors="search").value > 0.4


@pytest.mark.parametrize("of", ["llv", "svd", "logit"])
def test_intervals_cover_the_distance_of_more_inputs(of: str) -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(40):
        m = equivalent(rng, n=4000, noise=0.5)
        few, many = (ModelPair.of(m.f[:n], m.g, m.f_star[:n], m.g_star) for n in (400, 4000))
        if of == "llv":
            small, large = (d_llv(p, labels=LABELS, inputs=INPUTS) for p in (few, many))
        elif of == "svd":
            small, large = (d_svd(p, anchors=LABELS) for p in (few, many))
        else:
            small, large = logit_distance(few), logit_distance(many)
        assert small.low is not None
        assert small.high is not None
        covered += small.low <= large.value <= small.high
    assert covered >= 33


def test_one_group_gives_no_interval(rng: np.random.Generator) -> None:
    pair = ModelPair.of(*unrelated(rng).arrays, folds=1)
    assert (d_llv(pair).low, d_svd(pair).high, d_svd(pair, of="g").low) == (None, None, None)


def test_labels_with_one_vector_have_no_scale(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    g = models.g.copy()
    g[0] = g[4]
    for measure in (
        lambda: d_llv(models.f, g, models.f_star, models.g_star, labels=LABELS),
        lambda: d_svd(models.f, g, models.f_star, models.g_star, anchors=LABELS),
    ):
        with pytest.raises(DegenerateError, match="constant in one of the models"):
            measure()


def test_a_single_label_has_no_log_odds(rng: np.random.Generator) -> None:
    models = unrelated(rng, k=1)
    with pytest.raises(DegenerateError, match="a pivot and at least one other label"):
        d_llv(*models.arrays)
    with pytest.raises(DegenerateError, match="a pivot and at least one other anchor"):
        d_svd(*models.arrays, anchors="search")


def test_many_sets_ask_for_a_generator(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match="sets of anchors, too many to try all: pass"):
        d_svd(*unrelated(rng, k=60).arrays, anchors="search")


def test_options_are_checked(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    with pytest.raises(OptionError, match="labels='some'; write 'all'"):
        d_llv(*models.arrays, labels="some")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="of='h'; write 'f' for embeddings"):
        d_svd(*models.arrays, of="h")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="anchors='best'; write 'search'"):
        d_svd(*models.arrays, anchors="best")  # type: ignore[arg-type]


def test_results_round_trip_through_dictionaries(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    for found in (d_llv(*models.arrays), d_svd(*models.arrays), logit_distance(*models.arrays)):
        again = type(found).from_dict(found.to_dict())
        assert abs(again.value - found.value) < atol("exact")
        assert repr(again).startswith(type(found).__name__)
