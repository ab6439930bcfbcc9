r"""d_LLV, the log-likelihood variance distance: closeness of distributions that representations must follow.

All log-probabilities of a model are linear in the rows (f, log Z), so with R the triangle of the joint rows
(f, log Z, f*, log Z*) the standard deviation over inputs of any combination of both models' log-probabilities
is the length of R v: every label of a large vocabulary costs one small product, and nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import DegenerateError, OptionError
from samespace.measures.result import Result
from samespace.theory.jackknife import jackknife
from samespace.theory.model_pair import ModelPair
from samespace.theory.place import namespace
from samespace.theory.scaled_gaps import scaled_gaps
from samespace.theory.tables import projected, table
from samespace.theory.triangle import block_rows, take

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class LLV(Result):
    """The distance, its four terms, and what it bounds.

    Attributes
    ----------
    value, low, high
        The largest of t1, t2, weight t3, weight t4; and its interval over groups of inputs.
    t1, t2
        Largest disagreement of scaled log-likelihoods over inputs (t1) and over labels (t2).
    t3, t4
        Largest difference of the scales s_i.
    weight
        What t3 and t4 are multiplied by.
    labels, inputs
        The anchors maximised over: row numbers, the pivot first; labels None for all of them.
    worst_label
        The label at which t1 is reached, against the pivot.
    log_odds_gap_f, log_odds_gap_g
        Largest sd of the difference of *scaled log-odds*, which no normaliser enters; at most 2 t1 and 2 t2.
    """

    value: float
    low: float | None
    high: float | None
    t1: float
    t2: float
    t3: float
    t4: float
    weight: float
    pivot_label: int
    worst_label: int
    labels: Int[Array, " r"] | None
    inputs: Int[Array, " q"]
    log_odds_gap_f: float
    log_odds_gap_g: float

    @property
    def bound_f(self) -> float:
        """No d_SVD of the embeddings at these labels exceeds 2 t1^2."""
        return 2.0 * self.t1**2

    @property
    def bound_g(self) -> float:
        """No d_SVD of the unembeddings at these inputs exceeds 2 t2^2."""
        return 2.0 * self.t2**2

    @property
    def sharp_bound_f(self) -> float:
        """Nor does it exceed half the squared gap of the log-odds, which is smaller still."""
        return 0.5 * self.log_odds_gap_f**2

    @property
    def sharp_bound_g(self) -> float:
        """The same for the unembeddings."""
        return 0.5 * self.log_odds_gap_g**2


def d_llv(
    f: Any,
    g: Any = None,
    f_star: Any = None,
    g_star: Any = None,
    *,
    labels: Int[Array, " r"] | Literal["all"] | None = None,
    inputs: Int[Array, " q"] | None = None,
    weight: float = 1e-5,
    level: float = 0.95,
) -> LLV:
    r"""Measure how far two models' log-likelihoods are from equal up to scale, over the anchors.

    With :math:`s_i = sd_x[\log p(y_i|x) - \log p(y_0|x)]`, d_LLV is the largest of

    .. math:: T_1 = \max_{i,\, y \in \{y_i, y_0\}}
              sd_x\Big[\frac{\log p(y|x)}{s_i} - \frac{\log p^*(y|x)}{s^*_i}\Big],
              \qquad \lambda T_3 = \lambda \max_i |s_i - s^*_i|,

    and of T_2 and lambda T_4, the same with inputs and labels exchanged. All standard deviations are those of
    the sample itself (over n, not n - 1), so that the bounds hold on it exactly.

    Depends on the distributions alone: invariant to :math:`f \to Af,\ g \to A^{-\top}g + b` of either model.

    Parameters
    ----------
    f, g, f_star, g_star
        Values of the two models on the same inputs and labels, or a `ModelPair` in place of all four.
    labels, inputs
        Anchors, the pivot first. None: the choice that conditions the starred differences best, M + 1 of
        them (fewer where diversity fails). ``labels="all"``: that choice's pivot against every label.
    weight
        The papers' lambda.
    level
        Confidence of the interval: a jackknife over the pair's groups of inputs, at the worst label.

    Notes
    -----
    :math:`d_{SVD} \le 2 d_{LLV}^2` (the authors prove :math:`2 M d_{LLV}`), and half the squared gap of the
    scaled log-odds bounds it without any normaliser; the documentation proves both. The authors' program
    takes, of all pivots and of all sets that leave one label out, those that make T_1 least: see
    `pairwise_gaps`.

    It misleads when classes are well separated: log-likelihoods of improbable labels are then large, hardly
    constrained by training, and dominate.

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
    >>> bool(d_llv(f, g, f @ A, g @ np.linalg.inv(A).T).t1 < 1e-12)
    True
    """
    pair = ModelPair.of(f, g, f_star, g_star)
    if isinstance(labels, str) and labels != "all":
        raise OptionError(f"labels={labels!r}; write 'all', row numbers, or leave it out.")
    at_inputs = pair.input_diversity.chosen if inputs is None else np.asarray(inputs)
    at_labels = pair.label_diversity.chosen if isinstance(labels, str) or labels is None else labels
    over_inputs = _over_inputs(pair, np.asarray(at_labels), all_labels=isinstance(labels, str))
    over_labels = _over_labels(pair, at_inputs)
    t1, t2 = over_inputs.gap, over_labels.gap
    rest = max(t2, weight * over_inputs.scale_gap, weight * over_labels.scale_gap)
    pivot, worst = int(at_labels[0]), over_inputs.worst
    low, high = _interval(pair, np.array([pivot, worst]), t1, rest, level=level)
    return LLV(
        value=max(t1, rest),
        low=low,
        high=high,
        t1=t1,
        t2=t2,
        t3=over_inputs.scale_gap,
        t4=over_labels.scale_gap,
        weight=weight,
        pivot_label=pivot,
        worst_label=worst,
        labels=None if isinstance(labels, str) else np.asarray(at_labels),
        inputs=at_inputs,
        log_odds_gap_f=over_inputs.log_odds_gap,
        log_odds_gap_g=over_labels.log_odds_gap,
    )


def pairwise_gaps(
    f: Any, g: Any = None, f_star: Any = None, g_star: Any = None
) -> Float[Array, "k k"]:
    r"""Return T_1's term for every pivot (row) and every label (column); the diagonal is NaN.

    T_1 of any set of labels is a maximum of these, so all sets are judged at once: the largest entry is the
    worst of all sets, the M-th smallest of a row the best set of M labels with that pivot.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((100, 2)), rng.standard_normal((4, 2))
    >>> gaps = pairwise_gaps(f, g, f**3, g)
    >>> bool(np.isclose(gaps[0, 1:].max(), d_llv(f, g, f**3, g, labels=np.arange(4)).t1))
    True
    """
    pair = ModelPair.of(f, g, f_star, g_star)
    root, root_star = _roots(pair)
    root, root_star = (to_host(columns) for columns in (root, root_star))
    own, own_star = (_with_one(table(rows)) for rows in (pair.g, pair.g_star))
    gaps = np.full((pair.g.n, pair.g.n), np.nan)
    for pivot in range(pair.g.n):
        others = np.delete(np.arange(pair.g.n), pivot)
        anchors, anchors_star = (
            (rows[others], rows[pivot : pivot + 1]) for rows in (own, own_star)
        )
        gaps[pivot, others] = scaled_gaps(root, root_star, anchors, anchors_star)[0]
    return gaps


@dataclass(frozen=True)
class _Terms:
    """Maxima over the anchors of one side, and where the first is reached."""

    gap: float
    worst: int
    scale_gap: float
    log_odds_gap: float

    @classmethod
    def of(
        cls, gaps: Array, scale_gaps: Array, log_odds_gaps: Array, index: Int[Array, " r"]
    ) -> _Terms:
        gaps, scale_gaps, log_odds_gaps = map(to_host, (gaps, scale_gaps, log_odds_gaps))
        worst = int(gaps.argmax())
        return cls(
            float(gaps[worst]),
            int(index[worst]),
            float(scale_gaps.max()),
            float(log_odds_gaps.max()),
        )

    def __or__(self, other: _Terms) -> _Terms:
        first = self if self.gap >= other.gap else other
        return _Terms(
            first.gap,
            first.worst,
            max(self.scale_gap, other.scale_gap),
            max(self.log_odds_gap, other.log_odds_gap),
        )


def _over_inputs(pair: ModelPair, at: Int[Array, " r"], *, all_labels: bool) -> _Terms:
    root, root_star = _roots(pair)
    pivot, pivot_star = (_with_one(take(g, at[:1])) for g in (pair.g, pair.g_star))
    index = np.delete(np.arange(pair.g.n), at[0]) if all_labels else at[1:]
    found, step = None, block_rows(pair.g.d + pair.g_star.d, on_gpu=pair.g.source.on_gpu)
    for start in range(0, len(index), step):
        here = index[start : start + step]
        own, own_star = (_with_one(take(g, here)) for g in (pair.g, pair.g_star))
        gaps = scaled_gaps(root, root_star, (own, pivot), (own_star, pivot_star))
        terms = _Terms.of(*gaps, here)
        found = terms if found is None else found | terms
    if found is None:
        raise DegenerateError("d_LLV needs a pivot and at least one other label; got one label.")
    return found


def _roots(pair: ModelPair) -> tuple[Array, Array]:
    """Return the two models' columns of the joint triangle, so that |root (g, -1)| is a sd of log p."""
    joint = pair.joint_normalised_inputs
    root, width = joint.centred / joint.n**0.5, joint.widths[0]
    concat = namespace(root).concat
    return (
        concat([root[:, width:-2], root[:, -1:]], axis=1),
        concat([root[:, :width], root[:, -2:-1]], axis=1),
    )


