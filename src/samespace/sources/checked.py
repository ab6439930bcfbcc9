"""Rows behind the gate: named, with their ids, every value checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import NotFiniteError, OptionError, PairingError
from samespace.sources.finite import count_not_finite, is_finite
from samespace.sources.ids import hash_ids, kind_of, to_ids
from samespace.sources.memory import MemorySource
from samespace.sources.opening import open_source
from samespace.sources.source import RandomAccess, Source
from samespace.sources.stream import join, prefetch, rebatch

if TYPE_CHECKING:
    from jaxtyping import Float, Int, UInt64
    from numpy import ndarray as Array

_READ_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Representation:
    """Rows of vectors from anywhere, checked: ``n`` samples of ``d`` finite numbers.

    Make one with `Representation.of`. Rows are read in batches, as often as wanted; files are never
    read whole, what must be decoded is decoded one batch ahead on a thread, and arrays stay on their
    device and in their type.

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
        checked = self._checked(rebatch(self.source.chunks(start, rows), rows), start)
        yield from prefetch(checked) if self.source.decodes else checked

    def _checked(
        self, batches: Iterator[Float[Array, "k d"]], start: int
    ) -> Iterator[Float[Array, "k d"]]:
        if self.source.on_gpu:
            # All rows at once: an answer for every batch would wait for what the device still does.
            for whole in self.source.chunks(start, self.n):
                self._check_finite(whole)
            yield from batches
            return
        for batch in batches:
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


def _refuse_columns(because: str, column: str | None, id_column: str | None) -> None:
    if column is not None or id_column is not None:
        raise OptionError(
            f"{because}, so '{column or id_column}' cannot be picked from it. Name columns where a "
            "path is opened; give an array's ids as ids=array or on=(ids_old, ids_new)."
        )
