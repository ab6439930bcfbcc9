"""Held-out shares by loops over rows: least squares by LAPACK, rotations by SciPy, pairings by shuffling."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.linalg


def predictions(name: str, X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Rows `new` under the member of the class that fits the rows (X, Y) best."""
    x, y, z = X - X.mean(0), Y - Y.mean(0), new - X.mean(0)
    match name:
        case "identity":
            return new
        case "permutation":
            order, scales = best_permutation(X, Y)
            return z[:, order] * scales + Y.mean(0)
        case "orthogonal":
            R = scipy.linalg.orthogonal_procrustes(x, y)[0]
            return np.sum((x @ R) * y) / np.sum(x * x) * z @ R + Y.mean(0)
        case _:
            design = np.column_stack([np.ones(len(X)), X])
            coefficients = np.linalg.lstsq(design, Y, rcond=None)[0]
            return np.column_stack([np.ones(len(new)), new]) @ coefficients


def best_permutation(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best of all d! orders, each with its best scales, by residuals on the rows."""
    x, y = X - X.mean(0), Y - Y.mean(0)

    def fit(order: tuple[int, ...]) -> tuple[float, np.ndarray]:
        old = x[:, order]
        scales = np.sum(old * y, axis=0) / np.sum(old * old, axis=0)
        return float(np.sum((y - old * scales) ** 2)), scales

    best = min(itertools.permutations(range(X.shape[1])), key=lambda order: fit(order)[0])
    return np.array(best), fit(best)[1]


def errors_by_fold(name: str, X: np.ndarray, Y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Squared error on each fold of the map fitted to the other folds' rows."""
    return np.array(
        [
            np.sum(
                (Y[fold == k] - predictions(name, X[fold != k], Y[fold != k], X[fold == k])) ** 2
            )
            for k in np.unique(fold)
        ]
    )


def totals_by_fold(Y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Squared distance of each fold's rows from the mean of all rows."""
    away = np.sum((Y - Y.mean(0)) ** 2, axis=1)
    return np.array([away[fold == k].sum() for k in np.unique(fold)])


def shuffled_shares(
    name: str, X: np.ndarray, Y: np.ndarray, test: np.ndarray, rng: np.random.Generator, draws: int
) -> np.ndarray:
    """Held-out shares on the test rows, the rows of training and of test set really shuffled."""
    total = np.sum((Y[test] - Y.mean(0)) ** 2)
    shares = []
    for _ in range(draws):
        train_y, test_y = rng.permutation(Y[~test]), rng.permutation(Y[test])
        error = np.sum((test_y - predictions(name, X[~test], train_y, X[test])) ** 2)
        shares.append(error / total)
    return np.array(shares)
