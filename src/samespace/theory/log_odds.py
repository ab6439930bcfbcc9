"""Correlations of two models' log-odds at given anchors: over all rows, and outside each group of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.accumulate import to_host
from samespace.errors import DegenerateError
from samespace.theory.place import beside, chosen_rows, namespace

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.theory.model_pair import ModelPair
    from samespace.theory.second_moments import SecondMoments


def correlations(
    seconds: SecondMoments, D: Float[Array, "r p"], D_star: Float[Array, "r m"]
) -> tuple[Float[Array, "r r"], Float[Array, "r r"]]:
    """Return the correlations of log-odds between the models, and within the first."""
    if not len(D):
        raise DegenerateError(
            "d_SVD needs a pivot and at least one other anchor; got the pivot alone."
        )
    xp = namespace(D)
    own, star = D @ seconds.own @ D.T, xp.linalg.vecdot(D_star @ seconds.star, D_star)
    sd, sd_star = _standard_deviations(xp.linalg.diagonal(own)), _standard_deviations(star)
    cross = D @ seconds.cross @ D_star.T
    return cross / sd[:, None] / sd_star, own / sd[:, None] / sd


def aligned_outside_groups(
    pair: ModelPair,
    D: Float[Array, "r p"],
    D_star: Float[Array, "r m"],
    rotation: Float[Array, "r r"],
) -> Float[Array, " k"]:
    """Return tr(Q'C), C the correlations of log-odds outside each group; nothing for a single group."""
    if len(pair.groups) < 2:
        return np.zeros(0)
    sums = _group_sums(pair, D, D_star)
    n, odds, odds_star, odds2, odds2_star, cross = (total.sum(0) - total for total in sums)
    mean, mean_star = odds / n, odds_star / n
    sd, sd_star = (
        _standard_deviations(squares / n - m**2)
        for squares, m in ((odds2, mean), (odds2_star, mean_star))
    )
    covariance = cross / n[:, :, None] - mean[:, :, None] * mean_star[:, None, :]
    along = namespace(rotation).linalg.vecdot(rotation * covariance, 1.0 / sd_star[:, None, :])
    return to_host((along / sd).sum(1))


def _group_sums(pair: ModelPair, D: Float[Array, "r p"], D_star: Float[Array, "r m"]) -> list[Any]:
    """Of every group: inputs, sums of both models' log-odds about their means, of squares, of products."""
    sums: list[Any] = [0.0] * 6
    for rows, rows_star, here in pair.paired_blocks():
        odds = (rows - pair.second_f.mean) @ D.T
        odds_star = (rows_star - pair.second_f.mean_star) @ D_star.T
        member = pair.groups[:, None] == pair.group[here]
        of_group = beside(odds, member.astype(np.float64))
        xp = namespace(odds)
        cross = xp.stack(
            [
                chosen_rows(odds, at).T @ chosen_rows(odds_star, at)
                for at in map(np.flatnonzero, member)
            ]
        )
        block = (
            xp.sum(of_group, axis=1, keepdims=True),
            *(of_group @ columns for columns in (odds, odds_star, odds**2, odds_star**2)),
            cross,
        )
        sums = [total + part for total, part in zip(sums, block, strict=True)]
    return sums


def _standard_deviations(variances: Float[Array, "*k r"]) -> Float[Array, "*k r"]:
    if not (variances > 0).all():
        raise DegenerateError(
            "The log-odds of an anchor against the pivot are constant in one of the models, so they "
            "cannot be standardised. Pass anchors with different vectors."
        )
    return namespace(variances).sqrt(variances)
