"""Rows related by a member of each class, with noise or without."""

from __future__ import annotations

import numpy as np


def spread_rows(rng: np.random.Generator, n: int = 300, d: int = 4) -> np.ndarray:
    """Correlated columns of different spreads and means: nothing is white by accident."""
    shape = rng.standard_normal((d, d)) + 2 * np.diag(np.arange(1, d + 1))
    return rng.standard_normal((n, d)) @ shape + np.arange(d)


def rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def semi_orthogonal(rng: np.random.Generator, d_x: int, d_y: int) -> np.ndarray:
    R = np.linalg.qr(rng.standard_normal((max(d_x, d_y), min(d_x, d_y))))[0]
    return R if d_x >= d_y else R.T


def residual(X: np.ndarray, Y: np.ndarray, matrix: np.ndarray, bias: np.ndarray) -> float:
    """Squared error by the rows, the slow way."""
    return float(np.sum((Y - (X @ matrix + bias)) ** 2))
