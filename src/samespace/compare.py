"""Compare two representations: the lattice of admissible maps, judged on held-out rows."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.diagnostics import Diagnostics, diagnose
from samespace.errors import OptionError, TooFewRowsError
from samespace.inference import Interval, Null
from samespace.lattice import CLASSES, SMALLER, fit_lattice
from samespace.measures.cca import cca
from samespace.moments import Moments, refuse_second
from samespace.representation import MINIMUM_ROWS, Pair, check_spread
from samespace.verdict import ClassResult, Rule, Verdict, decide, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from jaxtyping import Float, UInt64
    from numpy import ndarray as Array

    from samespace.accumulate import Precision
    from samespace.measures.cca import CCA

    Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Settings:
    """The options of :func:`compare` that the result depends on; pass them again to get it again."""

    tolerance: float = 0.01
    floor: float = 0.9
    level: float = 0.95
    folds: int = 10
    keep: int = 2048
    precision: str = "float64"
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Sample:
    """Some of the paired rows, for pictures and for measures that need rows."""

    x: Float[Array, "k d_x"]
    y: Float[Array, "k d_y"]
    keys: UInt64[Array, " k"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The verdict on two representations, the lattice behind it, and the maps.

    ``print(result)`` shows the lattice; ``result.affine.map.transform(old)`` applies a class's map.
    ``moments`` and ``sample`` are None on a result read back with :meth:`from_dict`.
    """

    verdict: Verdict
    identity: ClassResult
    permutation: ClassResult
    orthogonal: ClassResult
    affine: ClassResult
    n: int
    d_x: int
    d_y: int
    names: tuple[str, str]
    r2: Float[Array, " d_y"]
    settings: Settings
    diagnostics: Diagnostics
    moments: Moments | None = field(default=None, repr=False)
    sample: Sample | None = field(default=None, repr=False)

    @property
    def classes(self) -> tuple[ClassResult, ...]:
        """The four classes, from the smallest to the largest."""
        return (self.identity, self.permutation, self.orthogonal, self.affine)

    def holds(self, name: str) -> bool | None:
        """Whether the class, or one that it contains, holds; None when that is undecided."""
        if name not in CLASSES:
            raise OptionError(
                f"{name!r} is no class of the lattice; write one of {', '.join(CLASSES)}."
            )
        flags = [getattr(self, each).holds for each in (*SMALLER[name], name)]
        return True if True in flags else None if None in flags else False

    @property
    def correlations(self) -> Float[Array, " r"]:
        """Canonical correlations on all rows, descending: in sample, so they flatter."""
        return self._spectra[0]

    @property
    def held_out_correlations(self) -> Float[Array, " r"] | None:
        """Canonical correlations of directions fitted without the rows that judge them."""
        return self._spectra[1]

    def to_dict(self) -> dict[str, Any]:
        """Everything but rows and maps, as plain JSON-able values; :meth:`from_dict` reads it back."""
        return {
            "verdict": asdict(self.verdict),
            "classes": {one.name: _class_to_dict(one) for one in self.classes},
            "n": self.n,
            "d_x": self.d_x,
            "d_y": self.d_y,
            "names": list(self.names),
            "correlations": _plain(self.correlations),
            "held_out_correlations": _plain(self.held_out_correlations),
            "r2": _plain(self.r2),
            "settings": asdict(self.settings),
            "diagnostics": asdict(self.diagnostics) | {"warnings": list(self.diagnostics.warnings)},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        """Read back what :meth:`to_dict` wrote; maps, moments and rows are not part of it."""
        classes = {name: _class_from_dict(name, one) for name, one in data["classes"].items()}
        diagnostics = data["diagnostics"] | {"warnings": tuple(data["diagnostics"]["warnings"])}
        result = cls(
            verdict=Verdict(**data["verdict"]),
            identity=classes["identity"],
            permutation=classes["permutation"],
            orthogonal=classes["orthogonal"],
            affine=classes["affine"],
            n=data["n"],
            d_x=data["d_x"],
            d_y=data["d_y"],
            names=(data["names"][0], data["names"][1]),
            r2=_array(data["r2"]),
            settings=Settings(**data["settings"]),
            diagnostics=Diagnostics(**diagnostics),
        )
        spectra = _array(data["correlations"]), _array(data["held_out_correlations"])
        result.__dict__["_spectra"] = spectra
        return result

    def to_json(self) -> str:
        """:meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_html(self, path: str | Path) -> None:
        """Write the report: one page that needs no network."""
        from samespace.report.html import write  # formatting stands above this room

        write(self, path)

    def to_markdown(self) -> str:
        """The report as Markdown."""
        from samespace.report.markdown import document

        return document(self)

    def __str__(self) -> str:
        from samespace.report.terminal import text

        return text(self)

    def __repr__(self) -> str:
        return (
            f"Comparison(verdict={self.verdict.name!r}, n={self.n}, d_x={self.d_x}, d_y={self.d_y}, "
            f"affine u={self.affine.unexplained:.4g})"
        )

    @cached_property
    def _spectra(self) -> tuple[Array, Array | None]:
        # Not part of the verdict and as costly as all of it, so computed when first asked for.
        if self.moments is None:
            raise OptionError("this Comparison holds no moments, so no spectrum can be computed.")
        canonical: CCA = cca(self.moments)
        return canonical.correlations, canonical.held_out_correlations


def compare(
    x: Any,
    y: Any = None,
    *,
    on: Any = None,
    groups: Any = None,
    names: Sequence[str] | None = None,
    tolerance: float = 0.01,
    floor: float = 0.9,
    level: float = 0.95,
    folds: int = 10,
    keep: int = 2048,
    precision: Precision = "float64",
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    r"""Whether two representations are the same space, up to which map, and how sure that is.

    For each class of maps the held-out unexplained share
    :math:`u = |Y - \mathrm{map}(X)|^2 / |Y - \bar Y|^2` is measured over folds. A class *holds* when u is
    at most ``1 - floor`` and exceeds what the best affine map leaves by at most ``tolerance``; the verdict
    is the first class that surely holds, "none" when even the affine class surely does not, and "undecided"
    when the rows cannot tell.

    Parameters
    ----------
    x, y
        The old and the new representation: arrays, paths, Representations; or one Pair or Moments as ``x``.
    on
        None pairs by order; a column name, or a tuple of names or of id arrays, pairs by id.
    groups
        Which rows are kin (near-copies, parts of one document): a label for each row of x, or the name of its
        column. Kin rows share a fold; without this, a map is judged on rows whose kin it was fitted to.
    names
        What the report calls old and new.
    tolerance
        How much more of Y's variance than the affine map a smaller class may leave unexplained.
    floor
        The least share of Y's variance that a class must explain on held-out rows.
    level
        Confidence of all intervals.
    folds
        Number of folds. Ignored when Moments are passed, which have theirs.
    keep
        Rows kept for pictures and for measures that need rows.
    precision
        Of the products: see :class:`~samespace.moments.Moments`.
    seed
        Of the random re-pairing behind the null; nothing else is random.
    progress
        Called with (stage, done, total).

    Notes
    -----
    *When it misleads.* Rows that are copies or close kin of each other fall into different folds and make
    held-out rows look known: give ``groups``. A share weighs directions by their variance, so a
    map can leave 1% unexplained and yet lose a direction that matters to one consumer: look at ``r2``, the
    same per dimension, and at the canonical spectrum, which weighs all directions alike. The verdict speaks
    of the rows' distribution; it says nothing of inputs unlike them.

    Examples
    --------
    >>> import numpy as np, samespace as ss
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((1000, 8))
    >>> rotation = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    >>> ss.compare(old, 3 * old @ rotation + 1).verdict.name
    'orthogonal'
    >>> ss.compare(old, rng.standard_normal((1000, 8))).verdict.name
    'none'
    """
    rule = _checked_rule(tolerance, floor, level)
    moments = _gather(x, y, on, groups, folds, keep, precision, progress)
    old, new = _names(moments, names)
    check_spread(old, np.diag(moments.Sxx), moments.mean_x)
    check_spread(new, np.diag(moments.Syy), moments.mean_y)
    fit = fit_lattice(moments, seed=seed, progress=progress)
    results = judge(fit, rule)
    reservoir = moments.reservoir
    return Comparison(
        verdict=decide(results, rule),
        **results,
        n=moments.n,
        d_x=moments.d_x,
        d_y=moments.d_y,
        names=(old, new),
        r2=fit.r2,
        settings=Settings(
            tolerance, floor, level, moments.folds, reservoir.keep, moments.precision, seed
        ),
        diagnostics=diagnose(moments, fit),
        moments=moments,
        sample=Sample(reservoir.x, reservoir.y, reservoir.keys) if len(reservoir) else None,
    )


def _checked_rule(tolerance: float, floor: float, level: float) -> Rule:
    if not 0 <= tolerance < 1:
        raise OptionError(f"tolerance={tolerance}; a share of the variance, 0 to 1, such as 0.01.")
    if not 0 <= floor < 1:
        raise OptionError(f"floor={floor}; a share of the variance from 0 to below 1, such as 0.9.")
    if not 0 < level < 1:
        raise OptionError(f"level={level}; a confidence between 0 and 1, such as 0.95.")
    return Rule(tolerance, floor, level)


def _gather(
    x: Any,
    y: Any,
    on: Any,
    groups: Any,
    folds: int,
    keep: int,
    precision: Precision,
    progress: Progress | None,
) -> Moments:
    refuse_second(x, y, on, groups)
    if not isinstance(x, Moments):
        if folds < 2:
            raise OptionError(f"folds={folds}; a held-out verdict needs at least 2.")
        pair = x if isinstance(x, Pair) else Pair.of(x, y, on=on, groups=groups, progress=progress)
        x = Moments.of(pair, folds=folds, keep=keep, precision=precision, progress=progress)
    filled = sum(x.fold_size(k) > 0 for k in range(x.folds))
    if filled < 2 or x.n < MINIMUM_ROWS:
        raise TooFewRowsError(
            f"Moments of {x.n} rows in {filled} non-empty folds; a held-out verdict needs "
            f"at least {MINIMUM_ROWS} rows in at least 2 folds (so of several groups, if rows are grouped)."
        )
    return x


def _names(moments: Moments, names: Sequence[str] | None) -> tuple[str, str]:
    given = names or moments.pairing.get("names") or ("old", "new")
    if len(given) != 2:
        raise OptionError(f"names={names!r}; two are needed, for old and for new.")
    return str(given[0]), str(given[1])


def _class_to_dict(one: ClassResult) -> dict[str, Any]:
    return {
        key: asdict(value) if isinstance(value, Interval | Null) else value
        for key, value in vars(one).items()
        if key not in ("name", "map")
    }


def _class_from_dict(name: str, data: dict[str, Any]) -> ClassResult:
    kinds: dict[str, type] = {"interval": Interval, "excess_interval": Interval, "null": Null}
    values = {
        key: kinds[key](**value) if key in kinds and value is not None else value
        for key, value in data.items()
    }
    return ClassResult(name=name, **values)


def _plain(values: Array | None) -> list[float | None] | None:
    if values is None:
        return None
    return [float(v) if np.isfinite(v) else None for v in values]


def _array(values: list[float | None] | None) -> Any:
    return None if values is None else np.array([np.nan if v is None else v for v in values])
