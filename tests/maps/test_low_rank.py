"""Low-rank maps: reduced-rank regression, and a rank that held-out rows choose."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samespace.errors import NoInverseError, OptionError
from samespace.hashing import fold_of
from samespace.maps import Affine, LowRank
from samespace.maps.low_rank import _errors_by_rank
from samespace.moments import Moments
from tests.maps.pairs import residual, spread_rows
from tests.tolerances import atol, rtol


def related(
    rng: np.random.Generator, rank: int, noise: float = 0.05
) -> tuple[np.ndarray, np.ndarray]:
    X = spread_rows(rng, n=400, d=5)
    Y = X @ rng.standard_normal((5, rank)) @ rng.standard_normal((rank, 6))
    return X, Y + noise * Y.std() * rng.standard_normal(Y.shape) + 4


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_rank_of_the_relation_is_found(rng, rank):
    X, Y = related(rng, rank)
    # Without tolerance for weak directions, which random ones now and then are.
    found = LowRank.fit(X, Y, tolerance=1e-4)
    assert found.rank == rank
    assert np.linalg.matrix_rank(found.matrix, tol=1e-8) == rank


def test_it_is_least_squares_projected_as_by_the_rows(rng):
    X, Y = related(rng, 3, noise=0.5)
    x, y = X - X.mean(0), Y - Y.mean(0)
    fitted = x @ np.linalg.lstsq(x, y, rcond=None)[0]
    for rank in range(1, 6):
        U, s, Vt = np.linalg.svd(fitted, full_matrices=False)
        best = np.sum((y - (U[:, :rank] * s[:rank]) @ Vt[:rank]) ** 2)
        found = LowRank.fit(X, Y, rank=rank, ridge=0.0)
        assert residual(X, Y, found.matrix, found.bias) == pytest.approx(best, rel=rtol("exact"))


def test_at_full_rank_it_is_the_affine_map(rng):
    X, Y = related(rng, 3)
    full, affine = LowRank.fit(X, Y, rank=5, ridge=0.01), Affine.fit(X, Y, ridge=0.01)
    assert np.allclose(full.matrix, affine.matrix, atol=1e-10)
    assert np.allclose(full.bias, affine.bias, atol=1e-9)


def test_the_held_out_error_by_rank_is_that_of_the_rows(rng):
    X, Y = related(rng, 2, noise=0.5)
    m, fold = Moments.of(X, Y), fold_of(np.arange(400, dtype=np.uint64), 10)
    test = fold == 3
    errors = _errors_by_rank(m.without(3), m.fold(3), 0.1)
    for rank, error in enumerate(errors, start=1):
        fitted = LowRank.fit(X[~test], Y[~test], rank=rank, ridge=0.1)
        by_rows = residual(X[test], Y[test], fitted.matrix, fitted.bias)
        assert error == pytest.approx(by_rows, rel=1e-9)


def test_more_rank_never_explains_less_of_the_rows_fitted_to(rng):
    X, Y = related(rng, 4, noise=1.0)
    scores = [LowRank.fit(X, Y, rank=r, ridge=0.0).score(X, Y) for r in range(1, 6)]
    assert all(b >= a - atol("exact") for a, b in itertools.pairwise(scores))
    assert scores[0] < scores[-1]


@pytest.mark.parametrize("rank", [0, 6])
def test_ranks_that_the_widths_do_not_allow(rng, rank):
    with pytest.raises(OptionError, match=rf"rank={rank}; widths 5 and 6 allow 1 to 5"):
        LowRank.fit(*related(rng, 2), rank=rank)


def test_choosing_needs_folds(rng):
    m = Moments.of(*related(rng, 2), folds=1)
    with pytest.raises(OptionError, match="choosing the rank needs Moments with at least 2 folds"):
        LowRank.fit(m, ridge=0.0)
    assert LowRank.fit(m, ridge=0.0, rank=2).rank == 2


def test_there_is_no_way_back(rng):
    X, Y = related(rng, 2)
    with pytest.raises(NoInverseError, match="it keeps 2 of 5 dimensions"):
        LowRank.fit(X, Y, rank=2).inverse_transform(Y)
