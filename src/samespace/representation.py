"""The gate: anything array-like becomes a checked (n, d) representation; two become a pair.

Everything that can be wrong with input ends here, with advice: wrong shapes, values that are not
numbers, NaN and infinity, ids that do not match. Behind the gate nothing is checked again.
`Representation` itself lives with the sources; `Pair` is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import (
    DegenerateError,
    DtypeError,
    OptionError,
    PairingError,
    TooFewRowsError,
)
from samespace.sources.checked import Representation
from samespace.sources.ids import hash_ids
from samespace.sources.matching import duplicate_rows, match
from samespace.sources.order import in_order, needs_sorting, sort_rows
from samespace.sources.source import RandomAccess
from samespace.sources.spool import Spool
from samespace.sources.stream import rebatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float, Int, UInt64
    from numpy import ndarray as Array

__all__ = ["MINIMUM_ROWS", "Pair", "Representation", "check_spread", "hash_ids"]

MINIMUM_ROWS = 20


@dataclass(frozen=True, eq=False)
class Pair:
    """Two representations whose rows are about the same samples, row by row.

    Make one with `Pair.of`.

    Attributes
    ----------
    x, y
        The two sides.
    n
        The number of pairs.
    unmatched_x, unmatched_y
        The rows of each side whose id the other does not have; always 0 when paired by order.
    paired_by
        ``"order"`` or ``"id"``.

    Notes
    -----
    Memory is bounded whatever the number of rows. Sides with ids in the same order are read side by
    side. Otherwise the side that can be read at random is gathered, or, when neither can (Parquet),
    the second is put in the order of the first once, in an unnamed temporary file (`Spool`). Only
    the keys, 8 bytes a row, and the row numbers are held.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(60.0).reshape(30, 2)
    >>> ids = np.arange(30)
    >>> pair = Pair.of(X, X[::-1], on=(ids, ids[::-1]))
    >>> pair
    Pair('old', 'new', n=30, paired_by='id')
    >>> all((x == y).all() for x, y, keys in pair.batches(8))
    True
    """

    x: Representation
    y: Representation
    n: int
    unmatched_x: int = 0
    unmatched_y: int = 0
    paired_by: str = "order"
    rows_x: Int[Array, " n"] | None = field(default=None, repr=False)
    rows_y: Int[Array, " n"] | None = field(default=None, repr=False)
    keys: UInt64[Array, " n"] | None = field(default=None, repr=False)
    progress: Callable[[str, int, int], None] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        x: Any,
        y: Any,
        *,
        on: str | tuple[Any, Any] | None = None,
        column: str | tuple[str | None, str | None] | None = None,
        groups: Any = None,
        minimum: int = MINIMUM_ROWS,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Pair:
        """Pair two representations.

        Parameters
        ----------
        x, y
            Anything `Representation.of` takes; x is the old side, y the new one.
        on
            None pairs by row order, or by id when both sides are Representations with ids; a column
            name reads the ids from that column of both files; a tuple gives each side's column name
            or its ids.
        column
            The column that holds the vectors, one name or one for each side.
        groups
            What rows of x belong together (copies, parts of one document): a label for each row, or the
            name of x's column that holds them. Kin rows then share a fold, so that none is judged by
            maps that saw its kin.
        minimum
            The fewest pairs to accept.
        progress
            Called with (stage, done, total) while rows are sorted by id.

        Raises
        ------
        PairingError
            When the numbers of rows differ, ids repeat, or none match.
        TooFewRowsError
            When fewer than `minimum` rows are paired.
        """
        columns = column if isinstance(column, tuple) else (column, column)
        names = on if isinstance(on, tuple) else (on, on)
        old, new = (
            _side(side, default, name, ids)
            for side, default, name, ids in zip((x, y), ("old", "new"), columns, names, strict=True)
        )
        if old.has_ids != new.has_ids:
            named, other = (old, new) if old.has_ids else (new, old)
            raise PairingError(
                f"{named.name} has ids and {other.name} has none; needed are both, to pair by id, or "
                "neither, to pair by order."
            )
        pair = _by_id(old, new, progress) if old.has_ids else _by_order(old, new)
        if pair.n < minimum:
            raise TooFewRowsError(
                f"{pair.n} rows are paired, fewer than can decide anything; needed are at least "
                f"{minimum}, and a few for every dimension ({max(old.d, new.d)} here)."
            )
        if groups is None:
            return pair
        labels = _group_keys(x, old, columns[0], groups)
        return replace(pair, keys=labels if pair.rows_x is None else labels[pair.rows_x])

    def __repr__(self) -> str:
        names = f"{self.x.name!r}, {self.y.name!r}"
        return f"Pair({names}, n={self.n}, paired_by={self.paired_by!r})"

    def batches(
        self, rows: int
    ) -> Iterator[tuple[Float[Array, "k d_x"], Float[Array, "k d_y"], UInt64[Array, " k"]]]:
        """Yield (rows of x, rows of y, keys), `rows` at a time; the last may be shorter."""
        first = 0
        for X, Y in zip(in_order(self.x, self.rows_x, rows), self._y_batches(rows), strict=True):
            last = first + X.shape[0]
            keys = (
                np.arange(first, last, dtype=np.uint64)
                if self.keys is None
                else self.keys[first:last]
            )
            yield X, Y, keys
            first = last

    def _y_batches(self, rows: int) -> Iterator[Float[Array, "k d"]]:
        if self.rows_y is not None and needs_sorting(self.y, self.rows_y):
            return rebatch(self._sorted_y.chunks(), rows)
        return in_order(self.y, self.rows_y, rows)

    @cached_property
    def _sorted_y(self) -> Spool:
        """The second side in the order of the first: written once, read on every pass."""
        return sort_rows(self.y, self.rows_y, self.progress)  # type: ignore[arg-type]


def check_spread(
    name: str, variance: Float[Array, " d"], mean: Float[Array, " d"] | None = None
) -> None:
    """Raise `DegenerateError` unless a representation varies; call it after the pass that knows.

    Whether all rows are the same is only known when all have been read, so the gate cannot tell in
    advance. `samespace.compare` calls this with each side's per-column variance and mean.

    Parameters
    ----------
    name
        What to call the representation in the message.
    variance
        The variance, or the centred sum of squares, of each column.
    mean
        The mean of each column. With it, a spread under 1e-12 of the values is rounding, not spread.

    Examples
    --------
    >>> import numpy as np
    >>> check_spread("old", np.array([0.0, 2.5]))
    """
    total = float(np.sum(variance))
    if not np.isfinite(total):
        raise DegenerateError(
            f"the variance of {name} is {total}: its values are too large to be squared. "
            "Divide both representations by a constant first."
        )
    rounding = 0.0 if mean is None else 1e-24 * float(np.sum(np.square(mean)))
    if total <= rounding:
        raise DegenerateError(
            f"{name} is constant: every row is the same vector. There is nothing to compare; check "
            "that the right layer, column or checkpoint was written."
        )
    # The lattice multiplies three variances, and float64 ends at 1e308.
    if not 1e-90 < total < 1e90:
        size, remedy = ("small", "Multiply") if total < 1 else ("large", "Divide")
        raise DegenerateError(
            f"the variance of {name} is {total:.1e}: its values are too {size} for products of squares. "
            f"{remedy} both representations by a constant first."
        )


def _side(obj: Any, default: str, column: str | None, on: Any) -> Representation:
    """Return one side of a pair; `on` is the name of its id column, its ids, or None."""
    name = None if isinstance(obj, str | PathLike | Representation) else default
    if isinstance(on, str):
        return Representation.of(obj, name=name, column=column, id_column=on)
    return Representation.of(obj, name=name, column=column, ids=on)


def _by_order(x: Representation, y: Representation) -> Pair:
    if x.n != y.n:
        raise PairingError(
            f"{x.name} has {x.n:,} rows and {y.name} has {y.n:,}; paired by order they need the same "
            "number. Pair them by id: on='id' in Python, --on id on the command line."
        )
    return Pair(x, y, x.n)


def _by_id(
    x: Representation, y: Representation, progress: Callable[[str, int, int], None] | None
) -> Pair:
    if x.id_kind() != y.id_kind():
        raise DtypeError(
            f"the ids of {x.name} are {x.id_kind()}, those of {y.name} {y.id_kind()}; needed is one "
            "kind. Cast one column, for instance ids.astype(str)."
        )
    keys_x, keys_y = _unique_keys(x), _unique_keys(y)
    rows_x, rows_y = match(keys_x, keys_y)
    if not len(rows_x):
        raise PairingError(
            f"no id of {x.name} ({_example(x)}) is an id of {y.name} ({_example(y)}). "
            "Check that both files name rows by the same ids."
        )
    if isinstance(x.source, RandomAccess) and needs_sorting(y, rows_y):
        order = np.argsort(rows_y)  # x can be read in any order and y cannot: follow y
        rows_x, rows_y = rows_x[order], rows_y[order]
    n = len(rows_x)
    return Pair(x, y, n, x.n - n, y.n - n, "id", rows_x, rows_y, keys_x[rows_x], progress)


def _unique_keys(side: Representation) -> UInt64[Array, " n"]:
    keys = side.keys()
    rows = duplicate_rows(keys)
    if len(rows):
        twice = side.ids[rows[0]]  # type: ignore[index]
        raise PairingError(
            f"{side.name} has duplicate ids in {len(rows):,} rows, for instance {twice!r}; needed is "
            "each id once. Drop duplicates, or pair by order."
        )
    return keys


def _group_keys(
    x: Any, old: Representation, column: str | None, groups: Any
) -> UInt64[Array, " n"]:
    """One key for each row of x, the same for rows of one group."""
    if not isinstance(groups, str):
        return Representation.of(old, ids=groups).keys()
    if isinstance(x, str | PathLike):
        return Representation.of(x, column=column, id_column=groups).keys()
    raise OptionError(
        f"groups={groups!r} names a column, but {old.name} is no file; give one label for each row."
    )


def _example(side: Representation) -> str:
    return f"{next(side._id_chunks())[0]!r}, ..."
