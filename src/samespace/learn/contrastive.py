"""Contrastive objectives: one loss per row, any similarity, any set S to choose the positive from.

Rows may carry a leading member axis; ``.mean(-1)`` of the result is then one loss per member.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import nn

from samespace.errors import OptionError, ShapeError
from samespace.learn.logsumexp import logsumexp_rows
from samespace.learn.similarity import DotProduct, PowerDistance, Similarity

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


def contrastive(
    anchors: Float[Tensor, "*k n d"],
    positives: Float[Tensor, "*k n d"] | Float[Tensor, "*k n p d"],
    negatives: Float[Tensor, "*k m d"] | Float[Tensor, "*k n m d"],
    *,
    similarity: Similarity | None = None,
    temperature: float | Tensor = 1.0,
    skip_own: bool = False,
    apart: bool = False,
) -> Float[Tensor, "*k n"]:
    """Return -log of the softmax weight of each row's positive among its negatives and itself.

    With s = similarity / temperature and S_i = negatives of row i and its P positives,

        loss_i = -(1/P) sum_p s(i, p) + log sum_{j in S_i} exp s(i, j).

    With the dot product and one positive this is L_contr (InfoNCE), with `PowerDistance(p)` it is
    L_delta-contr. Negatives shared by all rows (m, d), such as a sample of S, are never paired with
    them in memory; negatives of each row's own have the shape (n, m, d).

    Parameters
    ----------
    negatives
        The released program of Zimmermann et al. uses the batch's own anchors, so that every anchor
        meets itself once: give `anchors` for that.
    similarity
        `DotProduct()` (the default), `PowerDistance(p)`, or any function of two sets of rows.
    temperature
        A number, or a tensor of one per member, learnt or not (`Temperature`).
    skip_own
        Leave negative i out of row i: with the batch's own anchors, the anchor itself.
    apart
        Several positives of a row are as many pairs, each beside the negatives alone, whose losses are
        averaged. Its expectation is that of one positive, its noise is less.

    References
    ----------
    Zimmermann et al. (2021), Equations 1 and 6; van den Oord et al. (2018); Khosla et al. (2020),
    Equation 2, for several positives.

    Examples
    --------
    >>> import torch
    >>> a = torch.eye(3)
    >>> contrastive(a, a, a, skip_own=True).round(decimals=4)  # -1 + log(e + 2)
    tensor([0.5514, 0.5514, 0.5514])
    """
    similarity = similarity if similarity is not None else DotProduct()
    _check(anchors, positives, negatives, skip_own)
    scale = _temperature(temperature, anchors)
    if positives.ndim == anchors.ndim:
        positives = positives[..., None, :]
    aligned = _paired(anchors, positives, similarity) / scale[..., None, None]
    if negatives.ndim == anchors.ndim:
        among = logsumexp_rows(
            anchors, negatives, similarity=similarity, temperature=scale, skip_own=skip_own
        )
    else:
        among = (_paired(anchors, negatives, similarity) / scale[..., None, None]).logsumexp(-1)
    if apart:
        return (torch.logaddexp(among[..., None], aligned) - aligned).mean(-1)
    return torch.logaddexp(among, aligned.logsumexp(-1)) - aligned.mean(-1)


def in_batch(
    anchors: Float[Tensor, "*k n d"],
    positives: Float[Tensor, "*k n d"],
    *,
    similarity: Similarity | None = None,
    temperature: float | Tensor = 1.0,
    symmetric: bool = False,
) -> Float[Tensor, "*k n"]:
    """Return -log of the softmax weight of each row's positive among all positives of the batch.

        loss_i = -s(a_i, b_i) + log sum_j exp s(a_i, b_j),

    the set S of N-pair losses and two-tower models; `symmetric` averages it with the same from b to a.

    References
    ----------
    Sohn (2016); Radford et al. (2021) for the symmetric form.
    """
    if anchors.shape != positives.shape:
        raise ShapeError(
            f"In-batch negatives need one positive per anchor, of the same shape; got {tuple(anchors.shape)} "
            f"and {tuple(positives.shape)}."
        )
    similarity = similarity if similarity is not None else DotProduct()
    scale = _temperature(temperature, anchors)
    aligned = _paired(anchors, positives[..., None, :], similarity)[..., 0] / scale[..., None]
    among = logsumexp_rows(anchors, positives, similarity=similarity, temperature=scale)
    if not symmetric:
        return among - aligned
    flipped = logsumexp_rows(
        positives, anchors, similarity=_exchanged(similarity), temperature=scale
    )
    return 0.5 * (among + flipped) - aligned


def alignment(
    anchors: Float[Tensor, "*k n d"], positives: Float[Tensor, "*k n d"], *, power: float = 2.0
) -> Float[Tensor, "*k"]:
    """Return E |a - b|^power over positive pairs, 0 for pairs that coincide (Wang & Isola, 2020)."""
    return (anchors - positives).norm(dim=-1).pow(power).mean(-1)


def uniformity(rows: Float[Tensor, "*k n d"], *, t: float = 2.0) -> Float[Tensor, "*k"]:
    """Return log E exp(-t |a - a'|^2) over pairs of different rows, least for uniform rows on a sphere.

    Wang & Isola (2020). Memory is linear in the number of rows.
    """
    n = rows.shape[-2]
    if n < 2:
        raise ShapeError(
            f"Uniformity is over pairs of rows; got {n} row(s), at least 2 are needed."
        )
    each = logsumexp_rows(
        rows,
        rows,
        similarity=PowerDistance(2.0),
        temperature=_temperature(1.0 / t, rows),
        skip_own=True,
    )
    return each.logsumexp(-1) - math.log(n * (n - 1))


def limit(
    anchors: Float[Tensor, "*k n d"],
    positives: Float[Tensor, "*k n d"],
    negatives: Float[Tensor, "*k m d"],
    *,
    similarity: Similarity | None = None,
    temperature: float | Tensor = 1.0,
) -> tuple[Float[Tensor, "*k"], Float[Tensor, "*k"]]:
    """Return (L_align, L_uni), whose sum L_contr - log M tends to as the number of negatives M grows.

    L_align = -E s(a, b) over positive pairs, L_uni = E log E exp s(a, a') with the inner mean over
    `negatives`, which should be many and drawn apart from the anchors.

    References
    ----------
    Wang & Isola (2020); Zimmermann et al. (2021), Proposition A and Equation 12.
    """
    similarity = similarity if similarity is not None else DotProduct()
    scale = _temperature(temperature, anchors)
    aligned = _paired(anchors, positives[..., None, :], similarity)[..., 0] / scale[..., None]
    among = logsumexp_rows(anchors, negatives, similarity=similarity, temperature=scale)
    return -aligned.mean(-1), among.mean(-1) - math.log(negatives.shape[-2])


class Temperature(nn.Module):
    """A positive temperature per member, learnt through its logarithm."""

    def __init__(self, members: int, *, start: float = 1.0) -> None:
        super().__init__()
        if start <= 0:
            raise OptionError(f"A temperature is positive; got start={start}.")
        self.log = nn.Parameter(torch.full((members,), math.log(start)))

    def forward(self) -> Float[Tensor, " k"]:
        return self.log.exp()


def _paired(anchors: Tensor, others: Tensor, similarity: Similarity) -> Float[Tensor, "*k n m"]:
    """Return the similarity of each row to others of its own, (..., n, m, d)."""
    return similarity(anchors[..., None, :], others)[..., 0, :]


def _exchanged(similarity: Similarity) -> Similarity:
    """Return the similarity with its arguments exchanged; the built-in ones are symmetric."""
    if isinstance(similarity, DotProduct | PowerDistance):
        return similarity
    return lambda b, a: similarity(a, b).mT


def _temperature(temperature: float | Tensor, like: Tensor) -> Float[Tensor, "*k"]:
    members = like.shape[:-2]
    scale = (
        temperature.to(like)
        if isinstance(temperature, torch.Tensor)
        # Filled where it is needed: a copy from the host would end the capture of a CUDA graph.
        else torch.full((), temperature, dtype=like.dtype, device=like.device)
    )
    if scale.ndim and scale.shape != members:
        raise ShapeError(
            f"A temperature is one number, or one per member {tuple(members)}; got {tuple(scale.shape)}."
        )
    if not isinstance(temperature, torch.Tensor) and temperature <= 0:
        raise OptionError(f"A temperature is positive; got {temperature}.")
    return scale.expand(members)


def _check(anchors: Tensor, positives: Tensor, negatives: Tensor, skip_own: bool) -> None:
    n, ndim = anchors.shape[-2], anchors.ndim
    matching = positives.ndim in (ndim, ndim + 1) and negatives.ndim in (ndim, ndim + 1)
    if not matching or positives.shape[: ndim - 1] != anchors.shape[:-1]:
        raise ShapeError(
            "Anchors (n, d) go with positives (n, d) or (n, p, d) and negatives (m, d) or (n, m, d), all "
            f"with the same leading member axis; got {tuple(anchors.shape)}, {tuple(positives.shape)} and "
            f"{tuple(negatives.shape)}."
        )
    if skip_own and (n < 2 or negatives.ndim != ndim or negatives.shape[-2] != n):
        raise ShapeError(
            "skip_own leaves negative i out of row i, so there must be as many shared negatives as rows, "
            f"at least 2; got {n} rows and negatives of shape {tuple(negatives.shape)}."
        )
