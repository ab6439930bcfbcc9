"""Fitting and testing every class of the lattice on every fold: numbers in, numbers out, no judgement.

One loop over the folds serves the held-out errors of all classes, the choice of the ridge, the per-dimension
R^2 and the null, because they share each fold's training moments and their one eigendecomposition. What
does not wait for the ridge is found side by side before it is chosen, all the rest side by side after.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.inference import Null, repaired_cross_moment, repaired_error
from samespace.maps import Affine, Identity, Map, Orthogonal, Permutation
from samespace.maps.affine import RIDGES, RidgePath, RidgeTest, least_ridge
from samespace.maps.base import bias_through_means, squared_error
from samespace.parallel import all_of

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
    total = unbiased_total(moments)
    filled = [k for k in range(moments.folds) if moments.fold_size(k)]
    steps = _Steps(progress, total=2 * len(filled) + _NULL_DRAWS)
    width = max(moments.d_x, moments.d_y)

    *folds, whole, (values_y, vectors_y) = all_of(
        *(partial(steps.done, Fold.without, moments, k) for k in filled),
        partial(RidgePath.of, moments),
        partial(np.linalg.eigh, moments.Syy),
        width=width,
    )
    ridge = least_ridge([fold.errors for fold in folds], moments)

    root_y = vectors_y * np.sqrt(np.maximum(values_y, 0.0) / moments.n)
    # On the largest folds: one row alone has no other to be paired with.
    largest = sorted(folds, key=lambda fold: -fold.test.n)
    draws = [
        NullDraw(largest[i % len(folds)], np.random.default_rng([seed, i]))
        for i in range(_NULL_DRAWS)
    ]
    fits, *found = all_of(
        partial(fit_classes, moments, whole, ridge),
        *(partial(steps.done, null_shares, draw, root_y, ridge, moments) for draw in draws),
        *(partial(steps.done, fold_errors, fold, ridge) for fold in folds),
        width=width,
    )
    nulls, tested = found[:_NULL_DRAWS], found[_NULL_DRAWS:]
    # A ridge leaves more than the least that any map of the class leaves on these rows.
    in_sample = {name: squared_error(moments, fitted) for name, fitted in fits.items()}
    least = in_sample | {"affine": max(float(np.trace(moments.Syy)) - whole.explained(), 0.0)}
    classes = {
        name: ClassFit(
            name,
            fitted,
            np.array([errors.by_class[name] for errors in tested]),
            in_sample[name] - float(np.mean([errors.everywhere[name] for errors in tested])),
            in_sample[name] / total,
            least[name] / total,
            Null.of([null[name] for null in nulls]),
            parameters(name, whole, moments.d_y),
        )
        for name, fitted in fits.items()
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
    """A training set, decomposed, the rows left out of it, and the error there of every ridge."""

    path: RidgePath
    test: Moments
    seen: RidgeTest
    errors: Float[Array, " r"]

    @classmethod
    def without(cls, moments: Moments, k: int) -> Fold:
        """All rows but those of one fold, which is the test set."""
        path, test = RidgePath.of(moments.without(k)), moments.fold(k)
        seen = RidgeTest.of(path, test)
        return cls(path, test, seen, seen.squared_errors(RIDGES))


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

    def done(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Take one step and count it; hand its value on."""
        value = function(*arguments)
        with self._lock:
            self._count += 1
            if self._progress is not None:
                self._progress("fitting folds", self._count, self._total)
        return value


def fold_errors(fold: Fold, ridge: float) -> FoldErrors:
    """Test every class, fitted on the training rows, on the rows left out and on all of them."""
    train, test = fold.path.moments, fold.test
    smaller = fit_smaller(train)
    by_dimension = fold.seen.errors_per_dimension(ridge)
    by_class = {name: squared_error(test, one) for name, one in smaller.items()}
    by_class["affine"] = float(by_dimension.sum())
    in_sample = {name: squared_error(train, one) for name, one in smaller.items()}
    in_sample["affine"] = float(np.trace(train.Syy)) - fold.path.explained(ridge)
    everywhere = {name: error + max(in_sample[name], 0.0) for name, error in by_class.items()}
    return FoldErrors(by_class, by_dimension, everywhere)


def applicable(moments: Moments) -> tuple[str, ...]:
    """Classes that make sense between these widths."""
    return CLASSES if moments.d_x == moments.d_y else CLASSES[2:]


def fit_smaller(train: Moments) -> dict[str, Map]:
    """The least-squares member of each class below the affine one on one training set."""
    fits: dict[str, Map] = {}
    if train.d_x == train.d_y:
        fits |= {"identity": Identity.fit(train), "permutation": Permutation.fit(train)}
    return fits | {"orthogonal": Orthogonal.fit(train)}


def fit_classes(train: Moments, path: RidgePath, ridge: float) -> dict[str, Map]:
    """The least-squares member of each class on one training set."""
    matrix = path.matrix(ridge)
    affine = Affine(matrix, bias_through_means(train, matrix), ridge)
    return fit_smaller(train) | {"affine": affine}


def total_error(test: Moments, everything: Moments) -> float:
    """Squared distance of the test rows from the mean of all: over the folds it adds up to tr Syy."""
    gap = test.mean_y - everything.mean_y
    return float(np.trace(test.Syy)) + test.n * float(gap @ gap)


def unbiased_total(moments: Moments) -> float:
    """Squared distance of the rows from the true mean, unbiased: n/(n-1) times that from their own mean."""
    return float(np.trace(moments.Syy)) * moments.n / (moments.n - 1)


def share_per_dimension(
    errors: Float[Array, " d_y"], spread: Float[Array, " d_y"]
) -> Float[Array, " d_y"]:
    """Held-out R^2 of each dimension; NaN where the dimension does not vary, so has no R^2."""
    share = np.divide(errors, spread, out=np.full_like(errors, np.nan), where=spread > 0)
    return 1 - share


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
