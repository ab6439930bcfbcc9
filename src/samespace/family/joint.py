r"""f and g judged jointly: whether the map that f asks for is the one that g asks for.

p(y|x) is unchanged exactly when :math:`f \to fA,\ g \to gA^{-\top} + c` (and, where labels have
biases, :math:`h \to hA + a,\ b(y) \to b(y) - w^*(y)a' + const`). So for each class of the lattice
the map fitted to f *alone* says what g must become, to a shift; and the map fitted to g alone says
it of f. Two models can have mean CCA 1 for f and for g and fail here: rotate f one way and g the
other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.family.hull import Hull
from samespace.inference import Interval
from samespace.maps import Affine, Identity, Map, Orthogonal, Permutation
from samespace.maps.base import squared_error
from samespace.moments import Moments
from samespace.theory.jackknife import jackknife

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.compare import Comparison
    from samespace.verdict import ClassResult

_SMALLER_CLASSES: dict[str, type[Map]] = {
    "identity": Identity,
    "permutation": Permutation,
    "orthogonal": Orthogonal,
}
_LARGEST_CONDITION = 1e10
"""Beyond it an inverse amplifies the rounding of float32 representations to nonsense."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JointClass:
    r"""One class of maps, asked of f and g at once.

    Attributes
    ----------
    holds
        Whether f is of the class and the same map, turned over, carries g; None for undecided.
    f_unexplained
        Held-out share of f* that the class's map of f leaves, from the comparison of f.
    g_unexplained, g_interval
        Share of g*, centred over labels, that :math:`gA^{-\top} + c` leaves, with A fitted to f and
        no label seen; its interval over folds of the inputs.
    f_from_g
        The other way round: share of f*, centred, that :math:`fB^{-\top} + a` leaves, with B fitted
        to g and no input seen. None where g determines no invertible map.
    gap
        :math:`|A'B - 1| / \sqrt M`: how far the two fitted maps are from being one. None with
        `f_from_g`.
    offset
        Share of the new model's centred logits that the shift of f makes where the theorem allows
        none; with biases, the part of it that the biases do not pay for.
    map
        f's map of this class, fitted to all inputs.
    """

    name: str
    applies: bool
    holds: bool | None
    reason: str
    f_unexplained: float | None = None
    g_unexplained: float | None = None
    g_interval: Interval | None = None
    f_from_g: float | None = None
    gap: float | None = None
    offset: float | None = None
    map: Map | None = None

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares that decide, of f, g and the logits; empty where the class does not apply."""
        known = (self.f_unexplained, self.g_unexplained, self.offset)
        return tuple(share for share in known if share is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values; the map is left out."""
        return {
            k: asdict(v) if isinstance(v, Interval) else v
            for k, v in vars(self).items()
            if k != "map"
        }


@dataclass(frozen=True, eq=False)
class Side:
    """One model: where its f varies, and its labels' vectors and biases as seen from there."""

    hull: Hull
    w: Float[Array, "k r"]
    bias: Float[Array, " k"]

    @classmethod
    def of(cls, hull: Hull, w: Float[Array, "k m"], bias: Float[Array, " k"] | None) -> Side:
        """Restrict the labels to the hull; no biases count as zero."""
        return cls(hull, *hull.labels(w, np.zeros(len(w)) if bias is None else bias))


@dataclass(frozen=True, eq=False)
class Sides:
    """What the joint judgement reads: the moments of (f, f*), and both models' labels."""

    inputs: Moments
    old: Side
    new: Side

    @cached_property
    def labels(self) -> Moments:
        """Moments of the labels' vectors, within the hulls."""
        # Not Moments.of, whose gate asks for more rows than a model may have labels.
        moments = Moments(self.old.hull.dim, self.new.hull.dim, folds=1, keep=0)
        moments.update(self.old.w, self.new.w)
        return moments

    def restrict(self, fitted: Map) -> tuple[Float[Array, "r r"], Float[Array, " r"]]:
        """Return f's map between the hulls."""
        return self.old.hull.restrict(fitted, self.new.hull)


def judge_jointly(f: Comparison, sides: Sides) -> tuple[JointClass, ...]:
    """Judge every class on f and g at once, by the tolerance and the floor of f's comparison."""
    widths = sides.old.hull.dim, sides.new.hull.dim
    if widths[0] != widths[1]:
        return tuple(_absent(one.name, _widths(*widths)) for one in f.classes)
    affine = unembedding_share(sides.labels, sides.restrict(_fitted(f.affine))[0])
    return tuple(
        _judge(f, one.name, sides, affine) if one.applies else _absent(one.name, one.reason)
        for one in f.classes
    )


def unembedding_share(labels: Moments, matrix: Float[Array, "m m"]) -> float | None:
    r"""Share of g*, centred over labels, that :math:`gA^{-\top}` leaves; None if A has no inverse.

    Parameters
    ----------
    labels
        Moments of (g, g*).
    matrix
        A, fitted to f alone: f* = f A.
    """
    B = turned_over(matrix)
    if B is None:
        return None
    return _share(labels, B)


def turned_over(matrix: Float[Array, "m m"]) -> Float[Array, "m m"] | None:
    """Return the inverse transpose, or None where rounding would decide it."""
    condition = np.linalg.cond(matrix)
    return np.linalg.inv(matrix).T if condition < _LARGEST_CONDITION else None


