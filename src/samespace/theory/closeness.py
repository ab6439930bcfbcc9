"""Everything the theory says of two models, from one pass over the logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from samespace.errors import DiversityError
from samespace.theory.diversity import Diversity
from samespace.theory.likelihood import LikelihoodGap
from samespace.theory.llv import LLV, d_llv
from samespace.theory.logit_distance import LogitDistance, logit_distance
from samespace.theory.model_pair import ModelPair
from samespace.theory.svd_distance import SVDDistance, d_svd
from samespace.theory.theorem2 import CloseToLinear, theorem2

if TYPE_CHECKING:
    from jaxtyping import Int
    from numpy import ndarray as Array

    Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Closeness:
    """Likelihoods, conditions, distances and error terms of one pair of models.

    Attributes
    ----------
    likelihoods
        Divergences, losses, log-normalisers.
    labels, inputs
        Diversity of the starred model: of its labels (g*) and of its inputs (f*).
    at_best, over_all
        Theorem 2 at the best-conditioned anchors, and over all labels and inputs; None where diversity fails.
    llv
        d_LLV at the best anchors.
    svd_f, svd_g
        d_SVD of the embeddings and of the unembeddings there.
    logits
        The logit distance.
    """

    likelihoods: LikelihoodGap
    labels: Diversity
    inputs: Diversity
    at_best: CloseToLinear | None
    over_all: CloseToLinear | None
    llv: LLV
    svd_f: SVDDistance
    svd_g: SVDDistance
    logits: LogitDistance

    def to_dict(self) -> dict[str, Any]:
        """All parts as JSON-able values; the log-normalisers, one number per input, are left out."""
        likelihoods = self.likelihoods.to_dict()
        del likelihoods["log_z"], likelihoods["log_z_star"]
        return {
            "likelihoods": likelihoods,
            "labels": self.labels.to_dict(),
            "inputs": self.inputs.to_dict(),
            "at_best": None if self.at_best is None else self.at_best.to_dict(),
            "over_all": None if self.over_all is None else self.over_all.to_dict(),
            "llv": self.llv.to_dict(),
            "svd_f": self.svd_f.to_dict(),
            "svd_g": self.svd_g.to_dict(),
            "logits": self.logits.to_dict(),
        }


def closeness(
    f: Any,
    g: Any = None,
    f_star: Any = None,
    g_star: Any = None,
    *,
    observed: Int[Array, " n"] | None = None,
    folds: int = 10,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Closeness:
    """Measure every distance of this room between two models, with one pass over their logits.

    Parameters
    ----------
    f, g, f_star, g_star
        Values of the two models on the same inputs and labels: anything the gate takes, read in blocks.
    observed
        The right label of every input, for the losses.
    folds, level
        Groups of inputs, and confidence, of the intervals.
    progress
        Called with (stage, inputs done, inputs) during the pass.

    Notes
    -----
    No one number decides. Equal losses mislead first (the divergence may be large), small divergences second
    (d_LLV may be large); only d_LLV bounds the dissimilarity of the representations.

    References
    ----------
    See the functions that it calls.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> f, g = rng.standard_normal((200, 2)), rng.standard_normal((5, 2))
    >>> found = closeness(f, g, f + 0.1 * rng.standard_normal(f.shape), g)
    >>> bool(found.svd_f.value <= found.llv.sharp_bound_f <= found.llv.bound_f)
    True
    """
    pair = ModelPair.of(f, g, f_star, g_star, observed=observed, folds=folds, progress=progress)
    return Closeness(
        likelihoods=pair.likelihoods,
        labels=pair.label_diversity,
        inputs=pair.input_diversity,
        at_best=_if_diverse(lambda: theorem2(pair, level=level)),
        over_all=_if_diverse(lambda: theorem2(pair, labels="all", inputs="all", level=level)),
        llv=d_llv(pair, level=level),
        svd_f=d_svd(pair, level=level),
        svd_g=d_svd(pair, of="g", level=level),
        logits=logit_distance(pair, level=level),
    )


def _if_diverse(make: Callable[[], CloseToLinear]) -> CloseToLinear | None:
    try:
        return make()
    except DiversityError:
        return None
