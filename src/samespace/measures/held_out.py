r"""Held-out correlations of pairs of directions: fitted on all folds but one, evaluated on that one.

In sample, canonical correlations of *independent* data read about :math:`\sqrt{(d_x + d_y) / n}` and more
(0.3 to 0.8 in published comparisons), because the directions were chosen on the rows that judge them.
Here each fold judges directions that never saw it, and the folds' sums are pooled into one correlation
per pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from samespace.parallel import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.moments import Moments

    Directions = Callable[[Moments], tuple[Float[Array, "d_x r"], Float[Array, "d_y r"]]]

Out = TypeVar("Out")


def over_folds(m: Moments, judge: Callable[[Moments, Moments], Out]) -> list[Out]:
    """``judge(train, test)`` for every fold with rows; nothing where a training set would lack two rows."""
    sizes = [m.fold_size(k) for k in range(m.folds)]
    if m.n - max(sizes) < 2:
        return []
    filled = np.flatnonzero(sizes).tolist()
    # The parts are made inside: they are as large as the whole, and only one a thread should live at a time.
    return list(
        side_by_side(lambda k: judge(m.without(k), m.fold(k)), filled, width=max(m.d_x, m.d_y))
    )


def pooled_correlations(m: Moments, directions: Directions) -> Float[Array, " r"] | None:
    r"""Correlation of each pair of directions over the rows that did not choose them.

    With :math:`(A, B)` = ``directions(train)`` and u, v the test rows less the *training* means,

    .. math:: \rho_j = \frac{\sum_k \sum_{i \in k} (u_i a_j)(v_i b_j)}
                       {\sqrt{\sum_k \sum_{i \in k} (u_i a_j)^2 \sum_k \sum_{i \in k} (v_i b_j)^2}} .

    The j-th pair of one fold is pooled with the j-th of the others, so each must come at the same
    scale (a'Sxx a = 1 in training) and sign (positively correlated in training). Folds that offer fewer
    pairs than others cut all to their number. None when there are no two folds with rows, or no pair.
    """
    sums = over_folds(m, lambda train, test: _sums(train, test, *directions(train)))
    pairs = min((s.shape[1] for s in sums), default=0)
    if pairs == 0:
        return None
    xy, xx, yy = np.sum([s[:, :pairs] for s in sums], axis=0)
    spread = np.sqrt(xx * yy)
    # A pair constant on every held-out row has been shown no relation there: it counts as 0.
    return np.divide(xy, spread, out=np.zeros(pairs), where=spread > 0)


def _sums(train: Moments, test: Moments, A: Array, B: Array) -> Float[Array, "3 r"]:
    """Test sums of (ua)(vb), (ua)^2, (vb)^2, about the training means and at unit training variance."""
    shift_x, shift_y = (test.mean_x - train.mean_x) @ A, (test.mean_y - train.mean_y) @ B
    return train.n * np.stack(
        [
            paired_products(test.Sxy, A, B) + test.n * shift_x * shift_y,
            paired_products(test.Sxx, A, A) + test.n * shift_x**2,
            paired_products(test.Syy, B, B) + test.n * shift_y**2,
        ]
    )


def paired_products(S: Array, A: Array, B: Array) -> Float[Array, " r"]:
    """a_j' S b_j for each column j."""
    return np.einsum("ij,ij->j", A, S @ B)
