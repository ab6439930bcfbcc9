"""The identity: nothing is fitted, so a shift and a scale count against it."""

from __future__ import annotations

import numpy as np

from samespace.maps import Identity
from tests.maps.pairs import spread_rows
from tests.tolerances import rtol


def test_equal_rows_are_explained_entirely(rng):
    X = spread_rows(rng)
    assert Identity.fit(X, X).score(X, X) == 1.0
    assert np.array_equal(Identity.fit(X, X).transform(X), X)
    assert np.array_equal(Identity.fit(X, X).inverse_transform(X), X)


def test_a_shift_and_a_scale_are_errors(rng):
    X = spread_rows(rng)
    x = X - X.mean(0)
    for Y, error in (
        (X + 3, 9.0 * X.size),
        (x * 2, np.sum(x**2) + X.shape[0] * np.sum(X.mean(0) ** 2)),
    ):
        total = np.sum((Y - Y.mean(0)) ** 2)
        score = Identity.fit(X, Y).score(X, Y)
        assert np.isclose(score, 1 - error / total, rtol=rtol("exact"))
        assert score < 1 - 1e-3
