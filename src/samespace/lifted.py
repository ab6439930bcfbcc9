r"""The lifted Gram matrix: all moments of paired rows as one symmetric matrix that adds up.

A row pair is lifted to :math:`\ell(x, y) = (1, |x|^2, |y|^2, x, y)` and :math:`G = \sum_i \ell_i'\ell_i`.
One product then holds the count, both means, :math:`S_{xx}, S_{xy}, S_{yy}` and the few mixed sums that the
debiased CKA needs. Two properties make it the monoid of this package: G of a union is the sum of the G's,
and translating the data acts *linearly* on the lift, so a change of the pivot is a congruence of G, done
exactly in :math:`O(d^2)` (:func:`translate`). Working about a pivot near the mean keeps the sums stable
when the mean dwarfs the spread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import DegenerateError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

ONE, NORM_X, NORM_Y, HEAD = 0, 1, 2, 3
"""Columns of the lift: the constant, the two squared norms; from ``HEAD`` on x, then y."""

_LARGEST_SUM = 1e150
"""Of squares, on each side: beyond it their own squares leave float64, which ends at 1e308."""


# Sums that left the range of float64 are refused where they are read (Moments), not where they are moved.
@np.errstate(over="ignore", invalid="ignore")
def translate(
    gram: Float[Array, "w w"], shift: Float[Array, " d"], *, d_x: int
) -> Float[Array, "w w"]:
    """Gram matrix of the rows ``z + shift``, from the Gram matrix of the rows z.

    With z' = z + s the lift moves by ``|x'|^2 = |x|^2 + 2 x.s_x + |s_x|^2``: a linear map M of the lifted row
    that changes the three head columns and adds s, times the constant, to the rest. The result is M'GM.
    """
    x, y = slice(HEAD, HEAD + d_x), slice(HEAD + d_x, None)
    s_x, s_y = shift[:d_x], shift[d_x:]
    head_map = np.zeros((len(gram), HEAD))
    head_map[[ONE, NORM_X, NORM_Y], [ONE, NORM_X, NORM_Y]] = 1.0
    head_map[ONE, NORM_X], head_map[ONE, NORM_Y] = s_x @ s_x, s_y @ s_y
    head_map[x, NORM_X], head_map[y, NORM_Y] = 2 * s_x, 2 * s_y

    head = head_map.T @ gram
    sums, n = gram[ONE, HEAD:], gram[ONE, ONE]
    moved = np.empty_like(gram)
    moved[:HEAD, :HEAD] = head @ head_map
    moved[:HEAD, HEAD:] = head[:, HEAD:] + np.outer(head[:, ONE], shift)
    moved[HEAD:, :HEAD] = moved[:HEAD, HEAD:].T
    # s sums' + sums s' + n s s' = n (m + s)'(m + s) - n m'm with the mean m; centring makes the first vanish.
    mean = sums / max(n, 1.0)
    inner = moved[HEAD:, HEAD:]
    np.multiply.outer(mean, -sums, out=inner)
    inner += gram[HEAD:, HEAD:]
    moved_mean = mean + shift
    if moved_mean.any():
        inner += np.outer(n * moved_mean, moved_mean)
    return moved


def centre(gram: Float[Array, "w w"], *, d_x: int) -> tuple[Array, Array]:
    """Gram matrix about the rows' own mean, and that mean relative to the old pivot."""
    mean = gram[ONE, HEAD:] / gram[ONE, ONE]
    if not mean.any():
        return gram, mean
    centred = translate(gram, -mean, d_x=d_x)
    # By definition exactly zero; leaving the rounding there would leak into later translations.
    centred[ONE, HEAD:] = centred[HEAD:, ONE] = 0.0
    return centred, mean


def refuse_overflow(gram: Float[Array, "w w"], precision: str) -> None:
    """Raise DegenerateError for sums that left the floating-point range, or came near to its end."""
    squares = gram[ONE, NORM_X : NORM_Y + 1]
    # No sum of products is larger than the sums of squares on the diagonal (Cauchy and Schwarz).
    if not np.isfinite(np.diag(gram)).all() or squares.max() > _LARGEST_SUM:
        raise DegenerateError(
            f"the sums of squares of x and y are {squares[0]:.1e} and {squares[1]:.1e} in {precision}: "
            "there are NaN or infinite values, or values too large to be squared twice. "
            "Divide both representations by a constant first, and use precision='float64'."
        )
