r"""Which symbols are equivalent: exactly, or as far as a sample can tell.

*Conditional equivalence* of u and v: ``p(context | u) = p(context | v)``. *Semantic equivalence* (Definition
2.1): ``p(label | u, context) = p(label | v, context)`` in all contexts. Both are decided on the distance D of
`samespace.theory.agreement`, which is 0 exactly for equivalent symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import OptionError, TooFewRowsError
from samespace.theory.agreement import Agreement, agreement
from samespace.theory.false_discovery import benjamini_hochberg
from samespace.theory.nearby import nearby

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    from samespace.theory.occurrences import Occurrences

EQUIVALENT, UNDECIDED, DIFFERENT = 1, 0, -1

# D of equal distributions is 0 but for rounding, a few units of 2.2e-16 relative to 1.
_ROUNDING = 1e-12
_ALL_CELLS = 50_000_000  # every pair is tested while all of them together have fewer cells


@dataclass(frozen=True, kw_only=True)
class EquivalenceClass:
    """Symbols that are taken for equivalent.

    Attributes
    ----------
    symbols
        At least two.
    diameter
        The largest estimated distance between two of them.
    established
        Whether every pair is *shown* to be within the margin; else some are only not shown to differ.
    """

    symbols: tuple[Any, ...]
    diameter: float
    established: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class Equivalence:
    """The pairs that were tested, what was decided of them, and the classes they make.

    Attributes
    ----------
    symbols
        In order of the rows.
    semantic
        True for semantic equivalence, False for conditional equivalence.
    pairs
        Distance, standard error and p-value of each tested pair.
    relation
        For each tested pair 1 equivalent (within `margin`), -1 different, 0 undecided.
    comparable
        How many pairs could be judged at all; those not among `pairs` are farther apart than `reach`.
    classes
        Equivalence classes of two symbols or more, the largest first.
    margin, level, reach
        As given to `equivalence`; the margin of exact data is 0.
    exact
        Whether the data were probabilities.
    """

    symbols: tuple[Any, ...]
    semantic: bool
    pairs: Agreement
    relation: Int[Array, " pairs"]
    comparable: int
    classes: tuple[EquivalenceClass, ...]
    margin: float
    level: float
    reach: float
    exact: bool

    def interval(
        self, *, level: float = 0.95
    ) -> tuple[Float[Array, " pairs"], Float[Array, " pairs"]]:
        """Return the ends of each pair's interval of D, never narrower than what unseen draws may hide."""
        return _interval(self.pairs, level, exact=self.exact)

    def __repr__(self) -> str:
        kind = "semantic" if self.semantic else "conditional"
        counts = [int((self.relation == kind).sum()) for kind in (EQUIVALENT, UNDECIDED, DIFFERENT)]
        return (
            f"Equivalence({kind}, {len(self.symbols)} symbols, {len(self.classes)} classes; pairs: "
            "{} equivalent, {} undecided, {} different)".format(*counts)
        )


