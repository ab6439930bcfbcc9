r"""Log-normalisers and divergences of models with many labels, in blocks: never n x K numbers at once.

:math:`\log Z(x) = \log \sum_y \exp f(x)'g(y)` needs every logit, so this pass *is* the cost of the logits'
matrix product; everything else in this room is a function of it and of matrices of the model's width.
Blocks are multiplied where the arrays live and in their own precision; sums are kept in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import ShapeError
from samespace.inference import t_quantile
from samespace.measures.result import Result
from samespace.representation import Representation
from samespace.sources.memory import lies_on_gpu
from samespace.theory.place import device_of, namespace

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

    Progress = Callable[[str, int, int], None]

_ROWS, _LABELS = 1024, 2048
"""A block of logits: 16 MB of float64, small beside the caches' misses that a larger one would cause."""

_ROWS_ON_GPU, _LABELS_ON_GPU = 8192, 8192
"""On a GPU a block of half a gigabyte: its launches then cost little beside its arithmetic."""

_HELD_VALUES = 1 << 26
"""Values of f kept in memory while all labels pass by: 512 MB of float64."""


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodGap(Result):
    r"""How far two models' conditional distributions are apart.

    Attributes
    ----------
    kl, low, high
        :math:`E_x KL(p(\cdot|x) \| p^*(\cdot|x))` in nats, and its interval over inputs.
    kl_reverse
        The same from p* to p.
    loss, loss_star
        Mean negative log-likelihood of the observed labels; None when they were not given.
    largest_gap
        Largest :math:`|\log p(y|x) - \log p^*(y|x)|` at the observed labels; None without them.
    log_z, log_z_star
        Log-normalisers of every input.
    """

    kl: float
    low: float
    high: float
    kl_reverse: float
    loss: float | None
    loss_star: float | None
    largest_gap: float | None
    log_z: Float[Array, " n"]
    log_z_star: Float[Array, " n"]


def log_normalisers(f: Any, g: Any, *, progress: Progress | None = None) -> Float[Array, " n"]:
    r"""Return :math:`\log Z(x)` of every input, reading the labels block by block.

    Parameters
    ----------
    f, g
        Rows of inputs and rows of labels: anything the gate takes. g is read once per 512 MB of f.
    progress
        Called with (stage, inputs done, inputs).

    Notes
    -----
    float32 rows are multiplied in float32: the result then errs by about 1e-7 times the largest logit.

    Examples
    --------
    >>> import numpy as np
    >>> log_normalisers(np.zeros((2, 3)), np.ones((10, 3))).round(4)
    array([2.3026, 2.3026])
    """
    blocks = _passes((f, g), stage="normalising", progress=progress)
    return np.concatenate([block.log_z for block in blocks])


def likelihood_gap(
    f: Any,
    g: Any,
    f_star: Any,
    g_star: Any,
    *,
    observed: Int[Array, " n"] | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
) -> LikelihoodGap:
    r"""Measure how far two models' distributions are apart, in one pass over inputs and labels.

    Depends on the distributions alone: invariant to :math:`f \to Af,\ g \to A^{-\top}g + b` of either model.

    Parameters
    ----------
    f, g, f_star, g_star
        Values of the two models on the same inputs and labels.
    observed
        The right label of every input, for the losses.
    level
        Confidence of the divergence's interval (normal, over inputs).
    progress
        Called with (stage, inputs done, inputs).

    Notes
    -----
    It misleads when read as closeness of representations: the divergence may vanish while these stay apart
    (Nielsen et al. 2025, Theorem 3.1; `samespace.worlds.nielsen.close_distributions_pair`), since it hardly
    counts what improbable labels do. `samespace.theory.d_llv` counts it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((100, 2)), rng.standard_normal((5, 2))
    >>> A = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> bool(likelihood_gap(f, g, f @ A, g @ np.linalg.inv(A).T).kl < 1e-12)
    True
    """
    blocks = _passes((f, g), (f_star, g_star), stage="comparing", progress=progress)
    parts = [(block.log_z, block.log_z_star, block.kl, block.kl_reverse) for block in blocks]
    log_z, log_z_star, kl, reverse = (np.concatenate(part) for part in zip(*parts, strict=True))
    half = t_quantile(level, max(len(kl) - 1, 1)) * float(np.std(kl)) / np.sqrt(len(kl))
    loss, loss_star, largest = _losses((f, g, log_z), (f_star, g_star, log_z_star), observed)
    mean = float(kl.mean())
    return LikelihoodGap(
        kl=mean,
        low=max(mean - half, 0.0),
        high=mean + half,
        kl_reverse=float(reverse.mean()),
        loss=loss,
        loss_star=loss_star,
        largest_gap=largest,
        log_z=log_z,
        log_z_star=log_z_star,
    )


