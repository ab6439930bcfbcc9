"""Data for the tests of measures: related pairs, maps of each class, and moments of however few rows."""

from __future__ import annotations

import numpy as np

from samespace.hashing import fold_of
from samespace.moments import Moments


def related(
    rng: np.random.Generator, n: int = 200, d_x: int = 4, d_y: int = 3, noise: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """X with columns of different spread and mean, and Y an affine function of it plus noise."""
    X = rng.standard_normal((n, d_x)) * np.arange(1, d_x + 1) + np.arange(d_x)
    Y = X @ rng.standard_normal((d_x, d_y)) + noise * rng.standard_normal((n, d_y)) - 5
    return X, Y


def moments(X: np.ndarray, Y: np.ndarray, *, folds: int = 10) -> Moments:
    """Moments without the gate, which wants more rows than a test of small cases has."""
    m = Moments(X.shape[1], Y.shape[1], folds=folds)
    m.update(X, Y)
    return m


def folds_of(n: int, folds: int = 10) -> np.ndarray:
    """The fold of each row, as Moments assign it to rows without ids."""
    return fold_of(np.arange(n, dtype=np.uint64), folds)


def rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    """A random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def shear(rng: np.random.Generator, d: int) -> np.ndarray:
    """An invertible matrix far from orthogonal and from diagonal: condition number about 10."""
    return rotation(rng, d) @ np.diag(np.geomspace(1, 10, d)) @ rotation(rng, d)


def signed_permutation(rng: np.random.Generator, d: int) -> np.ndarray:
    """A permutation matrix with random signs."""
    return np.eye(d)[rng.permutation(d)] * rng.choice([-1.0, 1.0], d)
