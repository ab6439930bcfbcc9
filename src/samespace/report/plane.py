"""The plane on which old, new and mapped points are drawn: the top principal plane of new.

Figure 1 of Roeder et al. (2021) shows the embeddings of two runs before and after a linear map. For
representations wider than two, the picture here keeps new fixed in its own principal plane, shows old
in *its* principal plane (before), and old after a map in new's plane (after).

When it misleads: a plane shows two directions of many (the axes say which share of the variance), and
the maps were fitted on rows that include those shown. The verdict never looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.compare import Comparison

ROWS = 600  # more points hide each other, and a phone must move them all


@dataclass(frozen=True)
class Plane:
    """A centre, two orthonormal axes as columns, and the share of the variance along each."""

    centre: Float[Array, " d"]
    axes: Float[Array, "d 2"]
    shares: Float[Array, " 2"]

    def project(self, X: Float[Array, "n d"]) -> Float[Array, "n 2"]:
        """Coordinates of the rows of X on the plane."""
        return (X - self.centre) @ self.axes


@dataclass(frozen=True)
class Picture:
    """Rows of a comparison on one plane.

    Attributes
    ----------
    keys
        One key per row, as the moments' reservoir kept them.
    old
        Old in its own principal plane, scaled by `scale` so that it spreads as new does.
    new
        New in its principal plane.
    mapped
        Old after each class's map, in new's plane, by class name.
    shares_old, shares_new
        Share of the variance along each of the two axes, of old and of new.
    scale
        What old's coordinates were multiplied by.
    """

    keys: Array
    old: Float[Array, "n 2"]
    new: Float[Array, "n 2"]
    mapped: dict[str, Float[Array, "n 2"]]
    shares_old: Float[Array, " 2"]
    shares_new: Float[Array, " 2"]
    scale: float


def principal_plane(X: Float[Array, "n d"]) -> Plane:
    """The plane of largest variance; its axes point so that the largest loading is positive.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    >>> principal_plane(X).shares
    array([0.8, 0.2])
    """
    centre = X.mean(axis=0)
    _, singular, rows = np.linalg.svd(X - centre, full_matrices=False)
    axes = np.zeros((X.shape[1], 2))
    shares = np.zeros(2)
    kept = min(2, len(singular))
    axes[:, :kept] = rows[:kept].T
    total = float((singular**2).sum())
    if total:
        shares[:kept] = singular[:kept] ** 2 / total
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    return Plane(centre, axes * np.where(largest < 0, -1.0, 1.0), shares)


def picture(result: Comparison, *, rows: int = ROWS) -> Picture | None:
    """The points of a comparison on new's plane; None when it kept no rows."""
    if result.sample is None or len(result.sample.x) == 0:
        return None
    x = np.asarray(result.sample.x[:rows], dtype=np.float64)
    y = np.asarray(result.sample.y[:rows], dtype=np.float64)
    plane_old, plane_new = principal_plane(x), principal_plane(y)
    old, new = plane_old.project(x), plane_new.project(y)
    spread = np.linalg.norm(old)
    scale = float(np.linalg.norm(new) / spread) if spread else 1.0
    return Picture(
        keys=np.asarray(result.sample.keys[:rows]),
        old=old * scale,
        new=new,
        mapped={
            entry.name: plane_new.project(np.asarray(entry.map.transform(x), dtype=np.float64))
            for entry in result.classes
            if entry.map is not None
        },
        shares_old=plane_old.shares,
        shares_new=plane_new.shares,
        scale=scale,
    )