class _Softmax:
    """Running sum of exponentials of rows of logits, relative to the running maximum, where they lie."""

    def __init__(self, like: Any, xp: Any) -> None:
        zeros = xp.zeros(like.shape[0], dtype=xp.float64, device=device_of(like))
        self.top, self.total, self.weighted = zeros - xp.inf, zeros, zeros

    def add(self, logits: Any, gap: Any, xp: Any) -> None:
        """Take in a block, and spend it; `gap`, to the other model's logits, is averaged under them."""
        here = xp.max(logits, axis=1)
        top = xp.maximum(self.top, xp.astype(here, xp.float64))
        logits -= xp.astype(top, logits.dtype)[:, None]
        weights = xp.exp(logits)
        before = xp.exp(self.top - top)
        self.total = self.total * before + xp.astype(xp.sum(weights, axis=1), xp.float64)
        if gap is not None:
            gaps = xp.astype(xp.linalg.vecdot(weights, gap), xp.float64)
            self.weighted = self.weighted * before + gaps
        self.top = top

    @property
    def log_z(self) -> Float[Array, " n"]:
        return to_host(self.top) + np.log(to_host(self.total))

    @property
    def mean_gap(self) -> Float[Array, " n"]:
        return to_host(self.weighted / self.total)


@dataclass(frozen=True, eq=False)
class _Block:
    """What is known of some inputs once all labels have passed by; one model is compared with itself."""

    log_z: Float[Array, " n"]
    log_z_star: Float[Array, " n"]
    kl: Float[Array, " n"]
    kl_reverse: Float[Array, " n"]


def _passes(*models: tuple[Any, Any], stage: str, progress: Progress | None) -> Iterator[_Block]:
    """Hold blocks of f, let all of g pass by, and give what came of it."""
    fs = [Representation.of(f) for f, _ in models]
    gs = [Representation.of(g) for _, g in models]
    _check(fs, gs)
    held, done = max(1, _HELD_VALUES // max(f.d for f in fs)), 0
    for blocks in zip(*(f.batches(held) for f in fs), strict=True):
        yield _pass_labels([_wide(block) for block in blocks], gs)
        done += int(blocks[0].shape[0])
        if progress is not None:
            progress(stage, done, fs[0].n)


def _pass_labels(fs: list[Any], gs: list[Representation]) -> _Block:
    xp = namespace(*fs)
    on_gpu = all(lies_on_gpu(f) for f in fs)
    rows, count = (_ROWS_ON_GPU, _LABELS_ON_GPU) if on_gpu else (_ROWS, _LABELS)
    pieces = [slice(s, s + rows) for s in range(0, int(fs[0].shape[0]), rows)]
    sums = [[_Softmax(f[piece], xp) for f in fs] for piece in pieces]
    for labels in zip(*(g.batches(count) for g in gs), strict=True):
        columns = [_wide(rows).T for rows in labels]
        for piece, models in zip(pieces, sums, strict=True):
            logits = [f[piece] @ column for f, column in zip(fs, columns, strict=True)]
            gap = logits[0] - logits[1] if len(fs) == 2 else None
            for model, own in zip(models, logits, strict=True):
                model.add(own, gap, xp)
    own, star = ([models[i] for models in sums] for i in (0, -1))
    log_z, log_z_star = (np.concatenate([s.log_z for s in model]) for model in (own, star))
    gap_own, gap_star = (np.concatenate([s.mean_gap for s in model]) for model in (own, star))
    return _Block(log_z, log_z_star, gap_own - log_z + log_z_star, log_z - log_z_star - gap_star)


def _losses(
    model: tuple[Any, Any, Array], star: tuple[Any, Any, Array], observed: Int[Array, " n"] | None
) -> tuple[float | None, float | None, float | None]:
    if observed is None:
        return None, None, None
    own, other = (at_labels(f, g, observed) - log_z for f, g, log_z in (model, star))
    return -float(own.mean()), -float(other.mean()), float(np.max(np.abs(own - other)))


def at_labels(f: Any, g: Any, observed: Int[Array, " n"]) -> Float[Array, " n"]:
    """Logits f(x)'g(y) of one label per input."""
    source, start, parts = Representation.of(f), 0, []
    G = np.asarray(to_host(Representation.of(g).to_array()), dtype=np.float64)
    if np.shape(observed) != (source.n,):
        raise ShapeError(
            f"observed must hold one label number per input, shape ({source.n},); got {np.shape(observed)}."
        )
    for rows in source.batches(_ROWS):
        here = observed[start : start + len(rows)]
        parts.append(np.einsum("ij,ij->i", np.asarray(to_host(rows), dtype=np.float64), G[here]))
        start += len(rows)
    return np.concatenate(parts)


def _check(fs: list[Representation], gs: list[Representation]) -> None:
    for f, g in zip(fs, gs, strict=True):
        if f.d != g.d:
            raise ShapeError(
                f"f and g of one model must have the same width M; got f (n, {f.d}) and g (K, {g.d})."
            )
    if len({f.n for f in fs}) > 1 or len({g.n for g in gs}) > 1:
        counts = [(f.n, g.n) for f, g in zip(fs, gs, strict=True)]
        raise ShapeError(
            f"both models need the same inputs and the same labels; got (inputs, labels) {counts}."
        )


def _wide(block: Any) -> Any:
    """At least single precision: half types lose whole nats in a logit."""
    if str(block.dtype).rpartition(".")[2] not in ("float16", "bfloat16"):
        return block
    xp = namespace(block)
    return xp.astype(block, xp.float32)