def equivalence(
    data: Occurrences,
    *,
    margin: float = 0.1,
    level: float = 0.05,
    reach: float = 0.3,
    pairs: tuple[Int[Array, " pairs"], Int[Array, " pairs"]] | None = None,
    among: int | None = None,
) -> Equivalence:
    """Decide which pairs of symbols are equivalent, which differ, and which classes that makes.

    Of exact probabilities: equivalent if and only if D = 0. Of a sample, two tests with false discovery rate
    `level` each:

    - *different*: the draws of the two symbols are not exchangeable (an exact-moment permutation test);
    - *equivalent*: D is below `margin`, by its standard error and by the number of draws (of contexts of
      this data set, for labelled data). A real difference below the margin counts as equivalent.

    Whatever neither shows is undecided; no pair is called equivalent because a test was too weak.

    **Classes.** Two groups merge as soon as all pairs across them are *linked*: the estimate of D is at most
    `margin`, and the pair is not found different unless it is also established to be equivalent. Pairs are
    taken in order of D, so this is complete linkage cut at `margin`: no class holds two symbols that are not
    linked.

    Parameters
    ----------
    data
        Labelled data decide semantic, unlabelled ones conditional equivalence.
    margin
        The largest D that still counts as equivalent, for samples.
    level
        False discovery rate of both tests.
    reach
        Of a large vocabulary only pairs with an estimate of D up to `reach` are tested: one in which all
        pairs together have more than 5e7 cells. The estimates themselves are computed for all pairs.
    pairs
        Rows of the pairs to judge, in place of those within `reach`.
    among
        How many pairs those were chosen among, which the false discovery rate counts; all of `pairs` if None.

    Notes
    -----
    Misleads when observations are not independent (several contexts cut from one sentence, near-duplicate
    documents): the test then calls too many pairs different. Labels are compared in shared contexts only;
    that two symbols never share a context leaves them incomparable, not equivalent.

    References
    ----------
    "Contrastive learners are semantic learners", Definitions 2.1 and 4.1.

    Examples
    --------
    >>> from samespace.theory.occurrences import Occurrences
    >>> data = Occurrences.of(list("aabbcc"), list("xyxyxz"), probability=np.full(6, 1 / 6))
    >>> [one.symbols for one in equivalence(data).classes]
    [('a', 'b')]
    """
    _check(data, margin, level, reach)
    if pairs is None:
        first, second, comparable = nearby(data, reach=_reach(data, reach))
    else:
        (first, second), comparable = pairs, len(pairs[0]) if among is None else among
    found = agreement(data, first, second)
    relation = _relation(data, found, margin, level, comparable)
    return Equivalence(
        symbols=data.symbols,
        semantic=data.labelled,
        pairs=found,
        relation=relation,
        comparable=comparable,
        classes=_classes(data, found, relation, margin),
        margin=0.0 if data.exact else margin,
        level=level,
        reach=_reach(data, reach),
        exact=data.exact,
    )


def _check(data: Occurrences, margin: float, level: float, reach: float) -> None:
    if not 0.0 < margin <= reach:
        raise OptionError(
            f"margin is a distance above 0 and at most reach, beyond which pairs are not tested; got margin "
            f"{margin}, reach {reach}."
        )
    if not 0.0 < level < 1.0:
        raise OptionError(f"level is a false discovery rate between 0 and 1; got {level}.")
    if len(data.symbols) < 2:
        raise TooFewRowsError(f"Equivalence needs at least 2 symbols; got {len(data.symbols)}.")


def _reach(data: Occurrences, reach: float) -> float:
    return np.inf if (len(data.symbols) - 1) * data.cells.nnz <= _ALL_CELLS else reach


def _relation(
    data: Occurrences, found: Agreement, margin: float, level: float, comparable: int
) -> Int[Array, " pairs"]:
    known = found.shared > 0
    if data.exact:
        decided = np.where(found.distance <= _ROUNDING, EQUIVALENT, DIFFERENT)
        return np.where(known, decided, UNDECIDED)
    different = benjamini_hochberg(found.p_equal, level=level)
    beyond = _p_beyond(found, margin)
    # Pairs out of reach have an estimate above the margin: their p-values are above one half.
    equivalent = benjamini_hochberg(beyond, level=level, tests=max(comparable, len(beyond)))
    return np.where(equivalent, EQUIVALENT, np.where(different, DIFFERENT, UNDECIDED))


def _p_beyond(found: Agreement, margin: float) -> Float[Array, " pairs"]:
    """Return the p-value of "D is at least `margin`".

    Two ways to look equivalent without being so are ruled out: the estimate fell low by chance, with the
    error that it would have at the margin; or the `margin` of the draws that tell the two apart did not turn
    up among those seen.
    """
    from scipy import special

    error = np.maximum(found.error, np.sqrt(found.noise * margin * (2.0 - margin)))
    with np.errstate(invalid="ignore", divide="ignore"):
        by_error = np.where(
            error > 0,
            special.ndtr((found.distance - margin) / error),
            (found.distance > margin).astype(float),
        )
    p = np.maximum(by_error, _p_unseen(found, min(margin, 1.0)))
    return np.where(found.shared > 0, p, 1.0)


