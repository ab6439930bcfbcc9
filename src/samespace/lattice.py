"""Fitting and testing every class of the lattice on every fold: numbers in, numbers out, no judgement.

One loop over the folds serves the held-out errors of all classes, the choice of the ridge, the per-dimension
R^2 and the null, because they share each fold's training moments and their one eigendecomposition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from samespace.inference import Null, repaired_cross_moment, repaired_error
from samespace.maps import Affine, Identity, Map, Orthogonal, Permutation
from samespace.maps.affine import RIDGES, RidgePath
from samespace.maps.base import bias_through_means, squared_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.moments import Moments

    Progress = Callable[[str, int, int], None]

CLASSES = ("identity", "permutation", "orthogonal", "affine")
"""From the smallest to the largest; permutation and orthogonal lie side by side between the other two."""

SMALLER = {
    "identity": (),
    "permutation": ("identity",),
    "orthogonal": ("identity",),
    "affine": ("identity", "permutation", "orthogonal"),
}
"""The classes that each class contains."""

_NULL_DRAWS = 5


@dataclass(frozen=True, eq=False)
class ClassFit:
    """One class on these rows: the map fitted to all of them, and its squared errors."""

    name: str
    map: Map
    held_out: Float[Array, " k"]
    in_sample: float
    null: Null
    parameters: float


@dataclass(frozen=True, eq=False)
class LatticeFit:
    """All classes that apply, and what they share."""

    classes: dict[str, ClassFit]
    totals: Float[Array, " k"]
    r2: Float[Array, " d_y"]
    ridge: float
    values_x: Float[Array, " d_x"]
    values_y: Float[Array, " d_y"]
    n: int

    @property
    def values(self) -> int:
        """Numbers measured: rows times target dimensions."""
        return self.n * len(self.values_y)


def fit_lattice(moments: Moments, *, seed: int, progress: Progress | None = None) -> LatticeFit:
    """Fit every class that applies to all rows and to each training fold; test it on the fold."""
    folds = [k for k in range(moments.folds) if moments.fold(k).n]
    pairs = [(moments.without(k), moments.fold(k)) for k in folds]
    paths = []
    errors = np.zeros((len(pairs), len(RIDGES)))
    for i, (train, test) in enumerate(pairs):
        paths.append(RidgePath.of(train))
        errors[i] = paths[i].squared_errors(test, RIDGES)
        if progress is not None:
            progress("fitting folds", i + 1, 2 * len(pairs))
    best = int(errors.sum(axis=0).argmin())
    ridge = RIDGES[best]

    held_out: dict[str, list[float]] = {name: [] for name in applicable(moments)}
    dimension_errors = np.zeros(moments.d_y)
    for i, (path, (train, test)) in enumerate(zip(paths, pairs, strict=True)):
        fits = fit_classes(train, path, ridge)
        for name, fitted in fits.items():
            held_out[name].append(squared_error(test, fitted))
        dimension_errors += errors_per_dimension(test, fits["affine"])
        if progress is not None:
            progress("fitting folds", len(pairs) + i + 1, 2 * len(pairs))

    whole = RidgePath.of(moments)
    values_y, vectors_y = np.linalg.eigh(moments.Syy)
    root_y = vectors_y * np.sqrt(np.maximum(values_y, 0.0))
    nulls = null_errors(moments, paths, pairs, root_y, ridge, rng=np.random.default_rng(seed))
    total = float(values_y.sum())
    classes = {
        name: ClassFit(
            name,
            fitted,
            np.array(held_out[name]),
            squared_error(moments, fitted) / total,
            nulls[name],
            parameters(name, whole, moments.d_y, ridge),
        )
        for name, fitted in fit_classes(moments, whole, ridge).items()
    }
    return LatticeFit(
        classes,
        np.array([total_error(test, moments) for _, test in pairs]),
        share_per_dimension(dimension_errors, np.diag(moments.Syy)),
        ridge,
        whole.values,
        values_y,
        moments.n,
    )


def applicable(moments: Moments) -> tuple[str, ...]:
    """Classes that make sense between these widths."""
    return CLASSES if moments.d_x == moments.d_y else CLASSES[2:]


def fit_classes(train: Moments, path: RidgePath, ridge: float) -> dict[str, Map]:
    """The least-squares member of each class on one training set."""
    fits: dict[str, Map] = {}
    if train.d_x == train.d_y:
        fits |= {"identity": Identity.fit(train), "permutation": Permutation.fit(train)}
    matrix = path.matrix(ridge)
    affine = Affine(matrix, bias_through_means(train, matrix), ridge)
    return fits | {"orthogonal": Orthogonal.fit(train), "affine": affine}


def total_error(test: Moments, everything: Moments) -> float:
    """Squared distance of the test rows from the mean of all: over the folds it adds up to tr Syy."""
    gap = test.mean_y - everything.mean_y
    return float(np.trace(test.Syy)) + test.n * float(gap @ gap)


def errors_per_dimension(test: Moments, fitted: Map) -> Float[Array, " d_y"]:
    """Squared error of each target dimension."""
    A = fitted.matrix
    spread = np.diag(test.Syy) - 2 * np.einsum("ij,ij->j", A, test.Sxy)
    spread = spread + np.einsum("ij,ij->j", A, test.Sxx @ A)
    offset = test.mean_y - test.mean_x @ A - fitted.bias
    errors: Array = np.maximum(spread, 0.0) + test.n * offset**2
    return errors


def share_per_dimension(
    errors: Float[Array, " d_y"], spread: Float[Array, " d_y"]
) -> Float[Array, " d_y"]:
    """Held-out R^2 of each dimension; NaN where the dimension does not vary, so has no R^2."""
    share = np.divide(errors, spread, out=np.full_like(errors, np.nan), where=spread > 0)
    return 1 - share


def parameters(name: str, path: RidgePath, d_y: int, ridge: float) -> float:
    """Free numbers that a class fits; for a ridge its effective degrees of freedom."""
    d_x = len(path.values)
    if name == "affine":
        return d_y * (1 + float(np.sum(path.values * path.shrinkage(ridge))))
    if name == "orthogonal":
        small, large = sorted((d_x, d_y))
        return large * small - small * (small + 1) / 2 + 1 + d_y
    return 2.0 * d_y if name == "permutation" else 0.0


def null_errors(
    moments: Moments,
    paths: list[RidgePath],
    pairs: list[tuple[Moments, Moments]],
    root_y: Float[Array, "d_y d_y"],
    ridge: float,
    *,
    rng: np.random.Generator,
) -> dict[str, Null]:
    """Held-out shares when the rows of training and test sets are paired at random."""
    draws: dict[str, list[float]] = {name: [] for name in applicable(moments)}
    for i in range(_NULL_DRAWS):
        path, (train, test) = paths[i % len(paths)], pairs[i % len(paths)]
        root_x = path.vectors * np.sqrt(np.maximum(path.values, 0.0))
        cross = repaired_cross_moment(root_x, root_y * np.sqrt(train.n / moments.n), train.n, rng)
        repaired = train.with_cross(cross)
        shuffled = replace(path, moments=repaired, rotated=path.vectors.T @ cross)
        for name, fitted in fit_classes(repaired, shuffled, ridge).items():
            draws[name].append(repaired_error(test, fitted, rng) / total_error(test, moments))
    return {
        name: Null(float(np.mean(u)), float(np.min(u)), float(np.max(u)))
        for name, u in draws.items()
    }
