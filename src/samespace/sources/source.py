"""What every source of rows offers: a width, a count, and its rows in order, chunk by chunk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


class Source(ABC):
    """``n`` rows of ``d`` numbers that can be read in order as often as wanted.

    Attributes
    ----------
    n, d
        The number of rows and of columns.
    dtype
        The element type as stored, for instance ``"float32"`` or ``"bfloat16"``. What
        `chunks` yields may be wider: NumPy has no bfloat16, and integers become float64.
    decodes
        Whether making a chunk takes work worth doing ahead on a thread.
    in_memory
        Whether the rows lie in memory already, so that a large piece of them takes no more of it.
    on_gpu
        Whether the rows lie on a GPU, where few large pieces of work cost less than many small ones.
    """

    n: int
    d: int
    dtype: str
    decodes: bool = False
    in_memory: bool = False
    on_gpu: bool = False

    @abstractmethod
    def chunks(self, start: int, rows: int) -> Iterator[Float[Array, "k d"]]:
        """Yield the rows from `start` on, in pieces of `rows` or of any handier size.

        A chunk may be a view of memory that the source owns: valid for reading, never for writing.
        """

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the columns or tensors that lie beside the vectors."""
        return ()

    @property
    def has_ids(self) -> bool:
        """Whether `id_chunks` would yield anything."""
        return False

    def id_chunks(self) -> Iterator[Array]:
        """Yield the row ids in order, integers or strings, in pieces of any size."""
        yield from ()


class RandomAccess(Source):
    """A source that can also give any rows asked for, without reading the others."""

    @abstractmethod
    def take(self, rows: Int[Array, " k"]) -> Float[Array, "k d"]:
        """Return the rows with these numbers, in this order."""
