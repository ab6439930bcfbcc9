r"""Must an optimal model embed equivalent symbols alike? Theorems 3.1 and 4.2, as printed and repaired.

The theorems conclude ``E(u) = E(v)`` from equal conditionals and *d contexts whose embeddings form a basis
of R^d*. The proof takes ``E(u) . E_i = E(v) . E_i`` from Lemma A.1. For the loss that is trained (Eq. 2, a
softmax over contexts) an optimal model only satisfies

``(E(u) - E(v)) . E_i = alpha(u) - alpha(v)``  for every context i,

one unknown more. It follows that ``E(u) = E(v)`` if and only if the contexts' embeddings span R^d *affinely*:
**d + 1 affinely independent contexts**, the diversity condition of Roeder et al. (2021). `counterexample`
gives an optimal model whose contexts form a basis and whose equivalent symbols are as far apart as one
likes. For a softmax over symbols, the risk that Lemma A.1 writes down, the free constant belongs to the
context, and a basis is enough.

Theorem 3.1 is Theorem 4.2 for contexts that carry their label: ``p(rho | u) = p(rho | v)`` and equal
``p(y | ., rho)`` make ``p(rho, y | u) = p(rho, y | v)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError, ShapeError
from samespace.theory.semantic_optimum import log_lift

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

_EQUAL = 1e-12  # of probabilities given a symbol, which rounding leaves within a few 1e-16
_RANK = 1e-10  # singular values below this share of the largest count as 0


@dataclass(frozen=True, kw_only=True)
class EmbeddedAlike:
    """Whether a theorem forces equal embeddings of two symbols, hypothesis by hypothesis.

    Attributes
    ----------
    equivalent
        ``p(context | u) = p(context | v)`` for all contexts (with labels: of context and label).
    attained
        Whether every symbol meets every context; if not, optimal logits are infinite and no finite model
        is optimal, so that the theorem speaks of nothing that training can reach.
    basis
        Whether the embedded contexts contain a basis of R^d, as the theorems ask.
    affine
        Whether they contain d + 1 affinely independent ones.
    rank, affine_rank, dimension
        Behind the two: of the embedded contexts, of their differences, and d.
    as_printed
        Whether the theorem's printed hypotheses hold.
    forced
        Whether equal embeddings follow.
    reason
        Why, or what is missing, in a sentence.
    """

    equivalent: bool
    attained: bool
    basis: bool
    affine: bool
    rank: int
    affine_rank: int
    dimension: int
    as_printed: bool
    forced: bool
    reason: str


def theorem_4_2(
    joint: Float[Array, "symbols contexts"],
    contexts: Float[Array, "contexts d"],
    u: int,
    v: int,
    *,
    over: str = "contexts",
) -> EmbeddedAlike:
    """Tell whether an optimal model with these embedded contexts must embed u and v alike.

    Parameters
    ----------
    joint
        Probability of each symbol with each context.
    contexts
        The embedded contexts of the model, one row each.
    u, v
        Rows of the two symbols.
    over
        What the loss's softmax runs over: "contexts" (Eq. 2) or "symbols" (the risk in Lemma A.1).

    Notes
    -----
    Misleads for trained models in that these are close to optimal at best; ranks are taken at a relative
    tolerance of 1e-10, and a nearly flat cloud of contexts forces equality only as strongly as its smallest
    singular value. Weight decay chooses among the optimal models one with equal embeddings, whatever the
    rank: the loss and the penalty treat u and v alike, and the penalty is strictly convex.

    References
    ----------
    "Contrastive learners are semantic learners", Theorem 4.2, Lemma A.1 and appendix A.3.

    Examples
    --------
    >>> joint = np.full((2, 3), 1 / 6)
    >>> corner = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> theorem_4_2(joint, corner, 0, 1).forced, theorem_4_2(joint, corner + [1.0, 0.0], 0, 1).forced
    (True, True)
    >>> theorem_4_2(joint[:, :2] * 1.5, corner[:2], 0, 1).forced
    False
    """
    table, embedded = np.asarray(joint, dtype=float), np.asarray(contexts, dtype=float)
    if embedded.ndim != 2 or len(embedded) != table.shape[1]:
        raise ShapeError(
            f"Each context of joint {table.shape} needs one row of embeddings; got {embedded.shape}."
        )
    if over not in ("contexts", "symbols"):
        raise OptionError(f"over is 'contexts' or 'symbols'; got {over!r}.")
    attained = bool(np.isfinite(log_lift(table)).all())
    given = table[[u, v]] / table[[u, v]].sum(axis=1, keepdims=True)
    equivalent = bool(np.abs(given[0] - given[1]).max() <= _EQUAL)
    rank, affine_rank = _rank(embedded), _rank(embedded - embedded.mean(axis=0))
    dimension = embedded.shape[1]
    basis, affine = rank == dimension, affine_rank == dimension
    enough = affine if over == "contexts" else basis
    return EmbeddedAlike(
        equivalent=equivalent,
        attained=attained,
        basis=basis,
        affine=affine,
        rank=rank,
        affine_rank=affine_rank,
        dimension=dimension,
        as_printed=equivalent and basis,
        forced=equivalent and attained and enough,
        reason=_reason(equivalent, attained, enough, basis, dimension, rank, affine_rank, over),
    )


def theorem_3_1(
    joint: Float[Array, "symbols contexts labels"],
    contexts: Float[Array, "contexts labels d"],
    u: int,
    v: int,
    *,
    over: str = "contexts",
) -> EmbeddedAlike:
    """Tell the same of a model whose contexts carry their label; pairs that never occur are left out.

    `equivalent` is then the first two hypotheses of Theorem 3.1 together: semantic equivalence, and equal
    distributions of contexts.

    Examples
    --------
    >>> joint = np.full((2, 2, 2), 1 / 8)
    >>> embedded = np.array([[[0.0], [1.0]], [[2.0], [3.0]]])
    >>> theorem_3_1(joint, embedded, 0, 1).forced
    True
    """
    table, embedded = np.asarray(joint, dtype=float), np.asarray(contexts, dtype=float)
    if table.ndim != 3 or embedded.shape[:2] != table.shape[1:]:
        raise ShapeError(
            f"joint is (symbols, contexts, labels) and contexts (contexts, labels, d); got {table.shape} "
            f"and {embedded.shape}."
        )
    occur = table.sum(axis=0).ravel() > 0
    flat = table.reshape(len(table), -1)[:, occur]
    return theorem_4_2(flat, embedded.reshape(occur.size, -1)[occur], u, v, over=over)


def counterexample(
    dimension: int = 2, *, apart: float = 1.0
) -> tuple[Float[Array, "symbols contexts"], Float[Array, "symbols d"], Float[Array, "contexts d"]]:
    """Return an optimal model that meets the printed hypotheses and embeds two equivalents apart.

    d contexts are embedded as the standard basis, three symbols as their optimal logits; the second is
    equivalent to the first, and moved by `apart` along the direction in which all contexts agree. The loss
    of Eq. 2 does not change.

    Returns
    -------
    joint, symbols, contexts
        The distribution, and the two embeddings.

    Examples
    --------
    >>> joint, symbols, contexts = counterexample(2, apart=5.0)
    >>> found = theorem_4_2(joint, contexts, 0, 1)
    >>> found.as_printed, found.forced, round(float(np.linalg.norm(symbols[0] - symbols[1])), 9)
    (True, False, 5.0)
    """
    if dimension < 2:
        raise OptionError(
            f"With a single context nothing is left to pick; dimension is at least 2, got {dimension}."
        )
    likes = np.arange(1.0, dimension + 1)
    given = np.stack([likes, likes, likes[::-1]]) / likes.sum()
    joint = given / 3
    symbols = log_lift(joint)
    symbols[1] += apart * np.ones(dimension) / np.sqrt(dimension)
    return joint, symbols, np.eye(dimension)


def _rank(rows: Float[Array, "n d"]) -> int:
    singular = np.linalg.svd(rows, compute_uv=False)
    return int((singular > _RANK * max(singular.max(initial=0.0), 1e-300)).sum())


def _reason(
    equivalent: bool,
    attained: bool,
    enough: bool,
    basis: bool,
    dimension: int,
    rank: int,
    affine_rank: int,
    over: str,
) -> str:
    if not equivalent:
        return "the two symbols do not occur in the same contexts equally often"
    if not attained:
        return (
            "some pairs never occur, so that the optimum lies at infinity and no model is optimal"
        )
    if enough:
        return "the embedded contexts leave no direction in which the two could differ"
    if over == "contexts" and basis:
        return (
            f"the contexts form a basis, but only {affine_rank + 1} are affinely independent and "
            f"{dimension + 1} are needed: they agree in a direction that the loss does not see"
        )
    return f"the contexts span {rank} of {dimension} dimensions; the others are free"