def fit_class(name: str, moments: Moments, *, ridge: float) -> Map:
    """Fit one class of the lattice; the ridge is that of the affine class."""
    if name == "affine":
        return Affine.fit(moments, ridge=ridge)
    return _SMALLER_CLASSES[name].fit(moments)


def _judge(f: Comparison, name: str, sides: Sides, affine: float | None) -> JointClass:
    one, ridge = getattr(f, name), f.diagnostics.ridge
    fitted = _fitted(one)
    matrix, shift = sides.restrict(fitted)
    share = unembedding_share(sides.labels, matrix)
    interval = _interval(name, sides, share, ridge=ridge, level=f.settings.level)
    offset = _offset(shift, sides)
    f_from_g, gap = _from_labels(name, matrix, sides)
    holds, reason = _decide(f, name, share, interval, affine, offset)
    return JointClass(
        name=name,
        applies=True,
        holds=holds,
        reason=reason,
        f_unexplained=one.unexplained,
        g_unexplained=share,
        g_interval=interval,
        f_from_g=f_from_g,
        gap=gap,
        offset=offset,
        map=fitted,
    )


def _fitted(one: ClassResult) -> Map:
    assert one.map is not None  # the class applies, and was compared just now
    return one.map


def _share(moments: Moments, matrix: Float[Array, "d m"]) -> float:
    fitted = Affine(matrix, moments.mean_y - moments.mean_x @ matrix, 0.0)
    return squared_error(moments, fitted) / float(np.trace(moments.Syy))


def _interval(
    name: str, sides: Sides, share: float | None, *, ridge: float, level: float
) -> Interval | None:
    """Jackknife over folds of the inputs: what another sample would have made of A, hence of g."""
    if share is None:
        return None

    def without(k: int) -> float:
        fitted = fit_class(name, sides.inputs.without(k), ridge=ridge)
        found = unembedding_share(sides.labels, sides.restrict(fitted)[0])
        return share if found is None else found

    filled = [k for k in range(sides.inputs.folds) if sides.inputs.fold_size(k)]
    low, high = jackknife(share, without, filled, level=level)
    return None if low is None or high is None else Interval(low, high)


def _offset(shift: Float[Array, " r"], sides: Sides) -> float:
    """Share of the centred logits that w* a' + b* - b makes: zero if shift and biases balance."""
    new, inputs = sides.new, sides.inputs
    left = new.w @ shift + new.bias - sides.old.bias
    w, b = new.w - new.w.mean(axis=0), new.bias - new.bias.mean()
    mean = inputs.mean_y @ new.hull.axes
    second = new.hull.axes.T @ inputs.Syy @ new.hull.axes / inputs.n + np.outer(mean, mean)
    logits = np.sum((w @ second) * w) + 2.0 * b @ (w @ mean) + b @ b
    return float(np.sum((left - left.mean()) ** 2) / logits)


def _from_labels(
    name: str, matrix: Float[Array, "r r"], sides: Sides
) -> tuple[float | None, float | None]:
    """Fit g alone, turn the map over for f, and compare the two maps."""
    # Within a hull the coordinates are the hull's own, which two of the classes speak of.
    if name in ("identity", "permutation") and not (sides.old.hull.whole and sides.new.hull.whole):
        return None, None
    B = fit_class(name, sides.labels, ridge=0.0).matrix
    A = turned_over(B)
    if A is None:
        return None, None
    gap = np.linalg.norm(matrix.T @ B - np.eye(len(B))) / np.sqrt(len(B))
    return _share(sides.inputs, sides.old.hull.extend(A, sides.new.hull)), float(gap)


def _decide(
    f: Comparison,
    name: str,
    share: float | None,
    interval: Interval | None,
    affine: float | None,
    offset: float,
) -> tuple[bool | None, str]:
    allowed, tolerance = 1 - f.settings.floor, f.settings.tolerance
    alone = getattr(f, name)
    if alone.holds is False:
        return False, f"On f alone: {alone.reason}"
    if share is None or interval is None:
        return False, "The map that f asks for has no inverse, so it cannot be turned over for g."
    said = f"f's {name} map, turned over, leaves {share:.2%} of g ({interval.low:.2%} to {interval.high:.2%})"
    if interval.low > allowed:
        return (
            False,
            f"{said}, more than the {allowed:.0%} allowed: f and g ask for different maps.",
        )
    if name != "affine" and affine is not None and share - affine > tolerance + interval.half_width:
        return False, f"{said}, {share - affine:.2%} more than the affine map turned over."
    if offset > allowed:
        return (
            False,
            f"{said}, but f is shifted where no shift is free: that makes {offset:.2%} of the "
            "logits.",
        )
    if alone.holds is None:
        return None, f"On f alone: {alone.reason}"
    if interval.high > allowed or (
        name != "affine" and affine is not None and share - affine > tolerance
    ):
        return None, f"{said}, too close to what is allowed to decide on these inputs."
    return True, f"{said}."


def _absent(name: str, reason: str) -> JointClass:
    return JointClass(name=name, applies=False, holds=False, reason=reason)


def _widths(old: int, new: int) -> str:
    return (
        f"f varies in {old} dimensions in the old model and {new} in the new, so no invertible A "
        "links "
        "them; samespace.theory.displaced_map links what their labels tell apart."
    )
