r"""The diversity that Roeder et al. ask of inputs: of the embeddings *and* the normaliser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import qr

from samespace.errors import ShapeError
from samespace.representation import Representation
from samespace.theory.diversity import MAX_CONDITION, Diversity, Verdict
from samespace.theory.tables import table
from samespace.theory.triangle import Span, triangle_of

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def context_diversity(f: Any, log_normaliser: Float[Array, " n"]) -> Diversity:
    r"""Tell whether M + 1 inputs have linearly independent :math:`(-\log Z(x), f(x))`.

    The condition of Roeder et al. 2021, Appendix C.1, for g: it concerns the normaliser as well as f and is
    neither weaker nor stronger than Definition 1, which asks the same of :math:`(1, f(x))`. `chosen` holds
    M + 1 row numbers without a pivot, by a pivoted QR among those of the largest leverage.

    Notes
    -----
    The appendix concludes g' = B g*. Its last step drops the first column of the row operations R: what
    Eq. 21 gives is g' = B g* + b, as in Nielsen et al. 2024, Eq. 3 (shift g and nothing changes).

    Examples
    --------
    >>> import numpy as np
    >>> f = np.array([[1.0], [2.0], [4.0]])
    >>> context_diversity(f, np.array([1.0, 1.0, 1.0])).verdict
    'holds'
    >>> context_diversity(f, np.array([1.0, 2.0, 4.0])).verdict
    'degenerate'
    """
    rows = table(f)
    if np.shape(log_normaliser) != (len(rows),):
        raise ShapeError(
            f"log_normaliser must hold one number per row of f, shape ({len(rows)},); got shape "
            f"{np.shape(log_normaliser)}. It is log sum over y of exp f(x)'g(y)."
        )
    extended = np.column_stack([-np.asarray(log_normaliser, dtype=np.float64), rows])
    count, dim = extended.shape
    span = Span.of(triangle_of(extended), dtype=Representation.of(f).dtype)
    _, _, order = qr(extended.T, mode="economic", pivoting=True)
    chosen = order[: span.rank]
    singular = np.linalg.svd(extended[chosen], compute_uv=False)
    found = float(singular[0] / singular[-1])
    verdict: Verdict = "holds" if found <= MAX_CONDITION else "ill-conditioned"
    if span.rank < dim:
        verdict = "too few" if count < dim else "degenerate"
    return Diversity(
        verdict=verdict,
        reason=f"(-log Z, f) of {count} inputs has rank {span.rank}; {dim} is needed, condition {found:.3g}.",
        count=count,
        dim=dim,
        rank=span.rank,
        chosen=chosen,
        condition=found,
        cloud_condition=span.condition,
        method=f"qr of {count}",
    )
