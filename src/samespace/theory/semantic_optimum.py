r"""What an optimal contrastive model must satisfy, and the least risk it can have (Lemma A.1), exactly.

With in-batch negatives every sample picks its partner among N candidates: its own and N - 1 others drawn
from the marginal. The risk depends on the logits ``l(s, c) = E(s) . E(c)`` alone, and is least exactly where

- picking **contexts** for a symbol (Eq. 2): ``l(s, c) = log p(c | s) / p(c) + alpha(s)``;
- picking **symbols** for a context (the risk that Lemma A.1 writes down): ``... + beta(c)``.

The free constant is the whole difference. In the proof of the theorems two symbols are compared in one
context, where ``beta(c)`` cancels and ``alpha(u) - alpha(v)`` does not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import DegenerateError, OptionError, ShapeError

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

_MOST_WAYS = 2_000_000


def log_lift(joint: Float[Array, "symbols contexts"]) -> Float[Array, "symbols contexts"]:
    """Return ``log p(c | s) / p(c)``, what an optimal model's logits equal up to the free constants.

    Minus infinity where symbol and context never meet: no finite model is then optimal.

    Examples
    --------
    >>> log_lift(np.array([[0.25, 0.25], [0.25, 0.25]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    table = _checked(joint)
    with np.errstate(divide="ignore"):
        return np.log(table) - np.log(np.outer(table.sum(axis=1), table.sum(axis=0)))


def in_batch_risk(
    logits: Float[Array, "symbols contexts"],
    joint: Float[Array, "symbols contexts"],
    *,
    batch: int = 2,
    over: str = "contexts",
) -> float:
    """Return the expected in-batch loss of Eq. 2 by summing over every batch there is.

    Parameters
    ----------
    logits
        Of every symbol with every context.
    joint
        Probability of every pair.
    batch
        N: a pair and N - 1 other candidates; the sum has (candidates)^(N - 1) terms per pair.
    over
        "contexts" as in Eq. 2, "symbols" as in the risk of Lemma A.1.

    Examples
    --------
    >>> even = np.full((2, 2), 0.25)
    >>> abs(in_batch_risk(np.zeros((2, 2)), even, batch=3) - float(np.log(3))) < 1e-9
    True
    """
    value, _ = _risk_and_gradient(*_oriented(logits, joint, over), batch)
    return value


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The minimiser of the in-batch risk over all logits, and how well Lemma A.1 describes it.

    Attributes
    ----------
    logits
        Where the minimiser stopped.
    risk
        The risk there.
    residual
        The largest distance of ``logits - log p(c|s)/p(c)`` from a constant per symbol (over="contexts")
        or per context (over="symbols"): 0 for the identity.
    """

    logits: Float[Array, "symbols contexts"]
    risk: float
    residual: float


def optimum(
    joint: Float[Array, "symbols contexts"],
    *,
    batch: int = 2,
    over: str = "contexts",
    rng: np.random.Generator,
) -> Optimum:
    """Minimise the exact in-batch risk from random logits and compare with Lemma A.1.

    Needs every pair to be possible: where one is not, the risk has an infimum but no minimum.

    Examples
    --------
    >>> table = np.array([[0.3, 0.2], [0.1, 0.4]])
    >>> optimum(table, rng=np.random.default_rng(0)).residual < 1e-4
    True
    """
    from scipy.optimize import minimize

    table = _checked(joint)
    if not (table > 0).all():
        raise DegenerateError(
            f"{int((table == 0).sum())} of {table.size} pairs never occur; their optimal logit is minus "
            "infinity and no model attains it: give every pair some probability."
        )
    start = rng.normal(size=table.shape)
    _, weights = _oriented(start, table, over)

    def objective(flat: Array) -> tuple[float, Array]:
        value, gradient = _risk_and_gradient(flat.reshape(weights.shape), weights, batch)
        return value, gradient.ravel()

    found = minimize(
        objective,
        _oriented(start, table, over)[0].ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    rows = found.x.reshape(weights.shape)
    gap = rows - _oriented(log_lift(table), table, over)[0]
    return Optimum(
        logits=rows if over == "contexts" else rows.T,
        risk=float(found.fun),
        residual=float(np.abs(gap - gap.mean(axis=1, keepdims=True)).max()),
    )


def _checked(joint: Float[Array, "symbols contexts"]) -> Float[Array, "symbols contexts"]:
    table = np.asarray(joint, dtype=np.float64)
    if table.ndim != 2:
        raise ShapeError(f"joint is a table (symbols, contexts); got shape {table.shape}.")
    total = table.sum()
    if (table < 0).any() or not abs(total - 1.0) < 1e-9:
        raise OptionError(
            f"joint holds probabilities that sum to 1; got a sum of {total:.6g} and a smallest entry of "
            f"{table.min():.3g}: divide counts by their sum."
        )
    if not (table.sum(axis=0).all() and table.sum(axis=1).all()):
        raise DegenerateError("A symbol or a context never occurs; leave its row or column out.")
    return table


def _oriented(logits: Array, joint: Array, over: str) -> tuple[Array, Array]:
    """Put what picks in the rows and the candidates in the columns."""
    if over not in ("contexts", "symbols"):
        raise OptionError(f"over is 'contexts' or 'symbols'; got {over!r}.")
    table = _checked(joint)
    if logits.shape != table.shape:
        raise ShapeError(
            f"logits and joint are tables of one shape; got {logits.shape} and {table.shape}."
        )
    return (logits, table) if over == "contexts" else (logits.T, table.T)


def _risk_and_gradient(logits: Array, joint: Array, batch: int) -> tuple[float, Array]:
    """Sum over all multisets of negatives: cross entropy of the first of `batch` candidates."""
    columns = joint.shape[1]
    if batch < 2 or columns ** (batch - 1) * joint.size > _MOST_WAYS:
        raise OptionError(
            f"batch {batch} with {columns} candidates has {columns}^{batch - 1} sets of negatives per pair; "
            f"choose a batch of at least 2 and a table with at most {_MOST_WAYS} terms."
        )
    marginal = joint.sum(axis=0)
    value, gradient = 0.0, np.zeros_like(logits)
    own = np.arange(columns)
    for negatives in itertools.product(range(columns), repeat=batch - 1):
        chance = joint * np.prod(marginal[list(negatives)])
        # scores: (rows, own candidate, batch), the own candidate first.
        others = np.broadcast_to(
            logits[:, None, list(negatives)], (len(logits), columns, batch - 1)
        )
        scores = np.concatenate([logits[:, :, None], others], axis=2)
        top = scores.max(axis=2, keepdims=True)
        log_sum = top[..., 0] + np.log(np.exp(scores - top).sum(axis=2))
        share = np.exp(scores - log_sum[..., None]) * chance[..., None]
        value += float((chance * (log_sum - logits)).sum())
        gradient[:, own] += share[:, :, 0] - chance
        for place, column in enumerate(negatives, start=1):
            gradient[:, column] += share[:, :, place].sum(axis=1)
    return value, gradient
