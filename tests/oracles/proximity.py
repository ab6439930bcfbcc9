"""Neighbours by a full sort with every way to break ties; alignment and uniformity by loops over pairs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np


def neighbour_overlap(X: np.ndarray, Y: np.ndarray, k: int) -> float:
    """Mean over rows of sum_j min(w_x, w_y) / k, w the share of tie-breakings with j among the k nearest."""
    shares = []
    for i in range(len(X)):
        w_x, w_y = membership(X, i, k), membership(Y, i, k)
        shares.append(sum(min(w_x[j], w_y[j]) for j in w_x) / k)
    return float(sum(shares) / len(shares))


def membership(X: np.ndarray, i: int, k: int) -> dict[int, Fraction]:
    """For integer-valued rows (exact distances): the share of all tie-breakings that choose each j."""
    exact = [[int(v) for v in row] for row in X]
    distance = {
        j: sum((a - b) ** 2 for a, b in zip(exact[i], row, strict=True))
        for j, row in enumerate(exact)
        if j != i
    }
    best = min(sum(distance[j] for j in chosen) for chosen in combinations(distance, k))
    choices = [c for c in combinations(distance, k) if sum(distance[j] for j in c) == best]
    return {j: Fraction(sum(j in c for c in choices), len(choices)) for j in distance}


def cosine_overlap(X: np.ndarray, Y: np.ndarray, k: int) -> float:
    """Without ties: sets of the k largest cosines, row by row."""

    def nearest(rows: np.ndarray, i: int) -> set[int]:
        cosine = [
            float(rows[i] @ row) / math.sqrt(float(rows[i] @ rows[i]) * float(row @ row))
            for row in rows
        ]
        return set(sorted((j for j in range(len(rows)) if j != i), key=lambda j: -cosine[j])[:k])

    return float(np.mean([len(nearest(X, i) & nearest(Y, i)) / k for i in range(len(X))]))


def uniformity(X: np.ndarray, t: float) -> float:
    """The logarithm of the mean potential over pairs, one pair at a time."""
    units = [row / math.sqrt(float(row @ row)) for row in X]
    potentials = [math.exp(-t * float((a - b) @ (a - b))) for a, b in combinations(units, 2)]
    return math.log(math.fsum(potentials) / len(potentials))


def alignment(X: np.ndarray, Y: np.ndarray, power: float) -> float:
    """The mean distance, one pair at a time."""
    total = 0.0
    for a, b in zip(X, Y, strict=True):
        gap = a / math.sqrt(float(a @ a)) - b / math.sqrt(float(b @ b))
        total += math.sqrt(float(gap @ gap)) ** power
    return total / len(X)
