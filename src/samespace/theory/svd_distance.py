r"""d_SVD: dissimilarity of two models' representations, in coordinates that the likelihood determines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.errors import OptionError
from samespace.measures.result import Result
from samespace.theory.choice import differences, number_of_sets
from samespace.theory.jackknife import jackknife
from samespace.theory.log_odds import aligned_outside_groups, correlations
from samespace.theory.model_pair import ModelPair
from samespace.theory.place import beside, chosen_rows, namespace
from samespace.theory.spectra import polar
from samespace.theory.tables import table
from samespace.theory.triangle import take

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.theory.diversity import Diversity
    from samespace.theory.second_moments import SecondMoments

_ENUMERABLE = 5_000
_SEARCH_FLOPS = 2e11


@dataclass(frozen=True, eq=False, repr=False)
class SVDDistance(Result):
    """The dissimilarity, the anchors it was measured at, and how these were found.

    Attributes
    ----------
    value, low, high
        d_SVD, in [0, 1], and its interval over groups of inputs, at these anchors; None for the
        unembeddings, whose labels are no sample.
    of
        ``"f"`` (anchors are labels) or ``"g"`` (anchors are inputs).
    anchors
        Row numbers, the pivot first.
    searched
        What it was maximised over, in words: only "all ... sets" makes it a maximum, else it is a lower bound
        of the maximum.
    sets
        Number of sets of anchors tried.
    unexplained
        Share of the standardised log-odds of the starred model that the best linear map of the first leaves.
    """

    value: float
    low: float | None
    high: float | None
    of: Literal["f", "g"]
    anchors: Int[Array, " r"]
    searched: str
    sets: int
    unexplained: float


def d_svd(
    f: Any,
    g: Any = None,
    f_star: Any = None,
    g_star: Any = None,
    *,
    of: Literal["f", "g"] = "f",
    anchors: Int[Array, " m+1"] | Literal["search"] | None = None,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> SVDDistance:
    r"""Measure how dissimilar two representations are in the coordinates of their own log-odds.

    .. math:: d_{SVD} = 1 - \frac1M
              \big\| \operatorname{corr}\big(L^\top f,\ L^{*\top} f^*\big) \big\|_{nuclear}

    with the differences of g at the anchors as columns of L: coordinate i of :math:`L^\top f(x)` is the
    log-odds of y_i against y_0. The correlations are between every coordinate of one model and every one of
    the other, each standardised, and the nuclear norm is the sum of singular values.

    Invariant to :math:`f \to Af,\ g \to A^{-\top}g + b` of either model. Not invariant to an arbitrary linear
    map of f alone, as CCA is: which labels are the coordinates matters.

    Parameters
    ----------
    f, g, f_star, g_star
        Values of the two models on the same inputs and labels, or a `ModelPair` in place of all four.
    of
        Whether embeddings (anchors are labels) or unembeddings (anchors are inputs: N and g in place of L
        and f).
    anchors
        Row numbers, the pivot first. None: the choice that conditions the starred differences best.
        ``"search"``: the most dissimilar set, exactly up to 5,000 sets, else by exchanging one anchor at a
        time.
    rng
        For the search among many sets.
    level
        Confidence of the interval: a jackknife over the pair's groups of inputs.

    Notes
    -----
    At equal anchors :math:`d_{SVD} \le 2 T_1^2 \le 2 d_{LLV}^2`, and the unexplained share is at most
    :math:`4 T_1^2` (proofs in the documentation). It is 1 - mean correlation when both models' log-odds are
    already uncorrelated, and smaller than it otherwise: strongly correlated log-odds make even unrelated
    representations look alike, since one common direction then carries the nuclear norm.

    References
    ----------
    Nielsen, Marconato, Dittadi, Gresele 2025, "When Does Closeness in Distribution Imply Representational
    Similarity? An Identifiability Perspective".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((100, 2)), rng.standard_normal((5, 2))
    >>> A = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> abs(round(d_svd(f, g, f @ A, g @ np.linalg.inv(A).T).value, 12))
    0.0
    """
    pair = ModelPair.of(f, g, f_star, g_star)
    if of not in ("f", "g"):
        raise OptionError(f"of={of!r}; write 'f' for embeddings or 'g' for unembeddings.")
    side = _Side.of_f(pair) if of == "f" else _Side.of_g(pair)
    if isinstance(anchors, str):
        if anchors != "search":
            raise OptionError(f"anchors={anchors!r}; write 'search', row numbers, or leave it out.")
        found, sets, searched = _search(side, rng)
    else:
        found = side.diversity.chosen if anchors is None else np.asarray(anchors)
        sets, searched = 1, "the best conditioned set" if anchors is None else "the set given"
    coordinates = side.differences(found)
    correlation, inside = correlations(side.seconds, *coordinates)
    rotation, nuclear = polar(correlation)
    value, low, high = 1.0 - nuclear / len(correlation), None, None
    if side.sample is not None:
        # The nuclear norm is the largest of all tr(Q'C) over rotations Q: near its maximum Q may be held.
        left = 1.0 - aligned_outside_groups(side.sample, *coordinates, rotation) / len(correlation)
        low, high = jackknife(value, left.__getitem__, range(len(left)), level=level)
    unexplained = max(1.0 - _explained(inside, correlation), 0.0)
    return SVDDistance(value, low, high, of, found, searched, sets, unexplained)


def dissimilarity(
    seconds: SecondMoments, D: Float[Array, "r p"], D_star: Float[Array, "r m"]
) -> float:
    """Return d_SVD from second moments and the rows of differences."""
    correlation, _ = correlations(seconds, D, D_star)
    return 1.0 - float(namespace(correlation).linalg.svdvals(correlation).sum()) / len(correlation)


def _explained(inside: Float[Array, "r r"], correlation: Float[Array, "r r"]) -> float:
    """Mean share of the starred log-odds that the best linear map of the first model's explains."""
    lengths, axes = namespace(inside).linalg.eigh(inside)
    lengths[lengths < 1e-12 * lengths[-1]] = float("inf")
    along = axes.T @ correlation
    return float((along**2 / lengths[:, None]).sum()) / len(correlation)


