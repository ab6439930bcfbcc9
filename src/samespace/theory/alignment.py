"""Is this contrastive data set useful for that downstream task?

The distributional alignment hypothesis (Definition 4.1): two symbols are semantically equivalent for the
task exactly when they are conditionally equivalent in the contrastive data. It can fail in two ways, and
they cost different things:

- **missed**: equivalent for the task, but told apart by the contrastive data. Pre-training does not help
  with this pair.
- **confused**: told apart by the task, but equivalent in the contrastive data. Pre-training on them merges
  what the task must keep apart, which is harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import OptionError, TooFewRowsError
from samespace.theory.equivalence import DIFFERENT, EQUIVALENT, Equivalence, equivalence
from samespace.theory.false_discovery import benjamini_hochberg

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from numpy import ndarray as Array

    from samespace.theory.occurrences import Occurrences


@dataclass(frozen=True, kw_only=True)
class BrokenSymbol:
    """A symbol with pairs that break the hypothesis.

    Attributes
    ----------
    symbol
        The symbol.
    missed, confused, kept
        With how many others it is missed, confused, or equivalent in both data sets.
    example
        The other symbol of its worst broken pair.
    distance
        How far apart that pair is in the data set that tells it apart.
    """

    symbol: Any
    missed: int
    confused: int
    kept: int
    example: Any
    distance: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Alignment:
    """How far the hypothesis holds between two data sets, and which symbols break it.

    Attributes
    ----------
    verdict
        "aligned", "not aligned" or "undecided".
    reason
        The number that decided, in a sentence.
    score
        Over the pairs equivalent in either data set the mean of ``1 - max(D, D')``: 1 if every such pair is
        equivalent in both, and little below 1 if it nearly is. None without such a pair.
    interval
        95% interval of the score by the jackknife over symbols; None for exact data.
    kept, missed, confused, undecided
        Numbers of pairs; undecided are those equivalent in one data set and undecided in the other.
    broken
        The symbols with missed or confused pairs, the worst first.
    contrastive, downstream
        The two relations, over the symbols that both data sets have.
    only_contrastive, only_downstream
        Symbols that only one data set has, which nothing is said about.
    """

    verdict: str
    reason: str
    score: float | None
    interval: tuple[float, float] | None
    kept: int
    missed: int
    confused: int
    undecided: int
    broken: tuple[BrokenSymbol, ...]
    contrastive: Equivalence
    downstream: Equivalence
    only_contrastive: tuple[Any, ...]
    only_downstream: tuple[Any, ...]

    @property
    def jaccard(self) -> float | None:
        """Of the pairs that are equivalent in either data set and decided in both, the share kept."""
        decided = self.kept + self.missed + self.confused
        return self.kept / decided if decided else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the pairs, as JSON takes it."""
        names = ("verdict", "reason", "score", "kept", "missed", "confused", "undecided", "jaccard")
        return {
            **{name: getattr(self, name) for name in names},
            "interval": None if self.interval is None else list(self.interval),
            "symbols": len(self.contrastive.symbols),
            "only_contrastive": len(self.only_contrastive),
            "only_downstream": len(self.only_downstream),
            "broken": [vars(one) for one in self.broken],
            "classes": {
                side: [vars(one) for one in relation.classes]
                for side, relation in (
                    ("contrastive", self.contrastive),
                    ("downstream", self.downstream),
                )
            },
        }

    def __repr__(self) -> str:
        score = "none" if self.score is None else f"{self.score:.3f}"
        return f"Alignment({self.verdict}, score {score}: {self.reason})"


def alignment(
    contrastive: Occurrences,
    downstream: Occurrences,
    *,
    margin: float = 0.1,
    level: float = 0.05,
    reach: float = 0.3,
) -> Alignment:
    """Judge the distributional alignment of a contrastive data set with a labelled downstream task.

    Parameters
    ----------
    contrastive
        Symbols in contexts, without labels.
    downstream
        Symbols in contexts, with labels.
    margin, level, reach
        As for `equivalence`. Two aligned data sets are called not aligned in at most a share `level` of
        samples, as far as the pairs equivalent in one of them are found rightly.

    Notes
    -----
    Misleads where a task's contexts are not those of the contrastive data: the hypothesis compares
    relations between symbols, not the contexts themselves, so it may hold by accident. And no alignment
    says that a finite model will use it: see ``samespace.theory.semantic_theorems`` for what else is needed.

    References
    ----------
    "Contrastive learners are semantic learners", Definition 4.1 and Corollary 4.3.

    Examples
    --------
    >>> from samespace.theory.occurrences import Occurrences
    >>> half = np.full(4, 0.25)
    >>> seen = Occurrences.of(list("aabb"), list("xyxy"), probability=half)
    >>> task = Occurrences.of(list("aabb"), list("pqpq"), list("0101"), probability=half)
    >>> alignment(seen, task)
    Alignment(aligned, score 1.000: all 1 equivalent pairs are equivalent in both data sets)
    """
    if contrastive.labelled or not downstream.labelled:
        raise OptionError(
            "The contrastive data set has no labels and the downstream one has; got labels in "
            f"{_named(contrastive, downstream)}: swap the two, or leave out or give `label`."
        )
    known = set(downstream.symbols)
    common = [symbol for symbol in contrastive.symbols if symbol in known]
    if len(common) < 2:
        raise TooFewRowsError(
            f"Alignment is judged on pairs of symbols that both data sets have; they share {len(common)} of "
            f"{len(contrastive.symbols)} and {len(known)}. Write the symbols of both in the same way."
        )
    judge = partial(equivalence, margin=margin, level=level, reach=reach)
    left, right = _on_the_same_pairs(contrastive.select(common), downstream.select(common), judge)
    shared = set(common)
    return _judged(
        left,
        right,
        only_contrastive=tuple(s for s in contrastive.symbols if s not in shared),
        only_downstream=tuple(s for s in downstream.symbols if s not in shared),
    )


def _named(contrastive: Occurrences, downstream: Occurrences) -> str:
    sides = {"contrastive": contrastive.labelled, "downstream": downstream.labelled}
    return " and ".join(name for name, labelled in sides.items() if labelled) or "neither"


def _on_the_same_pairs(
    contrastive: Occurrences, downstream: Occurrences, judge: Callable[..., Equivalence]
) -> tuple[Equivalence, Equivalence]:
    """Judge in both data sets every pair that is within reach in either."""
    size = len(contrastive.symbols)
    first = [judge(data) for data in (contrastive, downstream)]
    codes = [one.pairs.first * size + one.pairs.second for one in first]
    union = np.union1d(*codes)
    if all(len(code) == len(union) for code in codes):
        return first[0], first[1]
    pairs = (union // size, union % size)
    left, right = (
        judge(data, pairs=pairs, among=one.comparable)
        for data, one in zip((contrastive, downstream), first, strict=True)
    )
    return left, right


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """The pairs that are equivalent in at least one data set, and what becomes of them in the other."""

    first: Int[Array, " pairs"]
    second: Int[Array, " pairs"]
    kept: Bool[Array, " pairs"]
    missed: Bool[Array, " pairs"]
    confused: Bool[Array, " pairs"]
    farther: Float[Array, " pairs"]


def _pairs(contrastive: Equivalence, downstream: Equivalence) -> _Pairs:
    comparable = (contrastive.pairs.shared > 0) & (downstream.pairs.shared > 0)
    left, right = (one.relation == EQUIVALENT for one in (contrastive, downstream))
    missed = comparable & right & ~left
    confused = comparable & left & ~right
    missed[missed] = _told_apart(contrastive, missed, comparable & right)
    confused[confused] = _told_apart(downstream, confused, comparable & left)
    rows = np.flatnonzero(comparable & (left | right))
    farther = np.maximum(contrastive.pairs.distance[rows], downstream.pairs.distance[rows])
    return _Pairs(
        first=contrastive.pairs.first[rows],
        second=contrastive.pairs.second[rows],
        kept=(left & right)[rows],
        missed=missed[rows],
        confused=confused[rows],
        farther=np.clip(farther, 0.0, 1.0),
    )


def _told_apart(
    data: Equivalence, asked: Bool[Array, " pairs"], family: Bool[Array, " pairs"]
) -> Bool[Array, " asked"]:
    """Tell which of the pairs asked for differ, among all pairs that are equivalent in the other data set.

    The false discovery rate is controlled within this family, not among all pairs: the many pairs that
    differ for good would allow some of these few to be called different by chance, and one is enough to
    call two data sets not aligned. Half the level is for each of the two ways to break alignment.
    """
    if data.exact:
        return data.relation[asked] == DIFFERENT
    p = data.pairs.p_equal[asked]
    return benjamini_hochberg(p, level=data.level / 2, tests=int(family.sum()))


def _judged(
    contrastive: Equivalence,
    downstream: Equivalence,
    *,
    only_contrastive: tuple[Any, ...],
    only_downstream: tuple[Any, ...],
) -> Alignment:
    pairs = _pairs(contrastive, downstream)
    kept, missed, confused = (
        int(part.sum()) for part in (pairs.kept, pairs.missed, pairs.confused)
    )
    total = len(pairs.first)
    undecided = total - kept - missed - confused
    verdict, reason = _verdict(total, kept, missed, confused, undecided)
    exact = contrastive.exact and downstream.exact
    return Alignment(
        verdict=verdict,
        reason=reason,
        score=float(1.0 - pairs.farther.mean()) if total else None,
        interval=None if exact else _jackknife(pairs, len(contrastive.symbols)),
        kept=kept,
        missed=missed,
        confused=confused,
        undecided=undecided,
        broken=_broken(pairs, contrastive.symbols),
        contrastive=contrastive,
        downstream=downstream,
        only_contrastive=only_contrastive,
        only_downstream=only_downstream,
    )


def _verdict(total: int, kept: int, missed: int, confused: int, undecided: int) -> tuple[str, str]:
    if missed or confused:
        return (
            "not aligned",
            f"of {total} pairs equivalent in either data set the contrastive data miss {missed} and confuse "
            f"{confused}",
        )
    if not total:
        return "undecided", "no two symbols are shown to be equivalent in either data set"
    if undecided:
        return (
            "undecided",
            f"{undecided} of {total} equivalent pairs are undecided in the other data set",
        )
    return "aligned", f"all {kept} equivalent pairs are equivalent in both data sets"


def _jackknife(pairs: _Pairs, symbols: int) -> tuple[float, float] | None:
    """Return the 95% interval of the score, leaving out one symbol with all its pairs at a time."""
    held = np.bincount(np.concatenate([pairs.first, pairs.second]), minlength=symbols)
    lost = np.bincount(
        np.concatenate([pairs.first, pairs.second]),
        weights=np.tile(1.0 - pairs.farther, 2),
        minlength=symbols,
    )
    rest = len(pairs.first) - held
    involved = held > 0
    if involved.sum() < 3 or (rest[involved] == 0).any():
        return None
    total = (1.0 - pairs.farther).sum()
    left_out = (total - lost[involved]) / rest[involved]
    count = len(left_out)
    error = np.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum())
    score = total / len(pairs.first)
    return max(0.0, float(score - 1.96 * error)), min(1.0, float(score + 1.96 * error))


def _broken(pairs: _Pairs, symbols: tuple[Any, ...]) -> tuple[BrokenSymbol, ...]:
    bad = pairs.missed | pairs.confused
    ends = np.concatenate([pairs.first, pairs.second])
    others = np.concatenate([pairs.second, pairs.first])
    count = {
        name: np.bincount(ends, weights=np.tile(part, 2), minlength=len(symbols)).astype(int)
        for name, part in (
            ("missed", pairs.missed),
            ("confused", pairs.confused),
            ("kept", pairs.kept),
        )
    }
    # The last write to a place wins: the worst pair, with distances in ascending order.
    rows = np.flatnonzero(np.tile(bad, 2))
    rows = rows[np.argsort(np.tile(pairs.farther, 2)[rows], kind="stable")]
    worst = np.full(len(symbols), -1)
    worst[ends[rows]] = rows
    found = [
        BrokenSymbol(
            symbol=symbols[row],
            missed=int(count["missed"][row]),
            confused=int(count["confused"][row]),
            kept=int(count["kept"][row]),
            example=symbols[others[worst[row]]],
            distance=float(np.tile(pairs.farther, 2)[worst[row]]),
        )
        for row in np.flatnonzero(worst >= 0)
    ]
    return tuple(sorted(found, key=lambda one: (-one.confused - one.missed, -one.distance)))
