"""Pairs of models for the theory's tests: exactly equivalent, nearly so, and unrelated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Models:
    """Values of two models, and the A and b that link them where they are equivalent."""

    f: np.ndarray
    g: np.ndarray
    f_star: np.ndarray
    g_star: np.ndarray
    A: np.ndarray
    b: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.f, self.g, self.f_star, self.g_star


def log_prob(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Every log-probability, (n, K): the slow route."""
    logits = f @ g.T
    return logits - log_z(f, g)[:, None]


def log_z(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    logits = f @ g.T
    top = logits.max(axis=1)
    return top + np.log(np.exp(logits - top[:, None]).sum(axis=1))


def equivalent(
    rng: np.random.Generator, *, n: int = 60, k: int = 9, m: int = 3, noise: float = 0.0
) -> Models:
    """f* = A f and g* = A^-T g + b, up to noise in f*."""
    f, g = rng.standard_normal((n, m)), rng.standard_normal((k, m))
    A = rng.standard_normal((m, m)) + 2.0 * np.eye(m)
    b = rng.standard_normal(m)
    f_star = f @ A.T + noise * rng.standard_normal(f.shape)
    return Models(f, g, f_star, g @ np.linalg.inv(A) + b, A, b)


def unrelated(rng: np.random.Generator, *, n: int = 60, k: int = 9, m: int = 3) -> Models:
    """Four matrices that have nothing to do with each other."""
    parts = [rng.standard_normal((rows, m)) for rows in (n, k, n, k)]
    return Models(*parts, np.eye(m), np.zeros(m))


def transformed(
    models: Models, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same distributions in other coordinates: f -> A f, g -> A^-T g + b, of each model its own."""
    changed = []
    for f, g in ((models.f, models.g), (models.f_star, models.g_star)):
        A = rng.standard_normal((f.shape[1],) * 2) + 2.0 * np.eye(f.shape[1])
        changed += [f @ A.T, g @ np.linalg.inv(A) + rng.standard_normal(f.shape[1])]
    return tuple(changed)
