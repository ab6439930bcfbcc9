"""CKA from explicit n x n kernels, and the unbiased HSIC from its definition over quadruples."""

from __future__ import annotations

from itertools import permutations

import numpy as np


def biased_cka(X: np.ndarray, Y: np.ndarray) -> float:
    """<HKH, HLH> over the norms, with the centring matrix H written out."""
    n = len(X)
    H = np.eye(n) - np.ones((n, n)) / n
    K, L = H @ X @ X.T @ H, H @ Y @ Y.T @ H
    return float((K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum()))


def unbiased_hsic(X: np.ndarray, Y: np.ndarray) -> float:
    """Mean over ordered quadruples of distinct rows of K_ij L_ij + K_ij L_qr - 2 K_ij L_iq."""
    K, L = X @ X.T, Y @ Y.T
    terms = [
        K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]) for i, j, q, r in permutations(range(len(X)), 4)
    ]
    return float(np.mean(terms))


def debiased_cka(X: np.ndarray, Y: np.ndarray) -> float:
    """Ratio of the quadruple means."""
    return unbiased_hsic(X, Y) / float(np.sqrt(unbiased_hsic(X, X) * unbiased_hsic(Y, Y)))
