"""Intervals over folds that cover what they claim to, and a null that reads what shuffled rows read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from samespace.errors import OptionError
from samespace.inference import (
    Interval,
    Null,
    Share,
    repaired_cross_moment,
    repaired_error,
    share_over_folds,
    t_quantile,
)
from samespace.maps import Affine
from samespace.moments import Moments
from tests.maps.pairs import residual, spread_rows
from tests.tolerances import STANDARD_ERRORS, rtol


@pytest.mark.parametrize("degrees", [1, 4, 9])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_quantile_is_students(level, degrees):
    expected = scipy.stats.t.interval(level, degrees)[1]
    assert t_quantile(level, degrees) == pytest.approx(expected, rel=rtol("exact"))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, np.nan])
def test_a_confidence_that_is_none(level):
    with pytest.raises(OptionError, match="a confidence between 0 and 1 is needed"):
        t_quantile(level, 9)


def jackknife(parts: np.ndarray, totals: np.ndarray) -> tuple[float, float]:
    """Estimate and standard error, leaving out one fold after another."""
    k, whole = len(parts), sum(parts) / sum(totals)
    pseudo = []
    for i in range(k):
        rest = [j for j in range(k) if j != i]
        pseudo.append(k * whole - (k - 1) * sum(parts[rest]) / sum(totals[rest]))
    mean = sum(pseudo) / k
    return mean, float(np.sqrt(sum((p - mean) ** 2 for p in pseudo) / (k * (k - 1))))


def test_the_share_is_the_jackknife_by_loops(rng):
    parts, totals = rng.random(10), rng.random(10) + 3
    share = share_over_folds(parts, totals, level=0.9)
    mean, error = jackknife(parts, totals)
    assert share.estimate == pytest.approx(mean, rel=rtol("exact"))
    assert share.error == pytest.approx(error, rel=rtol("exact"))
    half = scipy.stats.t.interval(0.9, 9)[1] * error
    assert share.interval.low == pytest.approx(mean - half, rel=rtol("exact"))
    assert share.interval.half_width == pytest.approx(half, rel=rtol("exact"))


def test_folds_that_drew_more_variance_are_no_noise():
    totals = np.array([1.0, 5.0, 2.0, 9.0])
    share = share_over_folds(0.3 * totals, totals, level=0.95)
    assert share.estimate == pytest.approx(0.3)
    assert share.error == pytest.approx(0, abs=1e-12)


def test_units_do_not_matter(rng):
    parts, totals = rng.random(6), rng.random(6) + 2
    one = share_over_folds(parts, totals, -0.1, level=0.95)
    other = share_over_folds(parts * 1e30, totals * 1e30, -0.1e30, level=0.95)
    assert other.interval.low == pytest.approx(one.interval.low, rel=rtol("exact"))
    assert other.interval.high == pytest.approx(one.interval.high, rel=rtol("exact"))


def test_a_correction_moves_the_estimate_and_widens_the_interval_by_as_much(rng):
    parts, totals = rng.random(6), rng.random(6) + 2
    plain = share_over_folds(parts, totals, level=0.95)
    moved = share_over_folds(parts, totals, -0.2 * totals.sum(), level=0.95)
    assert moved.estimate == pytest.approx(plain.estimate - 0.2)
    assert moved.interval.half_width == pytest.approx(plain.interval.half_width + 0.2)


def test_more_confidence_is_a_wider_interval(rng):
    parts, totals = rng.random(6), rng.random(6) + 2
    widths = [
        share_over_folds(parts, totals, level=p).interval.half_width for p in (0.5, 0.9, 0.99)
    ]
    assert widths == sorted(set(widths))


def test_a_share_is_cut_at_zero():
    cut = Share(-0.1, 0.2, Interval(-0.5, 0.3)).at_least_zero()
    assert cut == Share(0.0, 0.2, Interval(0.0, 0.3))
    assert Share(0.1, 0.2, Interval(0.05, 0.3)).at_least_zero().interval == Interval(0.05, 0.3)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_covers_as_often_as_it_says(rng, level):
    draws, n, folds = 1000, 600, 10
    errors = rng.gamma(2.0, 0.15, (draws, n))  # rows' errors and totals, related and skew
    totals = errors + rng.gamma(3.0, 0.5, (draws, n))
    truth = 0.3 / (0.3 + 1.5)
    fold = rng.integers(0, folds, n)
    covered = 0
    for e, t in zip(errors, totals, strict=True):
        share = share_over_folds(np.bincount(fold, e), np.bincount(fold, t), level=level)
        covered += share.interval.low <= truth <= share.interval.high
    assert abs(covered / draws - level) < STANDARD_ERRORS * np.sqrt(level * (1 - level) / draws)


def test_the_null_is_summed_up():
    assert Null.of([0.9, 1.1, 1.3]) == Null(pytest.approx(1.1), 0.9, 1.3)


class TestRepairing:
    def test_drawn_cross_moments_spread_as_those_of_shuffled_rows(self, rng):
        X, Y = spread_rows(rng, n=150, d=3), spread_rows(rng, n=150, d=2)
        x, y = X - X.mean(0), Y - Y.mean(0)
        draws = 4000
        shuffled = np.array([(x.T @ y[rng.permutation(150)]).ravel() for _ in range(draws)])
        roots = np.linalg.cholesky(x.T @ x), np.linalg.cholesky(y.T @ y)
        drawn = np.array([repaired_cross_moment(*roots, 150, rng).ravel() for _ in range(draws)])
        exact = np.kron(x.T @ x, y.T @ y) / 149
        size = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
        for sample in (shuffled, drawn):
            # A covariance estimated from m draws is off by about sqrt((1 + r^2) / m) of its size.
            gap = np.abs(np.cov(sample.T) - exact) / size
            assert gap.max() < STANDARD_ERRORS * np.sqrt(2 / draws)
            assert np.all(
                np.abs(sample.mean(0)) < STANDARD_ERRORS * np.sqrt(np.diag(exact) / draws)
            )

    def test_the_error_on_repaired_rows_is_that_of_shuffled_rows(self, rng):
        X, Y = spread_rows(rng, n=150, d=3), spread_rows(rng, n=150, d=2)
        fitted = Affine(rng.standard_normal((3, 2)), np.array([1.0, -2.0]), 0.0)
        test = Moments.of(X, Y)
        drawn = [repaired_error(test, fitted, rng) for _ in range(3000)]
        shuffled = [
            residual(X, Y[rng.permutation(150)], fitted.matrix, fitted.bias) for _ in range(3000)
        ]
        error = np.std(shuffled) / np.sqrt(1500)
        assert abs(np.mean(drawn) - np.mean(shuffled)) < STANDARD_ERRORS * error
        assert np.std(drawn) == pytest.approx(np.std(shuffled), rel=STANDARD_ERRORS / np.sqrt(3000))

    def test_equal_seeds_agree_and_different_seeds_differ(self, rng):
        m = Moments.of(spread_rows(rng), spread_rows(rng))
        fitted = Affine.fit(m)

        def draw(seed: int) -> tuple:
            own = np.random.default_rng(seed)
            cross = repaired_cross_moment(np.eye(2), np.eye(2), 9, own)
            return cross.tolist(), repaired_error(m, fitted, own)

        assert draw(1) == draw(1)
        assert draw(1)[0] != draw(2)[0]
        assert draw(1)[1] != draw(2)[1]

    def test_one_test_row_is_enough_not_to_divide_by_zero(self, rng):
        m = Moments(2, 2)
        m.update(np.ones((1, 2)), np.zeros((1, 2)))
        fitted = Affine(np.eye(2), np.zeros(2), 0.0)
        assert repaired_error(m, fitted, rng) == pytest.approx(2.0)
