"""The maps as scikit-learn estimators, for pipelines, searches and cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from samespace.errors import OptionError
from samespace.maps import Affine, Identity, LowRank, Map, Orthogonal, Permutation
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

Kind = Literal["identity", "permutation", "orthogonal", "affine", "low_rank"]

_KINDS: dict[str, tuple[type[Map], tuple[str, ...]]] = {
    "identity": (Identity, ()),
    "permutation": (Permutation, ("scaled", "shifted")),
    "orthogonal": (Orthogonal, ("scaled", "shifted")),
    "affine": (Affine, ("ridge",)),
    "low_rank": (LowRank, ("ridge", "rank", "tolerance")),
}
"""Each kind's class, and the options that its ``fit`` takes."""


class MapEstimator(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Fits one admissible map from the rows of X to the rows of y, the scikit-learn way.

    ``predict`` and ``transform`` both map rows (``predict`` returns one dimension when y had one); ``score``
    is scikit-learn's R^2 of ``predict`` on the rows given to it, uniformly averaged over outputs.

    Parameters
    ----------
    kind
        "identity", "permutation", "orthogonal", "affine" or "low_rank". The first two need y as wide as X.
    ridge
        Of "affine" and "low_rank": the penalty, in units of the mean variance of X's columns. None chooses it
        by its held-out error over the folds.
    rank, tolerance
        Of "low_rank": the rank; None chooses the smallest within ``tolerance`` of the full map, held out.
    scaled, shifted
        Of "permutation" and "orthogonal": whether scales and a shift are fitted; None means that they are.
    folds
        Folds for choices made on held-out rows; a row's fold is a hash of its position.

    Attributes
    ----------
    map_ : samespace.maps.Map
        The fitted map, with ``matrix``, ``bias`` and ``save``.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    ``kind="affine"``, "low_rank" and "orthogonal" pass ``sklearn.utils.estimator_checks.check_estimator``.
    "identity" and "permutation" cannot: the checks fit a single output to several columns, and these classes
    are only defined between equal widths.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from samespace.estimators import MapEstimator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3))
    >>> Y = 2 * X[:, [1, 2, 0]] + 0.1 * rng.standard_normal((100, 3))
    >>> for kind in ("identity", "permutation", "affine"):
    ...     print(kind, cross_val_score(MapEstimator(kind=kind), X, Y).mean().round(2))
    identity -0.31
    permutation 1.0
    affine 1.0
    """

    def __init__(
        self,
        kind: Kind = "affine",
        *,
        ridge: float | None = None,
        rank: int | None = None,
        tolerance: float | None = None,
        scaled: bool | None = None,
        shifted: bool | None = None,
        folds: int = 10,
    ) -> None:
        self.kind = kind
        self.ridge = ridge
        self.rank = rank
        self.tolerance = tolerance
        self.scaled = scaled
        self.shifted = shifted
        self.folds = folds

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the map to paired rows."""
        map_class, options = self._map_class_and_options()
        X, y = validate_data(
            self,
            X,
            y,
            multi_output=True,
            y_numeric=True,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
        )
        self._one_output = y.ndim == 1
        Y = y.reshape(len(X), -1)
        moments = Moments(X.shape[1], Y.shape[1], folds=self.folds, keep=0)
        moments.update(X, Y)
        self.map_ = map_class.fit(moments, **options)
        self._n_features_out = Y.shape[1]
        return self

    def predict(self, X: Any) -> Float[Array, "n d_y"]:
        """Map rows; one-dimensional when y was."""
        mapped = self.transform(X)
        return mapped[:, 0] if self._one_output else mapped

    def transform(self, X: Any) -> Float[Array, "n d_y"]:
        """Map rows."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        mapped: Array = self.map_.transform(X)
        return mapped

    def inverse_transform(self, Y: Any) -> Float[Array, "n d_x"]:
        """Map rows back; NoInverseError says why where that cannot be."""
        check_is_fitted(self)
        rows: Array = self.map_.inverse_transform(
            check_array(Y, dtype=[np.float64, np.float32], input_name="Y")
        )
        return rows

    def _map_class_and_options(self) -> tuple[type[Map], dict[str, Any]]:
        if self.kind not in _KINDS:
            raise OptionError(f"kind={self.kind!r}; write one of {list(_KINDS)}.")
        map_class, known = _KINDS[self.kind]
        names = ("ridge", "rank", "tolerance", "scaled", "shifted")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        foreign = sorted(set(given) - set(known))
        if foreign:
            raise OptionError(
                f"{', '.join(foreign)} given for kind={self.kind!r}, which takes "
                f"{' and '.join(known) or 'no options'}; leave the rest None."
            )
        return map_class, given