def _with_one(g: Float[Array, "r m"]) -> Float[Array, "r m+1"]:
    """Coefficients of log p(y|x) = f(x)'g(y) - log Z(x) in the row (f, log Z)."""
    xp = namespace(g)
    return xp.concat([g, -xp.ones_like(g[:, :1])], axis=1)


def _over_labels(pair: ModelPair, at: Int[Array, " q"]) -> _Terms:
    """Like `_over_inputs`, with the log-normaliser left out: it is constant over labels."""
    root, width = pair.joint_labels.centred / pair.g.n**0.5, pair.g_star.d
    rows, rows_star = take(pair.f, at), take(pair.f_star, at)
    anchors, anchors_star = (rows[1:, :], rows[:1, :]), (rows_star[1:, :], rows_star[:1, :])
    gaps = scaled_gaps(root[:, width:], root[:, :width], anchors, anchors_star)
    return _Terms.of(*gaps, at[1:])


def _interval(
    pair: ModelPair, labels: Int[Array, " 2"], t1: float, rest: float, *, level: float
) -> tuple[float | None, float | None]:
    """Jackknife of T_1 at the worst label, the other terms held as they are."""
    gap = pair.likelihoods
    own = _log_prob(pair.f, take(pair.g, labels), gap.log_z)
    star = _log_prob(pair.f_star, take(pair.g_star, labels), gap.log_z_star)
    fold = pair.group

    def without(k: int) -> float:
        kept, kept_star = own[fold != k], star[fold != k]
        scale, scale_star = (np.std(p[:, 1] - p[:, 0]) for p in (kept, kept_star))
        return max(float(np.std(kept / scale - kept_star / scale_star, axis=0).max()), rest)

    return jackknife(max(t1, rest), without, pair.groups.tolist(), level=level)


def _log_prob(f: Any, g: Float[Array, "2 m"], log_z: Float[Array, " n"]) -> Float[Array, "n 2"]:
    return projected(f, g.T) - log_z[:, None]
