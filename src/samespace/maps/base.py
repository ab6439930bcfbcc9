r"""What every admissible map is: ``X @ matrix + bias``, fitted from moments, scored on moments or rows.

Because each class of the lattice is affine, one closed form gives the squared error of any of them on any
set of rows whose moments are known:

.. math:: |Y - (XA + b)|^2 = \operatorname{tr} S_{yy} - 2\operatorname{tr} A'S_{xy}
          + \operatorname{tr} A'S_{xx}A + n\,|\bar y - \bar x A - b|^2 .
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from samespace.errors import DegenerateError, FormatError, NoInverseError, ShapeError
from samespace.moments import Moments
from samespace.storage import load_tensors, save_tensors

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from jaxtyping import Float
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class Map(ABC):
    """An admissible map ``Y = X @ matrix + bias`` from a space of width d_x to one of width d_y."""

    matrix: Float[Array, "d_x d_y"]
    bias: Float[Array, " d_y"]

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Map]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Map._kinds[cls.kind] = cls

    @classmethod
    @abstractmethod
    def fit(cls, X: Any, Y: Any = None) -> Self:
        """Fit to rows ``(X, Y)``, or to ``Moments`` given as the first argument."""

    @abstractmethod
    def _invert(self) -> tuple[Float[Array, "d_y d_x"], Float[Array, " d_x"]]:
        """Matrix and bias of the inverse; raises NoInverseError where there is none."""

    @abstractmethod
    def push(self, S: Float[Array, "d_x d_x"]) -> Float[Array, "d_y d_y"]:
        """Covariance A'SA of the mapped rows, S being that of the rows."""

    @abstractmethod
    def spread(self, S: Float[Array, "d_x d_x"]) -> float:
        """Trace of :meth:`push`, in the cheapest way that the class allows."""

    @abstractmethod
    def _details(self) -> dict[str, Any]:
        """JSON-able fields beyond matrix and bias, as the constructor takes them."""

    @property
    def d_x(self) -> int:
        """Width of the space the map starts from."""
        return self.matrix.shape[0]

    @property
    def d_y(self) -> int:
        """Width of the space the map leads to."""
        return self.matrix.shape[1]

    def transform(self, X: Any) -> Any:
        """Map rows; the result is of X's library, device and floating type (at least float32)."""
        return _apply(X, self.matrix, self.bias, kind=self.kind)

    def inverse_transform(self, Y: Any) -> Any:
        """Map rows back; NoInverseError says why where that cannot be."""
        matrix, bias = self._invert()
        return _apply(Y, matrix, bias, kind=f"inverse {self.kind}")

    def score(self, X: Any, Y: Any = None) -> float:
        """R^2 of these rows (or Moments) under the map: 1 - unexplained share, at most 1."""
        moments = Moments.of(X, Y)
        total = float(np.trace(moments.Syy))
        if total == 0:
            raise DegenerateError("Y is constant, so no share of its variance can be explained.")
        return 1.0 - squared_error(moments, self) / total

    def save(self, path: str | Path) -> None:
        """Write to a safetensors file with JSON metadata."""
        save_tensors(
            path,
            kind="map",
            tensors={"matrix": self.matrix, "bias": self.bias},
            metadata={"map": self.kind, "details": self._details()},
        )

    @staticmethod
    def load(path: str | Path) -> Map:
        """Read any map that :meth:`save` wrote."""
        tensors, metadata = load_tensors(path, kind="map")
        kind = metadata.get("map")
        if kind not in Map._kinds:
            raise FormatError(
                f"unknown map {kind!r} in {str(path)!r}; known: {sorted(Map._kinds)}."
            )
        return Map._kinds[kind](tensors["matrix"], tensors["bias"], **metadata["details"])

    def __repr__(self) -> str:
        details = "".join(f", {k}={v:.4g}" for k, v in self._details().items() if _is_number(v))
        return f"{type(self).__name__}({self.d_x} -> {self.d_y}{details})"


def squared_error(moments: Moments, fitted: Map) -> float:
    """Sum of squared residuals of the rows behind ``moments`` under a map, from the moments alone."""
    spread = float(np.trace(moments.Syy)) - 2 * float(np.vdot(fitted.matrix, moments.Sxy))
    spread += fitted.spread(moments.Sxx)
    # Rounding alone can push an exact fit below zero.
    return max(spread, 0.0) + offset_error(moments, fitted)


def offset_error(moments: Moments, fitted: Map) -> float:
    """The part of the squared error that comes from the rows' mean missing its place."""
    offset = moments.mean_y - moments.mean_x @ fitted.matrix - fitted.bias
    return moments.n * float(offset @ offset)


def bias_through_means(moments: Moments, matrix: Float[Array, "d_x d_y"]) -> Float[Array, " d_y"]:
    """The best shift for a given matrix: the mean goes to the mean."""
    bias: Array = moments.mean_y - moments.mean_x @ matrix
    return bias


def same_width(moments: Moments, kind: str) -> int:
    """The common width; a class that needs one says so here."""
    if moments.d_x != moments.d_y:
        raise ShapeError(
            f"the {kind} class needs equal widths; these are {moments.d_x} and {moments.d_y}. "
            "Use the orthogonal or affine class."
        )
    return moments.d_x


def no_inverse(kind: str, reason: str) -> NoInverseError:
    """One wording for all maps without an inverse."""
    return NoInverseError(
        f"this {kind} map has no inverse: {reason}. Fit a map in the other direction instead "
        "(compare(new, old), or Moments.swap())."
    )


def _apply(rows: Any, matrix: Array, bias: Array, *, kind: str) -> Any:
    shape = tuple(getattr(rows, "shape", ()))
    if len(shape) != 2 or shape[1] != matrix.shape[0]:
        raise ShapeError(
            f"the {kind} map takes rows of width {matrix.shape[0]}: an array (n, {matrix.shape[0]}); "
            f"got shape {shape}."
        )
    if isinstance(rows, np.ndarray):
        dtype = np.result_type(rows.dtype, np.float32)
        return rows.astype(dtype, copy=False) @ matrix.astype(dtype) + bias.astype(dtype)
    from array_api_compat import array_namespace, device

    xp = array_namespace(rows)
    dtype = rows.dtype if rows.dtype in (xp.float32, xp.float64) else xp.float32

    def put(a: Array) -> Any:
        return xp.astype(xp.asarray(a, device=device(rows)), dtype)

    return xp.astype(rows, dtype) @ put(matrix) + put(bias)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
