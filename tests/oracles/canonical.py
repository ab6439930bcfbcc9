"""CCA, SVCCA, PWCCA and R^2 from explicit rows: mpmath at 50 digits, or textbook NumPy."""

from __future__ import annotations

import mpmath
import numpy as np


def canonical_correlations(X: np.ndarray, Y: np.ndarray, *, digits: int = 50) -> list[mpmath.mpf]:
    """Roots of the eigenvalues of Sxx^-1 Sxy Syy^-1 Syx, in exact-ish arithmetic, descending."""
    with mpmath.workdps(digits):
        x, y = _centred(X), _centred(Y)
        Sxx, Sxy, Syy = x.T * x, x.T * y, y.T * y
        M = mpmath.inverse(Sxx) * Sxy * mpmath.inverse(Syy) * Sxy.T
        eigenvalues = mpmath.eig(M, left=False, right=False)
        squares = sorted((mpmath.re(v) for v in eigenvalues), reverse=True)
        pairs = min(X.shape[1], Y.shape[1])
        return [mpmath.sqrt(max(v, 0)) for v in squares[:pairs]]


def _centred(rows: np.ndarray) -> mpmath.matrix:
    exact = mpmath.matrix(rows.tolist())
    for j in range(exact.cols):
        mean = mpmath.fsum(exact[i, j] for i in range(exact.rows)) / exact.rows
        for i in range(exact.rows):
            exact[i, j] -= mean
    return exact


def directions(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Canonical directions by the symmetric generalized eigenproblem of the stacked blocks."""
    import scipy.linalg

    x, y = X - X.mean(0), Y - Y.mean(0)
    zero_xx, zero_yy = np.zeros((x.shape[1],) * 2), np.zeros((y.shape[1],) * 2)
    between = np.block([[zero_xx, x.T @ y], [y.T @ x, zero_yy]])
    within = scipy.linalg.block_diag(x.T @ x, y.T @ y)
    _, vectors = scipy.linalg.eigh(between, within)
    top = vectors[:, ::-1][:, : min(x.shape[1], y.shape[1])]
    return top[: x.shape[1]], top[x.shape[1] :]


def held_out_correlations(X: np.ndarray, Y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Directions from the rows of other folds; variates of all rows pooled, then one correlation a pair."""
    U, V = [], []
    for k in np.unique(fold):
        train, test = fold != k, fold == k
        A, B = directions(X[train], Y[train])
        u, v = (X - X[train].mean(0)) @ A, (Y - Y[train].mean(0)) @ B
        U.append(u[test] / u[train].std(0))
        V.append(v[test] / v[train].std(0))
    U, V = np.vstack(U), np.vstack(V)
    return (U * V).sum(0) / np.sqrt((U**2).sum(0) * (V**2).sum(0))


def svcca(X: np.ndarray, Y: np.ndarray, k_x: int, k_y: int) -> np.ndarray:
    """Singular values of U_x'U_y for the leading left singular vectors of the centred rows."""
    U_x = np.linalg.svd(X - X.mean(0), full_matrices=False)[0][:, :k_x]
    U_y = np.linalg.svd(Y - Y.mean(0), full_matrices=False)[0][:, :k_y]
    return np.linalg.svd(U_x.T @ U_y, compute_uv=False)


def pwcca(X: np.ndarray, Y: np.ndarray) -> float:
    """The sum over neurons of |<h_i, x_j>|, written out."""
    x = X - X.mean(0)
    A, B = directions(X, Y)
    weighted, total = 0.0, 0.0
    for i in range(A.shape[1]):
        h, g = x @ A[:, i], (Y - Y.mean(0)) @ B[:, i]
        h /= np.linalg.norm(h)
        alpha = sum(abs(float(h @ x[:, j])) for j in range(x.shape[1]))
        weighted += alpha * float(h @ g) / float(np.linalg.norm(g))
        total += alpha
    return weighted / total


def released_pwcca(X: np.ndarray, Y: np.ndarray) -> float:
    """What the paper's released program computes (x the smaller side): means added back, then QR."""
    x = X - X.mean(0)
    A, B = directions(X, Y)
    h, g = x @ A, (Y - Y.mean(0)) @ B
    correlations = (h * g).sum(0) / np.sqrt((h**2).sum(0) * (g**2).sum(0))
    P, _ = np.linalg.qr(h / np.linalg.norm(h, axis=0) + X.mean(0)[: h.shape[1]])
    weights = np.abs(P.T @ X).sum(axis=1)
    return float(weights @ correlations / weights.sum())


def r2(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """In-sample R^2 per column, by least squares on rows with an intercept column."""
    design = np.column_stack([np.ones(len(X)), X])
    residual = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    return 1 - (residual**2).sum(0) / ((Y - Y.mean(0)) ** 2).sum(0)


def held_out_r2(X: np.ndarray, Y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """R^2 of out-of-fold predictions, per column."""
    design = np.column_stack([np.ones(len(X)), X])
    predicted = np.empty_like(Y)
    for k in np.unique(fold):
        train, test = fold != k, fold == k
        predicted[test] = design[test] @ np.linalg.lstsq(design[train], Y[train], rcond=None)[0]
    return 1 - ((Y - predicted) ** 2).sum(0) / ((Y - Y.mean(0)) ** 2).sum(0)
