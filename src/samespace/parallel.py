"""Independent folds side by side: one thread each, with one BLAS thread inside.

An eigendecomposition gains little from a second core, two of them gain nearly everything; NumPy lets go of
the interpreter while it computes. Very wide problems go one after the other, to spare memory.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

In = TypeVar("In")
Out = TypeVar("Out")

_WIDEST = 2048
_NARROWEST = 64
"""Below it the arithmetic is too short for threads to pay."""


def side_by_side(
    function: Callable[[In], Out], items: Sequence[In], *, width: int
) -> Iterator[Out]:
    """``map(function, items)`` in order, on all cores where matrices of this width make that pay."""
    workers = min(os.cpu_count() or 1, len(items))
    if workers < 2 or not _NARROWEST <= width <= _WIDEST:
        yield from map(function, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        yield from pool.map(function, items)


def all_of(*tasks: Callable[[], Any], width: int) -> list[Any]:
    """What each task returns, in order; the tasks run side by side."""
    return list(side_by_side(lambda task: task(), tasks, width=width))