@dataclass(frozen=True, eq=False)
class _Side:
    """One representation's second moments, and the other representation, which gives the anchors.

    `sample` holds the rows whose groups give the interval; labels are no sample.
    """

    seconds: SecondMoments
    anchors: Any
    anchors_star: Any
    diversity: Diversity
    sample: ModelPair | None

    @classmethod
    def of_f(cls, pair: ModelPair) -> _Side:
        return cls(pair.second_f, pair.g, pair.g_star, pair.label_diversity, pair)

    @classmethod
    def of_g(cls, pair: ModelPair) -> _Side:
        return cls(pair.second_g, pair.f, pair.f_star, pair.input_diversity, None)

    def differences(self, at: Int[Array, " r"]) -> tuple[Float[Array, "r p"], Float[Array, "r m"]]:
        return differences(take(self.anchors, at)), differences(take(self.anchors_star, at))


def _search(side: _Side, rng: np.random.Generator | None) -> tuple[Int[Array, " r"], int, str]:
    """Find the most dissimilar set of rank + 1 anchors."""
    total = number_of_sets(side.diversity.count, side.diversity.rank)
    if total <= _ENUMERABLE:
        found, tried = _largest(side, _all_sets(side.diversity.count, side.diversity.rank + 1))
        return found, tried, f"all {tried} sets"
    if rng is None:
        raise OptionError(
            f"there are {total:,} sets of anchors, too many to try all: pass "
            "rng=np.random.default_rng(seed)."
        )
    budget = max(8, min(2_000, int(_SEARCH_FLOPS / (40.0 * (side.diversity.rank + 1) ** 3))))
    found = _climb(side, rng, budget)
    return (
        found,
        budget,
        f"{budget} of {total:.3g} sets, by exchanges: a lower bound of the maximum",
    )


def _all_sets(count: int, size: int) -> Iterator[Int[Array, " r"]]:
    for members in combinations(range(count), size):
        for pivot in members:
            yield np.array([pivot, *(m for m in members if m != pivot)])


def _largest(side: _Side, sets: Iterator[Int[Array, " r"]]) -> tuple[Int[Array, " r"], int]:
    tables = [beside(side.seconds.own, table(rows)) for rows in (side.anchors, side.anchors_star)]
    tried = list(sets)
    found = [
        dissimilarity(side.seconds, *(differences(chosen_rows(t, at)) for t in tables))
        for at in tried
    ]
    return tried[int(np.argmax(found))], len(tried)


def _climb(side: _Side, rng: np.random.Generator, budget: int) -> Int[Array, " r"]:
    """From the best conditioned set, exchange random anchors and keep what raises the dissimilarity."""
    at = side.diversity.chosen.copy()
    most = dissimilarity(side.seconds, *side.differences(at))
    for _ in range(budget - 1):
        drawn = at.copy()
        drawn[rng.integers(len(at))] = rng.choice(np.setdiff1d(np.arange(side.diversity.count), at))
        found = dissimilarity(side.seconds, *side.differences(drawn))
        if found > most:
            at, most = drawn, found
    return at
