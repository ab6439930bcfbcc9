"""Centred sums by two passes over the rows, in rational numbers: no rounding at all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def centred_sums(X: np.ndarray, Y: np.ndarray) -> dict[str, np.ndarray]:
    """Means, Sxx, Sxy, Syy and the products of squared norms, each rounded once at the end."""
    x, y = _centred(X), _centred(Y)
    norms = [[_dot(row, row) for row in side] for side in (x, y)]
    return {
        "mean_x": _rounded([_mean(column) for column in _exact(X).T]),
        "mean_y": _rounded([_mean(column) for column in _exact(Y).T]),
        "Sxx": _rounded([[_dot(a, b) for b in x.T] for a in x.T]),
        "Sxy": _rounded([[_dot(a, b) for b in y.T] for a in x.T]),
        "Syy": _rounded([[_dot(a, b) for b in y.T] for a in y.T]),
        "norm_products": _rounded([[_dot(a, b) for b in norms] for a in norms]),
    }


def _exact(rows: np.ndarray) -> np.ndarray:
    return np.array([[Fraction(float(v)) for v in row] for row in rows], dtype=object)


def _centred(rows: np.ndarray) -> np.ndarray:
    exact = _exact(rows)
    return exact - np.array([_mean(column) for column in exact.T], dtype=object)


def _mean(values: np.ndarray) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _dot(a: np.ndarray, b: np.ndarray) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def _rounded(nested: list) -> np.ndarray:
    return np.array(nested, dtype=object).astype(np.float64)
