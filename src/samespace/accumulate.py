"""Adding batches to the folds' lifted Gram matrices: BLAS on the host, the array's own library on a device.

On the host NumPy makes the products of a side with itself by symmetric rank-k updates (``syrk``), folds side
by side, one on each core. A device library offers no such update, so there the upper triangle is multiplied
in strips, about the arithmetic of the bare products X'X, X'Y, Y'Y; and all folds at once, since one alone
would not fill a GPU.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.cuda import has_kernels, serves, upload
from samespace.lifted import HEAD, NORM_X, NORM_Y, ONE
from samespace.parallel import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float, Int
    from numpy import ndarray as Array

Precision = Literal["float64", "float32"]

_PENDING_BYTES = 6 << 20
"""Rows of one fold held back until they are many enough for BLAS: its update of a thousand rows runs twice as
fast as of a hundred, and a batch small enough for memory leaves each fold few."""

_EVEN = 16
"""Columns that a device's products come in: a width between costs them more than the zeros that fill it."""
_STRIP = 256
"""Rows of the triangle that a device multiplies at once: fewer waste less below it, more keep it busier."""
_UNEVEN = 1.25
"""Share by which zeros may lengthen folds that are multiplied together."""


class Accumulator(ABC):
    """Sums of the lifted Gram matrices of each fold, about one pivot."""

    def __init__(
        self, pivot: Float[Array, " d"], d_x: int, *, folds: int, precision: Precision
    ) -> None:
        self.pivot = pivot
        self.d_x = d_x
        self.folds = folds
        self.precision = precision

    @abstractmethod
    def add(self, X: Any, Y: Any, fold: Int[Array, " n"]) -> None:
        """Add rows; ``fold`` says which matrix each belongs to."""

    @abstractmethod
    def drain(self) -> Float[Array, "k w w"]:
        """Hand over the sums as full symmetric float64 matrices on the host; the accumulator is spent."""

    @abstractmethod
    def ones_row(self) -> Float[Array, " w"]:
        """The row of the constant, summed over folds: n, the squared norms and the sums of the rows."""

    @property
    def width(self) -> int:
        """Columns of the lifted row."""
        return HEAD + len(self.pivot)