def _p_unseen(found: Agreement, margin: float) -> Float[Array, " pairs"]:
    """Return the chance that no draw hits a `margin` of the population, drawn without replacement."""
    from scipy import special

    size, draws = found.population, found.draws
    p = (1.0 - margin) ** draws
    finite = np.isfinite(size)
    size, draws, missed = size[finite], draws[finite], margin * size[finite]
    logs = (
        special.gammaln(size - missed + 1)
        - special.gammaln(np.maximum(size - missed - draws, 0) + 1)
        - special.gammaln(size + 1)
        + special.gammaln(size - draws + 1)
    )
    p[finite] = np.where(size - missed >= draws, np.exp(logs), 0.0)
    return p


def _interval(found: Agreement, level: float, *, exact: bool) -> tuple[Array, Array]:
    from scipy import special

    if not 0.0 < level < 1.0:
        raise OptionError(f"level is the coverage of an interval, between 0 and 1; got {level}.")
    if exact:
        return found.distance, found.distance
    reach = special.ndtri(0.5 + level / 2) * found.error
    # What as many draws may have missed altogether: everything without a draw, nothing with all of them.
    unseen = 1.0 - ((1.0 - level) / 2) ** (1.0 / np.maximum(found.draws, 1e-9))
    unseen *= 1.0 - found.draws / found.population
    high = np.maximum(found.distance + reach, unseen)
    return np.maximum(found.distance - reach, 0.0), np.minimum(high, 1.0)


def _classes(
    data: Occurrences, found: Agreement, relation: Array, margin: float
) -> tuple[EquivalenceClass, ...]:
    bound = _ROUNDING if data.exact else margin
    with np.errstate(invalid="ignore"):
        linked = (found.distance <= bound) & (relation != DIFFERENT)
    order = np.flatnonzero(linked)[np.argsort(found.distance[linked], kind="stable")]
    edges = list(zip(found.first[order].tolist(), found.second[order].tolist(), strict=True))
    groups = complete_linkage(edges)
    place = {member: number for number, group in enumerate(groups) for member in group}
    diameter, established = [0.0] * len(groups), [True] * len(groups)
    for pair, (u, v) in zip(order.tolist(), edges, strict=True):
        group = place.get(u)
        if group is not None and group == place.get(v):
            diameter[group] = max(diameter[group], float(found.distance[pair]))
            established[group] &= bool(relation[pair] == EQUIVALENT)
    classes = [
        EquivalenceClass(
            symbols=tuple(data.symbols[row] for row in group), diameter=d, established=e
        )
        for group, d, e in zip(groups, diameter, established, strict=True)
    ]
    return tuple(sorted(classes, key=lambda one: -len(one.symbols)))


def complete_linkage(edges: list[tuple[int, int]]) -> list[list[int]]:
    """Group nodes so that all pairs within a group are edges, merging in the order of the edges.

    Two groups merge at the edge that completes the pairs across them, which for edges in order of distance
    is agglomerative clustering by the largest distance.

    Examples
    --------
    >>> complete_linkage([(0, 1), (1, 2), (3, 4), (0, 2)])
    [[0, 1, 2], [3, 4]]
    """
    group_of: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    across: dict[int, dict[int, int]] = {}
    for edge in edges:
        for node in edge:
            if node not in group_of:
                group_of[node], members[node], across[node] = node, [node], {}
        u, v = group_of[edge[0]], group_of[edge[1]]
        for mine, other in ((u, v), (v, u)):
            across[mine][other] = across[mine].get(other, 0) + 1
        if across[u][v] == len(members[u]) * len(members[v]):
            _merge(u, v, group_of, members, across)
    return [sorted(group) for group in members.values() if len(group) > 1]


def _merge(
    u: int,
    v: int,
    group_of: dict[int, int],
    members: dict[int, list[int]],
    across: dict[int, dict[int, int]],
) -> None:
    """Take the smaller group into the larger one."""
    if len(across[u]) + len(members[u]) < len(across[v]) + len(members[v]):
        u, v = v, u
    for node in members[v]:
        group_of[node] = u
    members[u] += members.pop(v)
    del across[u][v], across[v][u]
    for other, count in across.pop(v).items():
        across[u][other] = across[u].get(other, 0) + count
        across[other][u] = across[other].get(u, 0) + count
        del across[other][v]
