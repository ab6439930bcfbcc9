r"""The affine hull of f: the dimensions in which f varies, and to which the likelihood ties g.

Where f does not vary, f(x) = h(x) V' + e with orthonormal columns V and one vector e for all
inputs, so

    f(x)'g(y) = h(x)'(V'g(y)) + e'g(y):

the model is one of width r with the vectors V'g(y) and the *biases* e'g(y), and what else g does no
probability shows. Every model with a final LayerNorm is so: its f lies in a hyperplane, of width M
- 1. RMSNorm (Llama) takes no dimension away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.maps import Map

_FLAT = {"float64": 1e-7}
_FLAT_OTHERWISE = 1e-5
"""Spread of a direction, relative to the widest, that counts as none: below it no regression on
values of
that type could tell a map from rounding."""


@dataclass(frozen=True, eq=False)
class Hull:
    """Where one model's f varies: orthonormal `axes` as columns, and the constant part `beside`
    them.
    """

    axes: Float[Array, "m r"]
    beside: Float[Array, " m"]

    @classmethod
    def of(cls, mean: Float[Array, " m"], spread: Float[Array, "m m"], *, dtype: str) -> Hull:
        """Find the hull from f's mean and centred second moments.

        Where f varies in all dimensions the coordinates stay as they are, since the smaller classes
        of maps speak of them.
        """
        values, vectors = np.linalg.eigh(spread)
        cutoff = _FLAT.get(dtype, _FLAT_OTHERWISE) ** 2
        alive = values > cutoff * values[-1]
        if alive.all():
            return cls(np.eye(len(mean)), np.zeros_like(mean))
        axes = vectors[:, alive]
        return cls(axes, mean - axes @ (axes.T @ mean))

    @property
    def dim(self) -> int:
        """The number of dimensions in which f varies."""
        return self.axes.shape[1]

    @property
    def whole(self) -> bool:
        """Whether these are all dimensions."""
        return self.axes.shape[0] == self.axes.shape[1]

    def labels(
        self, w: Float[Array, "k m"], bias: Float[Array, " k"]
    ) -> tuple[Float[Array, "k r"], Float[Array, " k"]]:
        """Return the labels' vectors and biases as the hull's model has them."""
        return w @ self.axes, bias + w @ self.beside

    def restrict(self, fitted: Map, target: Hull) -> tuple[Float[Array, "r s"], Float[Array, " s"]]:
        """Return a map of f as a map from this hull to another: matrix and shift."""
        matrix = self.axes.T @ fitted.matrix @ target.axes
        return matrix, (self.beside @ fitted.matrix + fitted.bias) @ target.axes

    def extend(self, matrix: Float[Array, "r s"], target: Hull) -> Float[Array, "m m"]:
        """Return a matrix between hulls as one between the whole spaces."""
        return self.axes @ matrix @ target.axes.T
