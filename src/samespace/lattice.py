"""Fitting and testing every class of the lattice on every fold: numbers in, numbers out, no judgement.

One loop over the folds serves the held-out errors of all classes, the choice of the ridge, the per-dimension
R^2 and the null, because they share each fold's training moments and their one eigendecomposition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.inference import Null, repaired_cross_moment, repaired_error
from samespace.maps import Affine, Identity, Map, Orthogonal, Permutation
from samespace.maps.affine import RIDGES, RidgePath, least_ridge
from samespace.maps.base import bias_through_means, squared_error
from samespace.parallel import side_by_side

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
    """One class on these rows: the map fitted to all of them, and its squared errors.

    ``in_sample`` is the map's share on the rows it was fitted to; ``least`` that of the class's least-squares
    member, which has no penalty and fits ``parameters`` numbers.
    """

    name: str
    map: Map
    held_out: Float[Array, " k"]
    correction: float
    in_sample: float
    least: float
    null: Null
    parameters: int


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
    filled = [k for k in range(moments.folds) if moments.fold_size(k)]
    steps = _Steps(progress, total=2 * len(filled) + _NULL_DRAWS)
    width = max(moments.d_x, moments.d_y)

    def split(k: int) -> Fold:
        return steps.done(Fold(RidgePath.of(moments.without(k)), moments.fold(k)))

    folds: list[Fold] = list(side_by_side(split, filled, width=width))
    ridge = best_ridge(folds, moments)

    def test_on(fold: Fold) -> FoldErrors:
        return steps.done(fold_errors(fold, ridge, moments))

    tested = list(side_by_side(test_on, folds, width=width))
    whole = RidgePath.of(moments)
    values_y, vectors_y = np.linalg.eigh(moments.Syy)
    root_y = vectors_y * np.sqrt(np.maximum(values_y, 0.0) / moments.n)
    # On the largest folds: one row alone has no other to be paired with.
    largest = sorted(folds, key=lambda fold: -fold.test.n)
    draws = [
        NullDraw(largest[i % len(folds)], np.random.default_rng([seed, i]))
        for i in range(_NULL_DRAWS)
    ]

    def repair(draw: NullDraw) -> dict[str, float]:
        return steps.done(null_shares(draw, root_y, ridge, moments))

    nulls = list(side_by_side(repair, draws, width=width))
    total = unbiased_total(moments)
    classes = {
        name: ClassFit(
            name,
            fitted,
            np.array([errors.by_class[name] for errors in tested]),
            squared_error(moments, fitted)
            - float(np.mean([errors.everywhere[name] for errors in tested])),
            squared_error(moments, fitted) / total,
            least_error(moments, fitted, whole) / total,
            Null.of([null[name] for null in nulls]),
            parameters(name, whole, moments.d_y),
        )
        for name, fitted in fit_classes(moments, whole, ridge).items()
    }
    return LatticeFit(
        classes,
        np.array([total_error(fold.test, moments) for fold in folds]) * total / values_y.sum(),
        share_per_dimension(
            np.sum([errors.by_dimension for errors in tested], axis=0), np.diag(moments.Syy)
        ),
        ridge,
        whole.values,
        values_y,
        moments.n,
    )


@dataclass(frozen=True, eq=False)
class Fold:
    """A training set, decomposed, and the rows left out of it."""

    path: RidgePath
    test: Moments


@dataclass(frozen=True, eq=False)
class FoldErrors:
    """Squared errors of the maps fitted without one fold.

    On that fold, by class and, for the affine map, by target dimension; and on all rows, by class, which
    tells what missing the fold cost the fit.
    """

    by_class: dict[str, float]
    by_dimension: Float[Array, " d_y"]
    everywhere: dict[str, float]


@dataclass(frozen=True, eq=False)
class NullDraw:
    """One random re-pairing of one fold's rows."""

    fold: Fold
    rng: np.random.Generator


class _Steps:
    """Counts finished steps and passes them on."""

    def __init__(self, progress: Progress | None, *, total: int) -> None:
        self._progress, self._total, self._count = progress, total, 0
        self._lock = Lock()  # folds finish on several threads, and the caller is told in order

    def done(self, value: Any) -> Any:
        """Count one step; hand its value on."""
        with self._lock:
            self._count += 1
            if self._progress is not None:
                self._progress("fitting folds", self._count, self._total)
        return value


def best_ridge(folds: list[Fold], moments: Moments) -> float:
    """The penalty with the smallest held-out error over all folds."""
    width = max(moments.d_x, moments.d_y)
    errors = side_by_side(lambda f: f.path.squared_errors(f.test, RIDGES), folds, width=width)
    return least_ridge(list(errors), moments)


def fold_errors(fold: Fold, ridge: float, everything: Moments) -> FoldErrors:
    """Test every class, fitted on the training rows, on the rows left out."""
    fits = fit_classes(fold.path.moments, fold.path, ridge)
    by_dimension = errors_per_dimension(fold.test, fits["affine"])
    by_class = {
        name: squared_error(fold.test, one) for name, one in fits.items() if name != "affine"
    }
    everywhere = {name: squared_error(everything, one) for name, one in fits.items()}
    return FoldErrors(by_class | {"affine": float(by_dimension.sum())}, by_dimension, everywhere)


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


def unbiased_total(moments: Moments) -> float:
    """Squared distance of the rows from the true mean, unbiased: n/(n-1) times that from their own mean."""
    return float(np.trace(moments.Syy)) * moments.n / (moments.n - 1)


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


def least_error(moments: Moments, fitted: Map, path: RidgePath) -> float:
    """Smallest squared error that any map of the class has on these rows; a ridge leaves more."""
    if not isinstance(fitted, Affine):
        return squared_error(moments, fitted)
    return max(float(np.trace(moments.Syy)) - path.explained(), 0.0)


def parameters(name: str, path: RidgePath, d_y: int) -> int:
    """Free numbers that the least-squares member of a class fits."""
    if name == "affine":
        return d_y * (1 + path.rank)
    if name == "orthogonal":
        small, large = sorted((len(path.values), d_y))
        return large * small - small * (small + 1) // 2 + 1 + d_y
    return 2 * d_y if name == "permutation" else 0


def null_shares(
    draw: NullDraw, root_y: Float[Array, "d_y d_y"], ridge: float, moments: Moments
) -> dict[str, float]:
    """Held-out share of each class when the rows of training and test set are paired at random."""
    path, test, train = draw.fold.path, draw.fold.test, draw.fold.path.moments
    root_x = path.vectors * np.sqrt(np.maximum(path.values, 0.0))
    cross = repaired_cross_moment(root_x, root_y * np.sqrt(train.n), train.n, draw.rng)
    repaired = train.with_cross(cross)
    shuffled = replace(path, moments=repaired, rotated=path.vectors.T @ cross)
    total = total_error(test, moments)
    return {
        name: repaired_error(test, fitted, draw.rng) / total
        for name, fitted in fit_classes(repaired, shuffled, ridge).items()
    }
