"""The gate: anything array-like becomes a checked (n, d) representation; two become a pair.

Everything that can be wrong with input ends here, with advice: wrong shapes, values that are not
numbers, NaN and infinity, ids that do not match. Behind the gate nothing is checked again.
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
    NotFiniteError,
    OptionError,
    PairingError,
    TooFewRowsError,
)
from samespace.sources import RandomAccess, Source, open_source
from samespace.sources.finite import count_not_finite, is_finite
from samespace.sources.ids import hash_ids, kind_of, to_ids
from samespace.sources.matching import duplicate_rows, match
from samespace.sources.memory import MemorySource
from samespace.sources.order import in_order, needs_sorting, sort_rows
from samespace.sources.spool import Spool
from samespace.sources.stream import join, rebatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float, Int, UInt64
    from numpy import ndarray as Array

__all__ = ["MINIMUM_ROWS", "Pair", "Representation", "check_spread", "hash_ids"]

MINIMUM_ROWS = 20
_READ_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Representation:
    """Rows of vectors from anywhere, checked: ``n`` samples of ``d`` finite numbers.

    Make one with `Representation.of`. Rows are read in batches, as often as wanted; files are never
    read whole, and arrays stay on their device and in their type.

    Attributes
    ----------
    name
        What reports call it.
    source
        Where the rows come from.

    Examples
    --------
    >>> import numpy as np
    >>> r = Representation.of(np.ones((30, 4), np.float32), name="old")
    >>> r
    Representation('old', n=30, d=4, dtype='float32')
    >>> [batch.shape for batch in r.batches(20)]
    [(20, 4), (10, 4)]
    """

    name: str
    source: Source
    given_ids: Array | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        obj: Any,
        *,
        name: str | None = None,
        column: str | None = None,
        id_column: str | None = None,
        ids: Any | None = None,
    ) -> Representation:
        """Return `obj` as a representation.

        Parameters
        ----------
        obj
            An array of NumPy, PyTorch, CuPy, JAX or another array-API library; a list of rows; a
            path to a file, a folder or a glob of ``.npy``, Parquet, ``.safetensors``, ``.lance`` or
            ``.faiss``; or a Representation.
        name
            What reports call it; by default the path, or "array".
        column
            The column (Parquet, Lance) or tensor (safetensors) that holds the vectors, where there
            is more than one.
        id_column
            The column or tensor that names the rows, for pairing by id.
        ids
            The ids themselves, one integer or string per row.

        Raises
        ------
        SamespaceError
            ShapeError, DtypeError, FormatError, MissingSourceError or OptionError; what is wrong,
            and what to write instead.
        """
        if isinstance(obj, Representation):
            _refuse_columns(f"{obj.name} is a Representation already", column, id_column)
            made = obj if name is None else replace(obj, name=name)
        elif isinstance(obj, str | PathLike):
            source = open_source(str(obj), column=column, id_column=id_column)
            made = cls(name or str(obj), source)
        else:
            _refuse_columns("an array has no named columns", column, id_column)
            made = cls(name or "array", MemorySource(obj, name or "the array"))
        return made if ids is None else replace(made, given_ids=made._check_ids(ids))

    def __repr__(self) -> str:
        return f"Representation({self.name!r}, n={self.n}, d={self.d}, dtype={self.dtype!r})"

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.source.n

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.source.d

    @property
    def dtype(self) -> str:
        """The element type as stored, for instance ``"bfloat16"``."""
        return self.source.dtype

    @property
    def ids(self) -> Array | None:
        """The row ids, integers or strings; read from the file each time; None without any."""
        chunks = list(self._id_chunks())
        return np.concatenate(chunks) if chunks else None

    @property
    def has_ids(self) -> bool:
        """Whether rows are named."""
        return self.given_ids is not None or self.source.has_ids

    def batches(self, rows: int, start: int = 0) -> Iterator[Float[Array, "k d"]]:
        """Yield batches of `rows` rows (the last may be shorter) from row `start` on, all finite.

        A batch may be a view of memory the source owns: read it, do not write to it.

        Raises
        ------
        NotFiniteError
            When a value is NaN or infinite: how many are, and where the first is.
        """
        if rows < 1 or start < 0:
            raise OptionError(f"rows={rows}, start={start}; needed is rows >= 1 and start >= 0.")
        for batch in rebatch(self.source.chunks(start, rows), rows):
            self._check_finite(batch)
            yield batch

    def take(self, rows: Int[Array, " k"]) -> Float[Array, "k d"]:
        """Return the rows with these numbers, all finite; only where the source can be read at random."""
        if not isinstance(self.source, RandomAccess):
            raise OptionError(
                f"{self.name} can only be read in order. Read it with batches, or write it as .npy."
            )
        block = self.source.take(rows)
        self._check_finite(block)
        return block

    def to_array(self) -> Float[Array, "n d"]:
        """Return all rows as one array, in memory."""
        return join(list(self.batches(_READ_ROWS)))

    def keys(self) -> UInt64[Array, " n"]:
        """Return the 64-bit key of every row's id (`hash_ids`), or its row number without ids."""
        if not self.has_ids:
            return np.arange(self.n, dtype=np.uint64)
        return np.concatenate([hash_ids(chunk) for chunk in self._id_chunks()])

    def id_kind(self) -> str:
        """Return ``"integers"`` or ``"strings"``."""
        return kind_of(next(self._id_chunks()))

    def _id_chunks(self) -> Iterator[Array]:
        if self.given_ids is not None:
            return iter([self.given_ids])
        return self.source.id_chunks()

    def _check_ids(self, ids: Any) -> Array:
        ids = to_ids(ids, f"the ids of {self.name}")
        if len(ids) != self.n:
            raise PairingError(
                f"{self.name} has {self.n} rows but {len(ids)} ids; needed is one id per row."
            )
        return ids

    def _check_finite(self, batch: Float[Array, "k d"]) -> None:
        if is_finite(batch):
            return
        count, row, column, value = count_not_finite(self.source.chunks(0, _READ_ROWS))
        raise NotFiniteError(
            f"{self.name} holds {count:,} values that are NaN or infinite, of {self.n * self.d:,}; "
            f"the first is {value} in row {row}, column {column}. Drop these rows, or find out where "
            "they come from: overflow of float16 is the usual reason."
        )


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
        return pair

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


def _refuse_columns(because: str, column: str | None, id_column: str | None) -> None:
    if column is not None or id_column is not None:
        raise OptionError(
            f"{because}, so '{column or id_column}' cannot be picked from it. Name columns where a "
            "path is opened; give an array's ids as ids=array or on=(ids_old, ids_new)."
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


def _example(side: Representation) -> str:
    return f"{next(side._id_chunks())[0]!r}, ..."
