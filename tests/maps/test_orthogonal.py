"""The Procrustes class: SciPy's rotation, isometric embeddings, and projections by descent."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import DegenerateError, NoInverseError
from samespace.maps import Orthogonal
from samespace.maps.orthogonal import polar_factor
from tests.maps.pairs import residual, rotation, semi_orthogonal, spread_rows
from tests.oracles.held_out import predictions
from tests.tolerances import atol, rtol


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([1e-8, 1.0, 1e8]),
    st.integers(0, 2**32 - 1),
)
def test_any_member_of_the_class_is_found(d_x, d_y, scale, seed):
    rng = np.random.default_rng(seed)
    X, R = spread_rows(rng, d=d_x), semi_orthogonal(rng, d_x, d_y)
    Y = scale * (X @ R + 3)
    found = Orthogonal.fit(X, Y)
    assert found.score(X, Y) == pytest.approx(1, abs=atol("exact"))
    assert found.scale == pytest.approx(scale, rel=1e-7)
    assert np.allclose(found.rotation, R, atol=1e-7)


def test_noise_is_turned_as_scipy_turns_it(rng):
    X, Y = spread_rows(rng), spread_rows(rng)
    found = Orthogonal.fit(X, Y)
    R = scipy.linalg.orthogonal_procrustes(X - X.mean(0), Y - Y.mean(0))[0]
    assert np.allclose(found.rotation, R, atol=1e-8)
    assert np.allclose(found.transform(X), predictions("orthogonal", X, Y, X), atol=1e-7)


def test_a_reflection_is_inside_and_a_shear_is_not(rng):
    X = rng.standard_normal((500, 3))
    mirror = rotation(rng, 3) @ np.diag([1, 1, -1.0])
    shear = np.array([[1, 2.0, 0], [0, 1, 0], [0, 0, 1]])
    assert Orthogonal.fit(X, X @ mirror).score(X, X @ mirror) == pytest.approx(1, abs=atol("exact"))
    assert Orthogonal.fit(X, X @ shear).score(X, X @ shear) < 0.9


@pytest.mark.parametrize("widths", [(5, 2), (4, 3), (2, 5), (6, 1)])
def test_no_random_search_beats_the_fit(rng, widths):
    d_x, d_y = widths
    X, Y = spread_rows(rng, n=60, d=d_x), spread_rows(rng, n=60, d=d_y)
    found = Orthogonal.fit(X, Y)
    best = residual(X, Y, found.matrix, found.bias)
    x, y = X - X.mean(0), Y - Y.mean(0)
    for step in np.geomspace(1, 1e-3, 300):
        R = polar_factor(found.rotation + step * rng.standard_normal(widths))
        s = np.sum((x @ R) * y) / np.sum((x @ R) ** 2)
        assert best <= np.sum((y - s * x @ R) ** 2) + 1e-4 * np.sum(y**2)


def test_a_projection_of_uneven_rows_with_noise_is_found(rng):
    # The polar factor of Sxy alone leaves 20% here: it prefers the directions in which X is long.
    X = rng.standard_normal((4000, 6)) * np.arange(1, 7) @ rotation(rng, 6)
    Y = 3 * X @ semi_orthogonal(rng, 6, 3) + 1
    Y += 0.1 * Y.std(0) * rng.standard_normal(Y.shape)
    assert Orthogonal.fit(X, Y).score(X, Y) == pytest.approx(1 / 1.01, abs=2e-3)


def test_unscaled_and_unshifted_fits_keep_to_it(rng):
    X, Y = spread_rows(rng), spread_rows(rng) + 9
    fixed = Orthogonal.fit(X, Y, scaled=False, shifted=False)
    assert fixed.scale == 1.0
    assert not fixed.bias.any()
    assert np.allclose(fixed.matrix.T @ fixed.matrix, np.eye(4), atol=1e-10)
    assert Orthogonal.fit(X[:, :4], Y[:, :2], scaled=False).scale == 1.0


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5, 1e7, 1e12, np.inf])
def test_the_polar_factor_is_orthonormal_to_rounding(rng, condition):
    values = (
        np.geomspace(1, 1 / condition, 6) if condition < np.inf else np.array([1, 1, 1, 0, 0, 0])
    )
    for shape in ((6, 6), (9, 6), (6, 9)):
        U, V = semi_orthogonal(rng, shape[0], 6), semi_orthogonal(rng, 6, shape[1])
        M = U @ np.diag(values) @ V
        R = polar_factor(M)
        gram = R.T @ R if shape[0] >= shape[1] else R @ R.T
        assert np.allclose(gram, np.eye(6), atol=1e-10)
        assert np.vdot(R, M) == pytest.approx(
            values.sum(), rel=1e-8
        )  # the nuclear norm: the maximum


def test_the_inverse_of_an_embedding_and_of_a_projection(rng):
    X = spread_rows(rng, d=3)
    up = Orthogonal.fit(X, X @ semi_orthogonal(rng, 3, 5))
    assert np.allclose(up.inverse_transform(up.transform(X)), X, atol=1e-9)
    down = Orthogonal.fit(X, X[:, :2])
    with pytest.raises(NoInverseError, match="it projects 3 dimensions onto 2"):
        down.inverse_transform(X[:, :2])


@pytest.mark.parametrize("d_y", [2, 3, 4])
def test_constant_rows_give_a_map_without_a_rotation(rng, d_y):
    found = Orthogonal.fit(np.ones((20, 3)), rng.standard_normal((20, d_y)))
    assert not found.matrix.any()
    with pytest.raises(DegenerateError, match="the fitted scale is zero"):
        found.rotation  # noqa: B018 (a property that raises)
    if d_y >= 3:
        with pytest.raises(NoInverseError, match="its scale is zero"):
            found.inverse_transform(np.ones((2, d_y)))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rounded_rows_are_turned_to_their_own_precision(rng, dtype):
    X, Q = spread_rows(rng), rotation(rng, 4)
    rounded = X.astype(dtype), (X @ Q).astype(dtype)
    found = Orthogonal.fit(*rounded)
    assert np.allclose(found.rotation, Q, atol=rtol("exact", dtype))


def test_fewer_rows_than_dimensions(rng):
    X = rng.standard_normal((5, 8))
    Y = X @ rotation(rng, 8)
    found = Orthogonal.fit(X, Y)
    assert np.allclose(found.rotation.T @ found.rotation, np.eye(8), atol=1e-10)
    assert found.score(X, Y) == pytest.approx(1, abs=atol("exact"))
