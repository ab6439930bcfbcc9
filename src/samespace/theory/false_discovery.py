"""Control of false discoveries among many tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError

if TYPE_CHECKING:
    from jaxtyping import Bool, Float
    from numpy import ndarray as Array


def benjamini_hochberg(
    p: Float[Array, " tests"], *, level: float = 0.05, tests: int | None = None
) -> Bool[Array, " tests"]:
    """Reject hypotheses so that at most a share `level` of the rejections is expected to be false.

    Rejects the k smallest p-values for the largest k with ``p_(k) <= k level / tests``.

    Parameters
    ----------
    p
        One p-value per hypothesis.
    level
        The false discovery rate.
    tests
        How many hypotheses there are, when only the p-values that may be small are given; the others count
        as 1.

    Notes
    -----
    Misleads when read test by test: a single rejection may be wrong more often than `level`. The guarantee
    is proven for independent and for positively dependent statistics; pairs that share a symbol are the
    latter in all but contrived cases.

    References
    ----------
    Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57(1), Eq. 1.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.2, 0.02]), level=0.05).tolist()
    [True, False, True]
    """
    total = len(p) if tests is None else tests
    if total < len(p):
        raise OptionError(f"tests counts all hypotheses, at least the {len(p)} given; got {total}.")
    order = np.argsort(p, kind="stable")
    within = p[order] <= level * np.arange(1, len(p) + 1) / max(total, 1)
    rejected = np.zeros(len(p), dtype=bool)
    if within.any():
        rejected[order[: np.flatnonzero(within)[-1] + 1]] = True
    return rejected
