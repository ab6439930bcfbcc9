"""Modular addition: a task whose semantic equivalences are known, and a contrastive data set for it.

``ModAdd`` asks for ``y = (a + b) mod k``; two addends are semantically equivalent exactly when they agree
modulo ``k``. ``CModAdd`` shows ``a, b, c = (a + b) mod k`` with one addend masked; two addends are
conditionally equivalent exactly when they agree modulo ``k``. So the two are distributionally aligned, and
both are small enough to be written down whole: every sample with its probability.

References
----------
"Contrastive learners are semantic learners" (anonymous, under review), section 5 and appendix A.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from samespace.errors import OptionError

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


@dataclass(frozen=True, kw_only=True)
class Triplets:
    """A finite distribution written down whole: symbol, context, label, and how probable each sample is.

    Attributes
    ----------
    symbol
        The addend taken out of the sample.
    context
        What is left, as the tokens of a sequence in which the mask stands where the symbol was.
    label
        The label where the world has one, else None.
    probability
        Sums to one.
    """

    symbol: Int[Array, " samples"]
    context: Int[Array, "samples length"]
    label: Int[Array, " samples"] | None
    probability: Float[Array, " samples"]

    def columns(self) -> dict[str, Array]:
        """Return the samples as columns, each context as one string, as a Parquet file would hold them."""
        words = [" ".join(map(str, row)) for row in self.context.tolist()]
        columns = {"symbol": self.symbol, "context": np.array(words)}
        if self.label is not None:
            columns["label"] = self.label
        return columns | {"probability": self.probability}


@dataclass(frozen=True, kw_only=True)
class ModAdd:
    """Pairs (a, b) of the numbers 0 to ``numbers - 1``, all equally probable, labelled ``(a + b) mod k``.

    Parameters
    ----------
    numbers
        How many numbers there are. The paper writes both "N = 16" and "{0, ..., N}"; 16 makes every class
        equally large, 17 gives the class of 0 one more.
    modulus
        The paper's k.

    Examples
    --------
    >>> tokens, labels = ModAdd(numbers=16, modulus=8).samples()
    >>> tokens[20].tolist(), int(labels[20])
    ([1, 4], 5)
    """

    numbers: int = 16
    modulus: int = 8

    def __post_init__(self) -> None:
        _check(self.numbers, self.modulus)

    @property
    def mask(self) -> int:
        """The token that stands for the symbol taken out: the first that is no number."""
        return self.numbers

    @property
    def classes(self) -> Int[Array, " numbers"]:
        """The equivalence class of each number."""
        return np.arange(self.numbers) % self.modulus

    def samples(self) -> tuple[Int[Array, "samples 2"], Int[Array, " samples"]]:
        """Return all sequences (a, b) with their labels."""
        a, b = _grid(self.numbers)
        return np.stack([a, b], axis=1), (a + b) % self.modulus

    def triplets(self) -> Triplets:
        """Return the task as symbol, context, label: either addend taken out, equally often."""
        sequences, labels = self.samples()
        symbol, context = _masked(sequences, self.mask)
        probability = np.full(len(symbol), 1.0 / len(symbol))
        return Triplets(
            symbol=symbol, context=context, label=np.tile(labels, 2), probability=probability
        )


@dataclass(frozen=True, kw_only=True)
class CModAdd:
    """Sequences (a, b, c) with ``c = (a + b) mod k`` and one of the addends masked.

    With ``concentration`` the data set is misaligned with ModAdd (appendix A.10): one of each symbol's
    contexts, drawn at random, gets that probability given the symbol, and the others share the rest evenly.
    Equivalent numbers then no longer have equal distributions of contexts.

    Parameters
    ----------
    numbers, modulus
        As for `ModAdd`.
    concentration
        The paper's 0.9; None is the aligned data set, in which all contexts of a symbol are equally probable.
    seed
        Draws the preferred contexts; without effect when `concentration` is None.

    Notes
    -----
    These sequences are also what the paper's objective *with* labels sees on ModAdd itself: the context of
    a symbol and the sample's label, side by side.

    Examples
    --------
    >>> world = CModAdd(numbers=4, modulus=2).triplets()
    >>> int(world.symbol[7]), world.context[7].tolist()       # 1 + 3 = 0 mod 2
    (1, [4, 3, 0])
    """

    numbers: int = 16
    modulus: int = 8
    concentration: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _check(self.numbers, self.modulus)
        if self.concentration is not None and not 0.0 < self.concentration < 1.0:
            raise OptionError(
                f"concentration is a probability strictly between 0 and 1, or None for the aligned data; "
                f"got {self.concentration}."
            )

    @property
    def mask(self) -> int:
        """The token that stands for the symbol taken out: the first that is no number."""
        return self.numbers

    @property
    def classes(self) -> Int[Array, " numbers"]:
        """The equivalence class of each number."""
        return np.arange(self.numbers) % self.modulus

    def triplets(self) -> Triplets:
        """Return every symbol with every context that it occurs in; there is no label."""
        a, b = _grid(self.numbers)
        symbol, context = _masked(np.stack([a, b, (a + b) % self.modulus], axis=1), self.mask)
        given_symbol = self._given_symbol(symbol)
        return Triplets(
            symbol=symbol, context=context, label=None, probability=given_symbol / self.numbers
        )

    def _given_symbol(self, symbol: Int[Array, " samples"]) -> Float[Array, " samples"]:
        """Return p(context | symbol) of each sample; every symbol has 2 * numbers contexts."""
        contexts = 2 * self.numbers
        if self.concentration is None:
            return np.full(len(symbol), 1.0 / contexts)
        probability = np.full(len(symbol), (1.0 - self.concentration) / (contexts - 1))
        rng = np.random.default_rng(self.seed)
        for number in range(self.numbers):
            probability[rng.choice(np.flatnonzero(symbol == number))] = self.concentration
        return probability


def _check(numbers: int, modulus: int) -> None:
    if not 2 <= modulus <= numbers:
        raise OptionError(
            f"Modular addition needs 2 <= modulus <= numbers, so that every remainder is a number; got "
            f"modulus {modulus}, numbers {numbers}."
        )


def _grid(numbers: int) -> tuple[Array, Array]:
    a, b = np.divmod(np.arange(numbers * numbers), numbers)
    return a, b


def _masked(
    sequences: Int[Array, "samples length"], mask: int
) -> tuple[Int[Array, " twice"], Int[Array, "twice length"]]:
    """Take the first addend out of every sequence, then the second."""
    left, right = sequences.copy(), sequences.copy()
    left[:, 0], right[:, 1] = mask, mask
    return np.concatenate([sequences[:, 0], sequences[:, 1]]), np.concatenate([left, right])
