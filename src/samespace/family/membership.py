"""Is a table of log-probabilities from the canonical family at all? Two tests that the form
implies.

From log p(y|x,S) = f(x)'g(y) - log Z(x), the normaliser and any per-label bias vanish in double
differences:

    [log p(y|x) - log p(y0|x)] - [log p(y|x0) - log p(y0|x0)] = (f(x) - f(x0))'(g(y) - g(y0)),

a matrix of rank at most M whatever f and g are. And over S the probabilities sum to one.
**Skip-gram with negative sampling** (word2vec) fails both: its model is p(pair is real | x, y) =
sigmoid(f(x)'g(y)), whose logarithm has double differences of full rank, and whose sum over y is
anything. (At its optimum f(x)'g(y) = log p(y|x) - log q(y) - log k: the *scores* then belong to a
softmax with bias log q. What it models, and what its loss says of two models, does not.) SigLIP's
sigmoid and soft-capped logits fail the test of rank for the same reason.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import NotFiniteError, OptionError, ShapeError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


@dataclass(frozen=True, kw_only=True)
class Membership:
    """What a table of log-probabilities says about the family of width `dim`.

    Attributes
    ----------
    holds
        Whether both tests pass: a normalised table whose doubly centred form has rank `dim` at
        most.
    rank
        Numerical rank of the doubly centred table, to its own rounding.
    residual
        The share of its squares that no inner product of width `dim` can produce.
    partition_error
        The largest |log sum over S of p(y|x,S)|: 0 for a distribution over S.
    """

    holds: bool
    dim: int
    rank: int
    residual: float
    partition_error: float
    n: int
    labels: int

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary of plain values."""
        return asdict(self)

    def __str__(self) -> str:
        """Say the result in a sentence."""
        if self.holds:
            return (
                f"in the canonical family of width {self.dim}: rank {self.rank}, normalised over "
                f"{self.labels} labels"
            )
        return (
            f"not in the canonical family of width {self.dim}: rank {self.rank} (residual "
            f"{self.residual:.2g}), sums over labels off by e^{self.partition_error:.2g}"
        )


def membership(log_prob: Float[Array, "n k"], dim: int) -> Membership:
    """Tell whether log-probabilities over a fixed S have the canonical form of width `dim`.

    Parameters
    ----------
    log_prob
        log p(y|x) of n inputs and all K labels; n and K above `dim` + 1, or the test of rank says
        nothing.
    dim
        The width M of f and g without a bias: centring removes per-label biases.

    Notes
    -----
    *When it misleads*: a table in float32 has a rank up to its rounding, about 1e-6 of the largest
    singular value, so a nearly linear departure, a soft cap on small logits say, passes.

    References
    ----------
    Roeder et al. 2021, Eq. 1; Mikolov et al. 2013, Eq. 4, for negative sampling.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 20))
    >>> inside = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    >>> membership(inside, dim=2).holds
    True
    >>> print(membership(-np.log1p(np.exp(-scores)), dim=2))        # negative sampling
    not in the canonical family of width 2: rank 19 (residual 0.059), sums over labels off by e^2.4
    """
    table = np.asarray(log_prob)
    _require(table, dim)
    centred = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    squares = np.linalg.svd(centred.astype(np.float64), compute_uv=False) ** 2
    noise = _rounding(table)
    rank = int((squares > noise**2).sum())
    partition = float(np.abs(np.logaddexp.reduce(table.astype(np.float64), axis=1)).max())
    return Membership(
        holds=bool(rank <= dim and partition <= noise),
        dim=dim,
        rank=rank,
        residual=float(squares[dim:].sum() / max(squares.sum(), np.finfo(np.float64).tiny)),
        partition_error=partition,
        n=table.shape[0],
        labels=table.shape[1],
    )


def _rounding(table: Float[Array, "n k"]) -> float:
    """Bound the spectral norm of the table's rounding: an entry's, times sqrt(n) + sqrt(K), with a
    factor of 8.
    """
    entry = float(np.finfo(table.dtype).eps) * max(1.0, float(np.abs(table).max()))
    return 8.0 * entry * (np.sqrt(table.shape[0]) + np.sqrt(table.shape[1]))


def _require(table: Float[Array, "n k"], dim: int) -> None:
    if table.ndim != 2:
        raise ShapeError(f"log_prob is a table (inputs, labels); got shape {table.shape}.")
    if min(table.shape) <= dim + 1:
        raise OptionError(
            f"A table of {table.shape[0]} inputs and {table.shape[1]} labels has rank "
            f"{min(table.shape) - 1} at most after "
            f"centring, so it cannot test width {dim}: more than {dim + 1} of both are needed."
        )
    if not np.isfinite(table).all():
        raise NotFiniteError(
            "log_prob holds NaN or infinity; leave out labels that are never in S."
        )
