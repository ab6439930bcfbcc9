r"""Moments: what one pass over paired rows must remember to answer every linear question about them.

Everything linear — CCA, R^2, Procrustes, ridge maps, linear CKA — is a function of
:math:`n, \bar x, \bar y, S_{xx}, S_{xy}, S_{yy}`, and these form a monoid: update with a batch, merge with
another machine's, save, load. The rows are spread over K folds by a hash of their keys; the total minus one
fold is a training set and the fold its test set, so held-out errors cost no further pass.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.batch import checked_keys, together
from samespace.errors import OptionError, ShapeError, TooFewRowsError
from samespace.hashing import fold_of
from samespace.lifted import HEAD, NORM_X, NORM_Y, ONE, centre, refuse_overflow
from samespace.representation import Pair
from samespace.reservoir import Reservoir, Sampling
from samespace.sums import FoldSums

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jaxtyping import Float, UInt64
    from numpy import ndarray as Array

    from samespace.accumulate import Precision

    Progress = Callable[[str, int, int], None]

_BATCH_VALUES = 1 << 20
_BATCH_VALUES_IN_MEMORY = 1 << 25
_BATCH_VALUES_ON_GPU = 1 << 26
"""Values of x and y together in a batch when this room chooses it: 8 MB of float64; of arrays in memory,
where a batch is a view, 256 MB; on a GPU 0.5 GB."""


class Moments:
    """Second moments of paired rows in K folds; merge with ``+``, and read everything linear from them.

    Parameters
    ----------
    d_x, d_y
        Widths of the two representations.
    folds
        Number K of folds. One row's fold is a hash of its key: independent of batches and of order.
    keep
        Rows that the same pass keeps for what truly needs rows (neighbours, pictures, rank correlations).
    precision
        ``"float64"`` multiplies in double precision. ``"float32"`` multiplies blocks of centred rows in
        single and adds the blocks in double: about twice as fast on a CPU, with relative errors near 1e-6.

    Notes
    -----
    ``n``, ``mean_x``, ``Sxx`` and so on are *centred sums*, not divided by n. They are recomputed after an
    :meth:`update` and then kept. :meth:`fold`, :meth:`without` and :meth:`swap` give Moments of their own.

    Examples
    --------
    >>> import numpy as np, samespace as ss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 3))
    >>> first, second = ss.Moments.of(X[:400], X[:400]), ss.Moments.of(X[400:], X[400:])
    >>> both = first + second
    >>> both.n, bool(np.allclose(both.Sxy, X.T @ (X - X.mean(0))))
    (1000, True)
    """

    def __init__(
        self,
        d_x: int,
        d_y: int,
        *,
        folds: int = 10,
        keep: int = 2048,
        precision: Precision = "float64",
    ) -> None:
        if folds < 1:
            raise OptionError(f"folds={folds}; at least 1 is needed, and 2 for held-out errors.")
        if keep < 0:
            raise OptionError(f"keep={keep}; write 0 to keep no rows.")
        if precision not in ("float64", "float32"):
            raise OptionError(f"precision={precision!r}; write 'float64' or 'float32'.")
        self.d_x, self.d_y, self.folds, self.precision = d_x, d_y, folds, precision
        self._sampling = Sampling(Reservoir.empty(d_x, d_y, keep=keep))
        self.pairing: dict[str, Any] = {}
        self._take(None, np.zeros(d_x + d_y), rows=0)

    @classmethod
    def of(
        cls,
        x: Any,
        y: Any = None,
        *,
        on: Any = None,
        groups: Any = None,
        folds: int = 10,
        keep: int = 2048,
        precision: Precision = "float64",
        progress: Progress | None = None,
    ) -> Moments:
        """Moments of two representations or of a :class:`Pair`; ``on`` and ``groups`` as in its ``of``."""
        refuse_second(x, y, on, groups)
        if isinstance(x, Moments):
            return x
        pair = x if isinstance(x, Pair) else Pair.of(x, y, on=on, groups=groups, minimum=1)
        moments = cls(pair.x.d, pair.y.d, folds=folds, keep=keep, precision=precision)
        rows = _batch_rows(pair)
        for X, Y, keys in pair.batches(rows):
            moments.update(X, Y, keys)
            if progress is not None:
                progress("reading", moments.n_seen, pair.n)
        moments.pairing = {
            "paired_by": pair.paired_by,
            "unmatched_x": pair.unmatched_x,
            "unmatched_y": pair.unmatched_y,
            "names": [pair.x.name, pair.y.name],
        }
        return moments

    @classmethod
    def from_grams(
        cls,
        grams: Float[Array, "k w w"],
        pivot: Float[Array, " d"],
        *,
        d_x: int,
        precision: Precision = "float64",
    ) -> Moments:
        """Moments of lifted Gram matrices, one a fold, about a pivot (:mod:`samespace.lifted`)."""
        moments = cls(d_x, len(pivot) - d_x, folds=len(grams), keep=0, precision=precision)
        moments._take(grams, pivot, rows=round(float(grams[:, ONE, ONE].sum())))
        return moments

    @np.errstate(over="ignore", invalid="ignore")  # refused when read, with a reason
    def update(self, X: Any, Y: Any, keys: UInt64[Array, " n"] | None = None) -> None:
        """Add a batch of paired rows, in place; without ``keys`` a row's key is its running number."""
        if X.shape[0] != Y.shape[0] or X.shape[1:] != (self.d_x,) or Y.shape[1:] != (self.d_y,):
            raise ShapeError(
                f"a batch of shapes {tuple(X.shape)} and {tuple(Y.shape)} does not fit Moments of "
                f"({self.d_x}, {self.d_y}); pass X (n, {self.d_x}) and Y (n, {self.d_y})."
            )
        if X.shape[0] == 0:
            return
        keys = checked_keys(keys, X.shape[0], first=self.n_seen)
        X, Y = together(X, Y)
        self._sums.add(X, Y, fold_of(keys, self.folds))
        self._sampling.offer(X, Y, keys)
        self._forget()

    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: Moments) -> Moments:
        mine, theirs = (self.d_x, self.d_y, self.folds), (other.d_x, other.d_y, other.folds)
        if mine != theirs:
            raise ShapeError(
                f"Moments of (d_x, d_y, folds) = {mine} and of {theirs} cannot be merged; "
                "take both with the same widths and folds."
            )
        merged = self._like(self.folds)
        big, small = (self, other) if self.n >= other.n else (other, self)
        pivot = big._sums.pivot
        merged._take(
            big._sums.grams() + small._sums.about(pivot), pivot, rows=self.n_seen + other.n_seen
        )
        merged._sampling = Sampling(self.reservoir + other.reservoir)
        merged.pairing = self.pairing or other.pairing
        return merged

    def save(self, path: str | Path) -> None:
        """Write everything to one safetensors file (never pickle)."""
        from samespace.storage import save_tensors

        reservoir = self.reservoir
        save_tensors(
            path,
            kind="moments",
            tensors={
                "grams": self._sums.grams(),
                "pivot": self._sums.pivot,
                "sample_keys": reservoir.keys,
                "sample_x": reservoir.x,
                "sample_y": reservoir.y,
            },
            metadata={
                "d_x": self.d_x,
                "folds": self.folds,
                "keep": reservoir.keep,
                "precision": self.precision,
                "pairing": self.pairing,
            },
        )

    @classmethod
    def load(cls, path: str | Path) -> Moments:
        """Read what :meth:`save` wrote."""
        from samespace.storage import load_tensors

        tensors, meta = load_tensors(path, kind="moments")
        moments = cls.from_grams(
            tensors["grams"], tensors["pivot"], d_x=meta["d_x"], precision=meta["precision"]
        )
        sample = (tensors[f"sample_{part}"] for part in ("keys", "x", "y"))
        moments._sampling = Sampling(Reservoir(meta["keep"], *sample))
        moments.pairing = meta["pairing"]
        return moments

    def fold(self, k: int) -> Moments:
        """Moments of the rows in fold ``k``: the test set of :meth:`without`."""
        return self._part(self._sums.grams()[self._checked(k)])

    def fold_size(self, k: int) -> int:
        """Number of rows in fold ``k``."""
        return round(float(self._sums.grams()[self._checked(k), ONE, ONE]))

    def without(self, k: int) -> Moments:
        """Moments of all rows outside fold ``k``: the training set."""
        return self._part(self._total - self._sums.grams()[self._checked(k)])

    def swap(self) -> Moments:
        """Moments of (Y, X): the same rows, read in the other direction."""
        swapped = Moments(
            self.d_y, self.d_x, folds=self.folds, keep=self.reservoir.keep, precision=self.precision
        )
        order = np.concatenate([np.arange(self.d_x, self.d_x + self.d_y), np.arange(self.d_x)])
        lift = np.concatenate([[ONE, NORM_Y, NORM_X], HEAD + order])
        swapped._take(
            self._sums.grams()[:, lift[:, None], lift], self._sums.pivot[order], rows=self.n_seen
        )
        r = self.reservoir
        swapped._sampling = Sampling(Reservoir(r.keep, r.keys, r.y, r.x))
        swapped.pairing = _swapped_pairing(self.pairing)
        return swapped

    def with_cross(self, Sxy: Float[Array, "d_x d_y"]) -> Moments:
        """The same rows with another cross-moment: what other pairings of them would have given."""
        gram = self._centred.copy()
        x, y = slice(HEAD, HEAD + self.d_x), slice(HEAD + self.d_x, None)
        gram[x, y], gram[y, x] = Sxy, Sxy.T
        return self._part(gram, about=self._mean)

    @property
    def reservoir(self) -> Reservoir:
        """The rows that the pass keeps, on the host."""
        return self._sampling.settled()

    @property
    def n(self) -> int:
        """Number of row pairs."""
        return round(float(self._total[ONE, ONE]))

    @property
    def n_seen(self) -> int:
        """Row pairs passed to :meth:`update`; cheap to ask during the pass."""
        return self._sums.rows

    @property
    def mean_x(self) -> Float[Array, " d_x"]:
        """Mean of the rows of X."""
        return self._mean[: self.d_x]

    @property
    def mean_y(self) -> Float[Array, " d_y"]:
        """Mean of the rows of Y."""
        return self._mean[self.d_x :]

    @property
    def Sxx(self) -> Float[Array, "d_x d_x"]:
        """Centred sum of x'x."""
        return self._centred[HEAD : HEAD + self.d_x, HEAD : HEAD + self.d_x]

    @property
    def Sxy(self) -> Float[Array, "d_x d_y"]:
        """Centred sum of x'y."""
        return self._centred[HEAD : HEAD + self.d_x, HEAD + self.d_x :]

    @property
    def Syy(self) -> Float[Array, "d_y d_y"]:
        """Centred sum of y'y."""
        return self._centred[HEAD + self.d_x :, HEAD + self.d_x :]

    @property
    def norm_products(self) -> Float[Array, "2 2"]:
        """Sums over the rows of the products of (|x|^2, |y|^2), with x and y centred."""
        return self._centred[NORM_X : NORM_Y + 1, NORM_X : NORM_Y + 1]

    def __repr__(self) -> str:
        return f"Moments(n={self.n_seen}, d_x={self.d_x}, d_y={self.d_y}, folds={self.folds})"

    @cached_property
    def _total(self) -> Float[Array, "w w"]:
        grams = self._sums.grams()
        if len(grams) == 1:
            return grams[0]
        with np.errstate(over="ignore", invalid="ignore"):  # refused in _centring, with a reason
            total: Array = grams.sum(axis=0)
        return total

    @cached_property
    def _centring(self) -> tuple[Array, Array]:
        if self._total[ONE, ONE] == 0:
            raise TooFewRowsError("these Moments hold no rows yet; call update(X, Y) first.")
        refuse_overflow(self._total, self.precision)
        return centre(self._total, d_x=self.d_x)

    @property
    def _centred(self) -> Float[Array, "w w"]:
        return self._centring[0]

    @property
    def _mean(self) -> Float[Array, " d"]:
        mean: Array = self._centring[1] + self._sums.pivot
        return mean

    def _forget(self) -> None:
        for name in ("_total", "_centring"):
            self.__dict__.pop(name, None)

    def _like(self, folds: int) -> Moments:
        return Moments(
            self.d_x, self.d_y, folds=folds, keep=self.reservoir.keep, precision=self.precision
        )

    def _take(
        self, grams: Float[Array, "k w w"] | None, pivot: Float[Array, " d"], *, rows: int
    ) -> None:
        """Stand on these sums."""
        self._sums = FoldSums(
            grams, pivot, rows, d_x=self.d_x, folds=self.folds, precision=self.precision
        )

    def _part(
        self, gram: Float[Array, "w w"], *, about: Float[Array, " d"] | None = None
    ) -> Moments:
        pivot = self._sums.pivot if about is None else about
        part = Moments.from_grams(gram[None], pivot, d_x=self.d_x, precision=self.precision)
        part._sampling = Sampling(Reservoir.empty(self.d_x, self.d_y, keep=self.reservoir.keep))
        part.pairing = self.pairing
        return part

    def _checked(self, k: int) -> int:
        if not 0 <= k < self.folds:
            raise OptionError(f"fold {k} of Moments with folds 0 to {self.folds - 1}.")
        return k


def _batch_rows(pair: Pair) -> int:
    """Rows of a batch: what a cache holds, or of arrays what keeps all cores or a GPU busy."""
    width, sources = pair.x.d + pair.y.d, (pair.x.source, pair.y.source)
    if all(source.on_gpu for source in sources):
        return max(256, _BATCH_VALUES_ON_GPU // width)
    in_memory = all(source.in_memory for source in sources)
    values = _BATCH_VALUES_IN_MEMORY if in_memory else _BATCH_VALUES
    return max(256, min(65536, values // width))


def refuse_second(x: Any, *rest: Any) -> None:
    """Raise OptionError for a second side, ids or groups beside Moments or a Pair, which are paired."""
    if isinstance(x, Moments | Pair) and any(each is not None for each in rest):
        raise OptionError(
            f"{type(x).__name__} already holds both sides, paired, so y, on and groups have no place; "
            "write f(moments), or f(X, Y) with them."
        )


def _swapped_pairing(pairing: dict[str, Any]) -> dict[str, Any]:
    return pairing and pairing | {
        "unmatched_x": pairing["unmatched_y"],
        "unmatched_y": pairing["unmatched_x"],
        "names": pairing["names"][::-1],
    }
