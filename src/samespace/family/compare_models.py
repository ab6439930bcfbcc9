"""Two models of the canonical family, compared: f and g jointly, their likelihoods, and what
follows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.compare import Comparison, compare
from samespace.errors import OptionError, ShapeError
from samespace.family.bias import with_bias, with_ones
from samespace.family.canonical import PerSample
from samespace.family.conclusion import Conditions, conclude, narrowed
from samespace.family.hull import Hull
from samespace.family.joint import JointClass, Side, Sides, judge_jointly
from samespace.representation import MINIMUM_ROWS
from samespace.theory import Closeness, closeness, diversity, effective_complexity
from samespace.theory.tables import table
from samespace.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.family.canonical import Canonical

    Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ModelComparison:
    """The joint verdict on two models, and everything behind it.

    Attributes
    ----------
    verdict
        The smallest class of maps that holds for f *and*, turned over, for g; "none"; or
        "undecided".
    conclusion
        What the theorem promises for these two models and what was found, in plain words.
    classes
        Every class judged jointly, from the smallest to the largest; ``joint("affine")`` names one.
    f, g
        The comparisons of the embeddings and of the unembeddings, each on its own; g is None for
        fewer labels than can decide anything.
    closeness
        Likelihood gap, Theorem 2's terms and the distances with their bounds.
    old, new
        The theorem's conditions, model by model.
    bias
        Whether labels have biases, so that f may be shifted.
    """

    verdict: Verdict
    conclusion: str
    classes: tuple[JointClass, ...]
    f: Comparison
    g: Comparison | None
    closeness: Closeness
    old: Conditions
    new: Conditions
    bias: bool
    names: tuple[str, str]

    def joint(self, name: str) -> JointClass:
        """Return one class's joint result."""
        found = {one.name: one for one in self.classes}
        if name not in found:
            raise OptionError(
                f"{name!r} is no class of the lattice; write one of {', '.join(found)}."
            )
        return found[name]

    @property
    def bounds(self) -> tuple[dict[str, Any], ...]:
        """What the likelihoods bound, beside what was measured."""
        near = self.closeness
        whole = float(near.logits.spectrum.sum())
        return (
            _bound(
                "d_SVD of f",
                near.svd_f.value,
                near.llv.bound_f,
                "dissimilarity of the embeddings; 2 T1^2",
            ),
            _bound(
                "d_SVD of g",
                near.svd_g.value,
                near.llv.bound_g,
                "dissimilarity of the unembeddings; 2 T2^2",
            ),
            _bound(
                "logits beyond a linear map of the old f",
                near.logits.unexplained / whole,
                near.logits.share_star,
                "share of the new model's centred logits; squared logit distance",
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but rows and maps, as plain JSON-able values."""
        affine, gap = self.joint("affine"), self.closeness.likelihoods
        return {
            "names": list(self.names),
            "verdict": {
                "name": self.verdict.name,
                "reason": self.verdict.reason,
                "margin": self.verdict.margin,
            },
            "conclusion": self.conclusion,
            "agreement": {
                "unexplained": affine.g_unexplained,
                "holds": affine.holds,
                "reason": affine.reason,
            },
            "likelihood": {
                "old": None if gap.loss is None else -gap.loss,
                "new": None if gap.loss_star is None else -gap.loss_star,
                "gap": gap.kl,
                "unit": "nats",
            },
            "diversity": {"old": self.old.to_dict(), "new": self.new.to_dict()},
            "bounds": list(self.bounds),
            "classes": {one.name: one.to_dict() for one in self.classes},
            "closeness": self.closeness.to_dict(),
            "f": self.f.to_dict(),
            "g": None if self.g is None else self.g.to_dict(),
            "bias": self.bias,
        }

    def to_json(self) -> str:
        """:meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_html(self, path: str | Path) -> None:
        """Write the report: one page that needs no network."""
        from samespace.report import models  # formatting stands above this room

        models.write(self, path)

    def to_markdown(self) -> str:
        """The report as Markdown."""
        from samespace.report import models

        return models.document(self)

    def __str__(self) -> str:
        from samespace.report import models

        return models.text(self)

    def __repr__(self) -> str:
        return (
            f"ModelComparison(verdict={self.verdict.name!r}, names={self.names!r}, n={self.f.n}, "
            f"kl={self.closeness.likelihoods.kl:.3g})"
        )


def compare_models(
    old: Canonical,
    new: Canonical,
    inputs: Any = None,
    *,
    labels: Any = None,
    observed: Int[Array, " n"] | None = None,
    tolerance: float = 0.01,
    floor: float = 0.9,
    level: float = 0.95,
    folds: int = 10,
    seed: int = 0,
    progress: Progress | None = None,
) -> ModelComparison:
    r"""Whether two models of the canonical family are the same model, up to which map of f *and* g.

    p(y|x) is unchanged exactly when :math:`f \to fA` and :math:`g \to gA^{-\top} + c` (Roeder et
    al. 2021; Nielsen et al. 2024, Theorem 1). So for each class of the lattice the map is fitted to
    f on the inputs, turned over, and held against g, which it has not seen; and the other way
    round. A class *holds* when it holds for f (as in `compare`) and its inverse transpose leaves at
    most ``1 - floor`` of g, and at most ``tolerance`` more than the affine class's.

    Parameters
    ----------
    old, new
        Models of the family (`from_arrays`, `from_modules`, `from_pretrained`, a reduction).
    inputs
        What both models embed; None for all inputs of models from arrays.
    labels
        One set of labels for both models, where they have no fixed one.
    observed
        The position in S of each input's label, for the losses; by default what the inputs tell.
    tolerance, floor, level, folds, seed, progress
        As in `samespace.compare`.

    Notes
    -----
    Where labels have biases, h of f = [h, 1] may be shifted, the biases paying for it; without, a
    shift of f that changes the logits speaks against the class. A bias in one model alone counts as
    zero in the other.

    *When it misleads*: an inverse amplifies, so where f hardly varies in some direction, A is known
    loosely there and g is missed by much though the logits agree; the bounds, which weigh by the
    logits, show that. Labels that never occur are hardly trained, and carry noise of g.

    References
    ----------
    Roeder et al. 2021, Theorem 1; Nielsen et al. 2024, Theorems 1 and 2; Nielsen et al. 2025, 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.family import from_arrays
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((500, 3)), rng.standard_normal((40, 3))
    >>> A = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> old, same = from_arrays(f, g), from_arrays(f @ A, g @ np.linalg.inv(A).T + 1.0)
    >>> compare_models(old, same).verdict.name
    'affine'
    >>> apart = from_arrays(f @ A, g @ A)          # CCA 1 for f, CCA 1 for g, another model
    >>> compare_models(old, apart).verdict.name
    'none'
    """
    observed = _observed(old, inputs) if observed is None else np.asarray(observed)
    before, after = _Values.of(old, inputs, labels), _Values.of(new, inputs, labels)
    _check_same(before, after)
    bias = before.bias is not None or after.bias is not None
    names = (before.name, after.name)
    options: dict[str, Any] = {
        "tolerance": tolerance,
        "floor": floor,
        "level": level,
        "folds": folds,
        "seed": seed,
    }
    f = compare(before.h, after.h, names=names, progress=progress, **options)
    enough = before.w.shape[0] >= MINIMUM_ROWS
    g = compare(before.w, after.w, names=names, **options) if enough else None
    near = closeness(
        *before.family(bias=bias),
        *after.family(bias=bias),
        observed=observed,
        folds=folds,
        level=level,
        progress=progress,
    )
    conditions = [values.conditions(bias=bias) for values in (before, after)]
    sides = _sides(f, before, after)
    classes = judge_jointly(f, sides)
    verdict = _verdict(classes, f.settings.floor)
    return ModelComparison(
        verdict=verdict,
        conclusion=" ".join(
            (
                conclude(verdict.name, near, f.settings, *conditions),
                *narrowed(sides.old.hull, sides.new.hull),
            )
        ),
        classes=classes,
        f=f,
        g=g,
        closeness=near,
        old=conditions[0],
        new=conditions[1],
        bias=bias,
        names=names,
    )


@dataclass(frozen=True, eq=False)
class _Values:
    """One model's values: h and w without the coordinate of the bias, and the biases if it has
    any.
    """

    name: str
    h: Float[Array, "n m"]
    w: Float[Array, "k m"]
    bias: Float[Array, " k"] | None

    @classmethod
    def of(cls, model: Canonical, inputs: Any, labels: Any) -> _Values:
        if isinstance(labels, PerSample):
            raise OptionError(
                "Two models are compared over one set of labels; pass labels= the labels "
                "themselves, such as the "
                "union of the samples' sets, instead of PerSample."
            )
        f, g, name = model.embed(inputs), model.unembed(labels), getattr(model, "name", "model")
        if getattr(model, "bias", False):
            return cls(name, f[:, :-1], g[:, :-1], g[:, -1])
        return cls(name, f, g, None)

    def family(self, *, bias: bool) -> tuple[Any, Any]:
        """Return f and g of the canonical form, with the constant coordinate if either model needs
        it.
        """
        if not bias:
            return self.h, self.w
        own = self.w[:, 0] * 0 if self.bias is None else self.bias
        return with_ones(self.h), with_bias(self.w, own)

    @property
    def dtype(self) -> str:
        """Name of the type of f's values."""
        return str(self.h.dtype).rpartition(".")[2]

    def side(self, hull: Hull) -> Side:
        """Return the labels as seen from where f varies."""
        bias = None if self.bias is None else table(self.bias[:, None])[:, 0]
        return Side.of(hull, table(self.w), bias)

    def conditions(self, *, bias: bool) -> Conditions:
        f, g = self.family(bias=bias)
        return Conditions(
            labels=diversity(g, of="labels"),
            inputs=diversity(self.h, of="inputs"),
            complexity=effective_complexity(f, g),
        )


def _sides(f: Comparison, before: _Values, after: _Values) -> Sides:
    moments = f.moments
    assert moments is not None  # it was compared just now
    hulls = (
        Hull.of(moments.mean_x, moments.Sxx, dtype=before.dtype),
        Hull.of(moments.mean_y, moments.Syy, dtype=after.dtype),
    )
    sides = [v.side(hull) for v, hull in zip((before, after), hulls, strict=True)]
    return Sides(moments, *sides)


def _verdict(classes: tuple[JointClass, ...], floor: float) -> Verdict:
    """The first class that holds, unless a smaller one is still open."""
    margin = {one.name: 1 - floor - max(one.shares) for one in classes if one.shares}
    found = next((one for one in classes if one.holds is not False), classes[-1])
    name = found.name if found.holds else "none" if found.holds is False else "undecided"
    return Verdict(name, found.reason, margin)


def _observed(model: Any, inputs: Any) -> Int[Array, " n"] | None:
    ask = getattr(model, "observed", None)
    return None if ask is None else ask(inputs)


def _check_same(before: _Values, after: _Values) -> None:
    for of, one, other in (("inputs", before.h, after.h), ("labels", before.w, after.w)):
        if one.shape[0] != other.shape[0]:
            raise ShapeError(
                f"Both models must give a row for each of the same {of}; {before.name!r} gave "
                f"{one.shape[0]} and "
                f"{after.name!r} {other.shape[0]}. Models of language with different tokens have "
                f"different {of}."
            )


def _bound(name: str, measured: float, bound: float, meaning: str) -> dict[str, Any]:
    rounding = 1e-9
    vacuous = "" if bound < 1 else " (says nothing above 1)"
    return {
        "name": name,
        "measured": measured,
        "bound": bound,
        "holds": bool(measured <= bound + rounding),
        "meaning": meaning + vacuous,
    }
