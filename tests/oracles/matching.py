"""MCC by trying every permutation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import scipy.stats


def mcc(X: np.ndarray, Y: np.ndarray, *, spearman: bool = False) -> tuple[float, tuple[int, ...]]:
    """The best mean |correlation| over all injections of Y's columns into X's, and that injection."""
    correlate = scipy.stats.spearmanr if spearman else scipy.stats.pearsonr
    R = np.array([[abs(correlate(a, b).statistic) for b in Y.T] for a in X.T])
    columns = range(Y.shape[1])
    return max(
        (float(np.mean([R[order[j], j] for j in columns])), order)
        for order in permutations(range(X.shape[1]), Y.shape[1])
    )


def held_out_mcc(X: np.ndarray, Y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Columns matched and signed on the rows of other folds; standardised there, then pooled."""
    U, V = np.empty_like(Y), np.empty_like(Y)
    for k in np.unique(fold):
        train, test = fold != k, fold == k
        order = list(mcc(X[train], Y[train])[1])
        a, b = X[:, order], Y
        a, b = ((z - z[train].mean(0)) / z[train].std(0) for z in (a, b))
        U[test], V[test] = (a * np.sign((a * b)[train].sum(0)))[test], b[test]
    return (U * V).sum(0) / np.sqrt((U**2).sum(0) * (V**2).sum(0))
