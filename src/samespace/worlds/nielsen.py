"""Pairs of models that agree on the labels and not on the representations, written down by hand.

Both are models of the canonical family p(y|x) = exp f(x)'g(y) / sum over y', known by their values on
a sample: the embeddings f are turned away from the unembedding g of their label by a small angle, and
long unembeddings make the label as probable as one likes, whatever the angles *between* labels are.
Only NumPy is needed.

References
----------
.. [1] Nielsen, Gresele, Dittadi, "Challenges in Explaining Representational Similarity through
   Identifiability", 2024, Section 4 and Appendix D: `close_losses_pair`.
.. [2] Nielsen, Marconato, Dittadi, Gresele, "When Does Closeness in Distribution Imply
   Representational Similarity?", 2025, Table 1: `close_distributions_pair`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array

PRIME_ANGLES = (0.0, np.pi / 16, 2 * np.pi / 16, 3 * np.pi / 16)
STAR_ANGLES = (0.0, 2 * np.pi / 6, np.pi, 3 * np.pi / 2)
PERMUTATION = (5, 0, 2, 4, 6, 1, 3)


@dataclass(frozen=True)
class TabulatedModel:
    """A model of the canonical family, known by its values f (n, M) on inputs and g (K, M) on labels."""

    f: Float[Array, "n m"]
    g: Float[Array, "k m"]

    def log_prob(self) -> Float[Array, "n k"]:
        """Return log p(y|x) for every input and every label."""
        logits = self.f @ self.g.T
        logits -= logits.max(axis=1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class TabulatedPair:
    """Two models on the same inputs and labels, and the right label of every input.

    `prime` is the paper's theta', `star` its theta*: the theorems write star's representations as a
    map of prime's.
    """

    prime: TabulatedModel
    star: TabulatedModel
    labels: Int[Array, " n"]


def close_losses_pair(
    rng: np.random.Generator,
    *,
    per_label: int = 1000,
    prime_length: float = 1100.0,
    star_length: float = 100.0,
    prime_angles: Sequence[float] = PRIME_ANGLES,
    star_angles: Sequence[float] = STAR_ANGLES,
) -> TabulatedPair:
    """Two models whose losses are both below 1e-8 and whose representations are far apart.

    Four labels in two dimensions. The prime unembeddings stand pi/16 apart and are 1100 long, the star
    ones spread over the circle and are 100 long. An input of label i has an angle u to g'(y_i) with u
    uniform in [-pi/128, pi/128], the angle 16 u to g*(y_i), and the length 1 + |z| in both models, with
    z standard normal.

    Parameters
    ----------
    rng
        The source of the angles and the lengths.
    per_label
        Inputs drawn for each of the four labels.
    prime_length, star_length
        Lengths of the unembeddings.
    prime_angles, star_angles
        Directions of the unembeddings, in radians from (1, 0).

    References
    ----------
    Nielsen et al. 2024, Section 4, Appendix D and E.

    Examples
    --------
    >>> import numpy as np
    >>> pair = close_losses_pair(np.random.default_rng(0))
    >>> right = np.arange(4000), pair.labels
    >>> bool(-pair.prime.log_prob()[right].mean() < 1e-8)
    True
    >>> bool(-pair.star.log_prob()[right].mean() < 1e-8)
    True
    """
    _check_count(per_label)
    offsets = rng.uniform(-np.pi / 128, np.pi / 128, (len(prime_angles), per_label))
    lengths = 1.0 + np.abs(rng.standard_normal(offsets.shape))
    return TabulatedPair(
        prime=_fan(prime_angles, prime_length, offsets, lengths),
        star=_fan(star_angles, star_length, 16 * offsets, lengths),
        labels=np.repeat(np.arange(len(prime_angles)), per_label),
    )


def close_distributions_pair(
    rng: np.random.Generator,
    *,
    length: float = 20.0,
    per_label: int = 500,
    permutation: Sequence[int] = PERMUTATION,
) -> TabulatedPair:
    """Two models whose Kullback-Leibler divergence vanishes as `length` grows, and nothing else does.

    Seven labels evenly spaced on a circle of radius `length`; the star model gives them the same places
    in another order. An input has an angle uniform in [-pi/64, pi/64] to its label's unembedding, and
    the length 2 + |z/100|. Each model puts nearly all its probability on the right label, so the
    divergence goes to 0; which labels come second, third, ... is the permutation's, so log-likelihoods
    stay apart, and so do representations.

    Parameters
    ----------
    rng
        The source of the angles and the lengths.
    length
        Length of every unembedding of both models.
    per_label
        Inputs drawn for each label.
    permutation
        The star model's label i stands where the prime model's label permutation[i] stands.

    Notes
    -----
    As in the authors' program, the star embeddings take the offsets of the class whose place they take;
    the lengths stay with the input.

    References
    ----------
    Nielsen et al. 2025, Theorem 3.1 and Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> pair = close_distributions_pair(np.random.default_rng(0))
    >>> p, q = pair.prime.log_prob(), pair.star.log_prob()
    >>> bool((np.exp(p) * (p - q)).sum(axis=1).mean() < 1e-4)
    True
    """
    _check_count(per_label)
    order = np.asarray(permutation)
    if sorted(order.tolist()) != list(range(len(order))):
        raise OptionError(
            f"permutation must hold each of 0..{len(order) - 1} once; got {list(permutation)}."
        )
    angles = 2 * np.pi * np.arange(len(order)) / len(order)
    offsets = rng.uniform(-np.pi / 64, np.pi / 64, (len(order), per_label))
    lengths = 2.0 + np.abs(0.01 * rng.standard_normal(offsets.shape))
    return TabulatedPair(
        prime=_fan(angles, length, offsets, lengths),
        star=_fan(angles[order], length, offsets[order], lengths),
        labels=np.repeat(np.arange(len(order)), per_label),
    )


def _fan(
    angles: Sequence[float] | Float[Array, " k"],
    length: float,
    offsets: Float[Array, "k per_label"],
    lengths: Float[Array, "k per_label"],
) -> TabulatedModel:
    """Place unembeddings at `angles` and, around each, its inputs at `offsets` and `lengths`."""
    directions = np.asarray(angles)[:, None]
    return TabulatedModel(
        f=_points(directions + offsets, lengths).reshape(-1, 2),
        g=_points(directions, np.full_like(directions, length)).reshape(-1, 2),
    )


def _points(
    angle: Float[Array, "k per_label"], radius: Float[Array, "k per_label"]
) -> Float[Array, "k per_label 2"]:
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=-1)


def _check_count(per_label: int) -> None:
    if per_label < 1:
        raise OptionError(f"per_label must be at least 1; got {per_label}.")
