"""Procrustes: SciPy's, and a plain search over plane rotations and reflections."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
import scipy.optimize


def rotation(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The orthogonal matrix that takes centred X closest to centred Y."""
    return scipy.linalg.orthogonal_procrustes(X - X.mean(0), Y - Y.mean(0))[0]


def similarity_in_the_plane(X: np.ndarray, Y: np.ndarray) -> float:
    """Largest cosine over all rotations and reflections of the plane, found by search."""
    x, y = X - X.mean(0), Y - Y.mean(0)
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)

    def cosine(angle: float, flip: float) -> float:
        c, s = math.cos(angle), math.sin(angle)
        return float(np.sum((x @ np.array([[c, -flip * s], [s, flip * c]])) * y))

    best = -1.0
    for flip in (1.0, -1.0):
        start = max(np.linspace(0, 2 * math.pi, 73), key=lambda a: cosine(a, flip))
        found = scipy.optimize.minimize_scalar(
            lambda a, f=flip: -cosine(a, f), bracket=(start - 0.1, start + 0.1), tol=1e-12
        )
        best = max(best, -float(found.fun))
    return best
