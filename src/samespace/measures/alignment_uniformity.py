r"""Alignment and uniformity: what contrastive learning minimises, on the unit sphere."""

from __future__ import annotations

import math
from typing import Any

from samespace.errors import OptionError, ShapeError, TooFewRowsError
from samespace.measures.rows import blocks, paired_rows, squared_distances, unit_rows, widened
from samespace.representation import Representation


def alignment(x: Any, y: Any = None, *, power: float = 2.0, normalised: bool = True) -> float:
    r"""Mean distance between the two views of each positive pair: a loss, 0 when all pairs coincide.

    .. math:: \ell_{\mathrm{align}} = \frac1n \sum_i \|x_i - y_i\|_2^{\alpha}

    **Invariant to** one rotation or reflection applied to *both* sides and, once normalised, a positive
    scale of each row. Not to separate rotations: x and y must live in one space.

    **It misleads** alone: a collapsed encoder has alignment 0. Read it with :func:`uniformity`.

    Parameters
    ----------
    x, y
        Arrays, paths or representations whose row i are the two views of sample i, of one width; of Moments,
        the rows that they kept.
    power
        The exponent alpha.
    normalised
        First put every row on the unit sphere, where the paper defines the loss.

    Returns
    -------
    float
        With alpha = 2 on the sphere between 0 and 4; 2 for independent uniform rows.

    References
    ----------
    Wang and Isola (2020), Understanding contrastive representation learning through alignment and uniformity
    on the hypersphere, Section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import alignment
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> alignment(X, 5 * X) < 1e-30, round(alignment(X, -X), 6)
    (True, 4.0)
    """
    if not power > 0:
        raise OptionError(f"power={power}; write a positive exponent, such as 2.")
    X, Y = paired_rows(x, y)
    if X.shape[1] != Y.shape[1]:
        raise ShapeError(
            f"widths {X.shape[1]} and {Y.shape[1]}: the two views of a positive pair must lie in one space. "
            "Map one side first (samespace.maps)."
        )
    (xp, X), (_, Y) = widened(X), widened(Y)
    if normalised:
        X, Y = unit_rows(X, "X"), unit_rows(Y, "Y")
    squared = xp.sum((X - Y) ** 2, axis=1)
    return float(xp.mean(squared ** (power / 2)))


def uniformity(x: Any, *, temperature: float = 2.0, normalised: bool = True) -> float:
    r"""Logarithm of the mean Gaussian potential of all pairs of rows: lower is more uniform.

    .. math:: \ell_{\mathrm{uniform}} = \log \frac{2}{n(n-1)} \sum_{i < j} e^{-t \|x_i - x_j\|_2^2}

    **Invariant to** a rotation or reflection; once normalised, to a positive scale of each row.

    **It misleads** between widths: the minimum, reached by the uniform distribution, depends on the dimension
    (-2.08 for d = 3 and t = 2, tending to -2t with d), so compare values of one width only. Duplicated rows
    raise it.

    Parameters
    ----------
    x
        An array, path or representation, held in memory; all pairs of rows are visited, by blocks.
    temperature
        The t of the Gaussian potential.
    normalised
        First put every row on the unit sphere, where the paper defines the loss.

    Returns
    -------
    float
        At most 0, which is a collapsed encoder.

    References
    ----------
    Wang and Isola (2020), Section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import uniformity
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.standard_normal((500, 3))
    >>> bool(uniformity(spread) < uniformity(spread + [5, 0, 0]) < 0)
    True
    """
    if not temperature > 0:
        raise OptionError(f"temperature={temperature}; write a positive one, such as 2.")
    rows = Representation.of(x).to_array()
    if rows.shape[0] < 2:
        raise TooFewRowsError(f"{rows.shape[0]} row makes no pair; pass at least 2.")
    xp, X = widened(rows)
    X = unit_rows(X, "X") if normalised else X - xp.mean(X, axis=0, keepdims=True)
    return _log_mean_potential(xp, X, temperature)


def _log_mean_potential(xp: Any, X: Any, t: float) -> float:
    """Each block's sum is taken relative to its largest potential, since all may underflow."""
    n = X.shape[0]
    norms = xp.sum(X * X, axis=1)
    peaks, sums = [], []
    for block in blocks(n):
        if block.start == n - 1:
            break  # the last row alone makes no pair
        exponent = -t * squared_distances(xp, X, norms, block, slice(block.start, None))
        exponent = xp.where(_above_diagonal(xp, exponent), exponent, -xp.inf)
        peaks.append(float(xp.max(exponent)))
        sums.append(float(xp.sum(xp.exp(exponent - peaks[-1]))))
    peak = max(peaks)
    total = sum(s * math.exp(p - peak) for s, p in zip(sums, peaks, strict=True))
    return peak + math.log(total) - math.log(n * (n - 1) / 2)


def _above_diagonal(xp: Any, block: Any) -> Any:
    """Where rows i, against rows j from the block's first on, make each pair i < j once."""
    return xp.astype(xp.triu(xp.ones_like(block), k=1), xp.bool)
