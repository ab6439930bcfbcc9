"""Comparisons to render: one generated pair of representations for every kind of verdict."""

from __future__ import annotations

from functools import cache

import numpy as np

from samespace.compare import Comparison, compare

KINDS = ("identity", "permutation", "orthogonal", "affine", "none", "undecided")


def pair(kind: str, *, n: int = 1500, d: int = 12, d_y: int | None = None) -> tuple:
    """Rows of old and new whose verdict is `kind`: six clusters on a bent sheet, and a little noise."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d)) * np.linspace(1, 0.4, d)
    x[:, :2] += 4 * rng.integers(-1, 2, (n, 2)) * [1.5, 1]
    x[:, 1] += 0.3 * x[:, 0] ** 2
    matrix = rng.standard_normal((d, d_y or d))
    noise = 0.05 * rng.standard_normal((n, d_y or d))
    match kind:
        case "identity":
            return x, x + noise
        case "permutation":
            signs = rng.choice([-1.0, 1.0], d)
            return x, (x * signs)[:, rng.permutation(d)] * np.linspace(0.5, 2, d) + noise
        case "orthogonal":
            return x, 2 * x @ np.linalg.qr(matrix)[0] + 3 + noise
        case "affine":
            return x, x @ matrix + 1 + noise
        case "none":
            return x, np.tanh(x @ matrix) * rng.choice([-1.0, 1.0], (n, 1))
    y = x @ matrix
    return x, y + y.std(axis=0) / 3 * rng.standard_normal(y.shape)


@cache
def comparison(
    kind: str,
    *,
    names: tuple[str, str] = ("old.npy", "new.npy"),
    n: int = 1500,
    d: int = 12,
    d_y: int | None = None,
    keep: int = 2048,
) -> Comparison:
    """The real comparison of such a pair."""
    return compare(*pair(kind, n=n, d=d, d_y=d_y), keep=keep, names=names)