def by_fold(fold: Int[Array, " n"], folds: int) -> tuple[Int[Array, " n"], list[tuple[int, slice]]]:
    """The rows' positions, fold after fold, and where in this order each fold that has rows lies."""
    # Small integers are sorted by their digits, in time linear in the rows.
    order = np.argsort(fold.astype(np.min_scalar_type(folds)), kind="stable")
    ends = np.cumsum(np.bincount(fold, minlength=folds))
    places = [slice(int(start), int(end)) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return order, [(k, place) for k, place in enumerate(places) if place.start < place.stop]


def mirror(gram: Float[Array, "w w"]) -> None:
    """Make a matrix symmetric, in place, from its upper triangle."""
    below = np.tri(len(gram), k=-1, dtype=bool)
    np.copyto(gram, gram.T.copy(), where=below)


class HostAccumulator(Accumulator):
    """NumPy rows. ``float32`` multiplies blocks in single precision and adds them in double.

    Rows wait, by fold and in their own precision, until a block of them is full.
    """

    def __init__(
        self, pivot: Float[Array, " d"], d_x: int, *, folds: int, precision: Precision
    ) -> None:
        super().__init__(pivot, d_x, folds=folds, precision=precision)
        self._dtype = np.dtype(precision)
        self._single = self._dtype == np.float32 and np.array_equal(pivot.astype(np.float32), pivot)
        self._gram = np.zeros((folds, self.width, self.width))
        self._block_rows = max(256, _PENDING_BYTES // (4 * self.width))
        self._pending = self._sides(np.dtype(np.float32))
        self._held = [0] * folds
        self._rooms: list[tuple[Array, Array]] = []

    def add(self, X: Array, Y: Array, fold: Int[Array, " n"]) -> None:
        self._widen(np.result_type(X.dtype, Y.dtype, np.float32))
        order, places = by_fold(fold, self.folds)
        rows = {k: order[place] for k, place in places}
        if all(self._held[k] + len(mine) <= self._block_rows for k, mine in rows.items()):
            for k, mine in rows.items():
                self._hold(k, X, Y, mine)
        else:
            self._side_by_side(lambda k: self._take_in(k, X, Y, rows.get(k, order[:0])))

    def drain(self) -> Float[Array, "k w w"]:
        self._side_by_side(self._flush)
        x, y = self._halves
        for gram in self._gram:  # in place: these matrices are the largest thing in memory
            gram[y, x] = gram[x, y].T
        return self._gram

    def ones_row(self) -> Float[Array, " w"]:
        row: Array = self._gram[:, ONE, :].sum(axis=0)
        room = self._room()
        for k in range(self.folds):
            row += self._lift(k, room[0]).sum(axis=0, dtype=np.float64)
        self._rooms.append(room)
        return row

    @property
    def _halves(self) -> tuple[slice, slice]:
        """The columns of the lift that are multiplied together: head and x, and y."""
        return slice(0, HEAD + self.d_x), slice(HEAD + self.d_x, None)

    def _widen(self, dtype: np.dtype[Any]) -> None:
        """Hold rows in a type that loses nothing of any batch."""
        if dtype.itemsize > self._pending[0].itemsize:
            self._side_by_side(self._flush)
            self._pending = self._sides(dtype)

    def _sides(self, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        shape = self.folds, self._block_rows
        d_y = len(self.pivot) - self.d_x
        return np.empty((*shape, self.d_x), dtype), np.empty((*shape, d_y), dtype)

    def _take_in(self, k: int, X: Array, Y: Array, rows: Int[Array, " m"]) -> None:
        """Multiply the rows that wait and these, block by block; what is far from a block waits on."""
        while self._held[k] + len(rows) > self._block_rows // 2:
            free = self._block_rows - self._held[k]
            self._hold(k, X, Y, rows[:free])
            rows = rows[free:]
            self._flush(k)
        self._hold(k, X, Y, rows)

    def _hold(self, k: int, X: Array, Y: Array, rows: Int[Array, " m"]) -> None:
        place = slice(self._held[k], self._held[k] + len(rows))
        for side, held in zip((X, Y), self._pending, strict=True):
            held[k, place] = side[rows]
        self._held[k] += len(rows)

    def _side_by_side(self, work: Callable[[int], None]) -> None:
        """Do it for every fold: once one has a block, the others nearly do, and keep all cores busy."""
        any(side_by_side(work, range(self.folds), width=self.width))

    @np.errstate(over="ignore", invalid="ignore")  # Moments refuses such sums when they are read
    def _flush(self, k: int) -> None:
        if self._held[k]:
            room = self._room()
            lifted = self._lift(k, room[0])
            x, y = self._halves
            for left, right in ((x, x), (x, y), (y, y)):
                a, b = lifted[:, left], lifted[:, right]
                shape = a.shape[1], b.shape[1]
                product = np.matmul(a.T, b, out=room[1][: shape[0] * shape[1]].reshape(shape))
                self._gram[k, left, right] += product
            self._rooms.append(room)
            self._held[k] = 0

    def _room(self) -> tuple[Array, Array]:
        """What one core works in: a block of lifted rows, and a block of their product."""
        try:
            return self._rooms.pop()
        except IndexError:
            widest = max(HEAD + self.d_x, self.width - HEAD - self.d_x)
            lifted = np.empty((self._block_rows, self.width), self._dtype)
            return lifted, np.empty(widest**2, self._dtype)

    def _lift(self, k: int, room: Float[Array, "b w"]) -> Float[Array, "m w"]:
        lifted, split = room[: self._held[k]], HEAD + self.d_x
        lifted[:, ONE] = 1.0
        for rows, start, stop, norm in (
            (self._pending[0], HEAD, split, NORM_X),
            (self._pending[1], split, self.width, NORM_Y),
        ):
            z, pivot = lifted[:, start:stop], self.pivot[start - HEAD : stop - HEAD]
            # In double precision before any rounding, as the pivot may dwarf the spread; or in single where
            # both are held in it, which rounds the same difference once.
            exact = self._single and rows.dtype == np.float32
            np.subtract(
                rows[k, : len(z)],
                pivot.astype(np.float32) if exact else pivot,
                out=z,
                dtype=np.float32 if exact else np.float64,
                casting="unsafe",
            )
            np.vecdot(z, z, out=lifted[:, norm])
        return lifted


class DeviceAccumulator(Accumulator):
    """Rows of any array-API library, multiplied where they live: all folds at once, strip after strip."""

    def __init__(
        self,
        pivot: Float[Array, " d"],
        d_x: int,
        *,
        folds: int,
        precision: Precision,
        like: Any,
    ) -> None:
        from array_api_compat import array_namespace, device

        super().__init__(pivot, d_x, folds=folds, precision=precision)
        self._xp = array_namespace(like)
        self._device = device(like)
        self._even = -(-self.width // _EVEN) * _EVEN
        self._gram = self._xp.zeros(
            (folds, self._even, self._even), dtype=self._xp.float64, device=self._device
        )
        self._pivot = self._put(pivot)

    def add(self, X: Any, Y: Any, fold: Int[Array, " n"]) -> None:
        order, places = by_fold(fold, self.folds)
        for first, stack in self._stacks(places):
            lifted = self._lift(X, Y, [order[place] for place in stack])
            for start in range(0, self._even, _STRIP):
                strip = slice(start, min(start + _STRIP, self._even))
                held = self._gram[first : first + len(stack), strip, start:]
                product = self._xp.matrix_transpose(lifted[:, :, strip]) @ lifted[:, :, start:]
                held += self._xp.astype(product, self._xp.float64, copy=False)

    def drain(self) -> Float[Array, "k w w"]:
        full = np.empty((self.folds, self.width, self.width))
        for k in range(self.folds):
            full[k] = to_host(self._gram[k, : self.width, : self.width])
            mirror(full[k])
        return full

    def ones_row(self) -> Float[Array, " w"]:
        return to_host(self._xp.sum(self._gram[:, ONE, : self.width], axis=0))

    def _stacks(self, places: list[tuple[int, slice]]) -> list[tuple[int, list[slice]]]:
        """First fold and rows of what is multiplied at once: all folds, where none is much the longest."""
        lengths = [place.stop - place.start for _, place in places]
        if len(places) == self.folds and max(lengths) * self.folds <= _UNEVEN * sum(lengths):
            return [(0, [place for _, place in places])]
        return [(k, [place]) for k, place in places]

    def _lift(self, X: Any, Y: Any, stack: list[Int[Array, " m"]]) -> Any:
        """Rows (1, |x|^2, |y|^2, x, y, 0, ...) about the pivot, fold by fold; shorter folds end in zeros."""
        xp, split = self._xp, HEAD + self.d_x
        index = np.full((len(stack), max(map(len, stack))), -1)
        for k, rows in enumerate(stack):
            index[k, : len(rows)] = rows
        flat, dtype = self._put(index.reshape(-1)), getattr(xp, self.precision)
        lifted = xp.empty((index.size, self._even), dtype=dtype, device=self._device)
        lifted[:, ONE] = xp.astype(flat >= 0, dtype)
        lifted[:, self.width :] = 0.0
        for side, start, stop, norm in ((X, HEAD, split, NORM_X), (Y, split, self.width, NORM_Y)):
            pivot = self._pivot[start - HEAD : stop - HEAD]
            self._centre(side, flat, pivot, lifted, start=start, norm=norm)
        return xp.reshape(lifted, (*index.shape, self._even))

    def _centre(
        self, side: Any, index: Any, pivot: Any, lifted: Any, *, start: int, norm: int
    ) -> None:
        """Write rows about the pivot, zeros where the index is negative, and their squared lengths."""
        if has_kernels(side):
            from samespace.cuda.lift import lift

            lift(side, index, pivot, lifted, start=start, norm=norm)
            return
        xp, z = self._xp, lifted[:, start : start + side.shape[1]]
        taken = xp.take(side, xp.where(index < 0, 0, index), axis=0)
        # Subtracted in double precision before any rounding: the pivot may dwarf the spread.
        centred = xp.where((index < 0)[:, None], 0.0, taken - pivot)
        z[...] = xp.astype(centred, lifted.dtype, copy=False)
        lifted[:, norm] = xp.vecdot(z, z)

    def _put(self, array: Array) -> Any:
        return put(array, like=self._gram)


def put(array: Array, *, like: Any) -> Any:
    """A NumPy array where another library's array lies."""
    if serves(like):
        return upload(array, like=like)
    from array_api_compat import array_namespace, device

    return array_namespace(like).asarray(array, device=device(like))


def to_host(array: Any) -> Array:
    """A NumPy array of the same values, wherever the array lives."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):  # torch, whose CUDA tensors NumPy cannot read
        array = array.detach().cpu()
        return np.asarray(array.numpy() if str(array.dtype) != "torch.bfloat16" else array.float())
    if hasattr(array, "get"):  # CuPy
        return np.asarray(array.get())
    return np.asarray(array)
