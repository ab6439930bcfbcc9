"""Modular addition written down whole: every sample, its probability, its classes."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import OptionError
from samespace.theory.equivalence import equivalence
from samespace.theory.occurrences import Occurrences
from samespace.worlds.modular import CModAdd, ModAdd


def test_every_pair_is_there_once_with_its_sum():
    tokens, labels = ModAdd(numbers=5, modulus=3).samples()
    assert len({tuple(row) for row in tokens.tolist()}) == 25
    assert (labels == tokens.sum(axis=1) % 3).all()


@pytest.mark.parametrize("world", [ModAdd(), CModAdd(), CModAdd(concentration=0.9)])
def test_probabilities_sum_to_one_and_the_mask_hides_the_symbol(world):
    data = world.triplets()
    assert abs(data.probability.sum() - 1) < 1e-12
    assert ((data.context[:, :2] == world.mask).sum(axis=1) == 1).all()
    assert data.context.max() == world.mask


def test_the_third_token_of_cmodadd_is_the_sum_of_symbol_and_what_is_left():
    data = CModAdd(numbers=7, modulus=4).triplets()
    left = np.where(data.context[:, :2] == 7, 0, data.context[:, :2]).sum(axis=1)
    assert (data.context[:, 2] == (data.symbol + left) % 4).all()


@pytest.mark.parametrize("numbers", [16, 17])
@pytest.mark.parametrize("world", [ModAdd, CModAdd])
def test_equivalence_classes_are_the_remainders(world, numbers):
    world = world(numbers=numbers, modulus=8)
    found = equivalence(Occurrences.of(**world.triplets().columns()))
    expected = {
        frozenset(np.flatnonzero(world.classes == remainder).tolist()) for remainder in range(8)
    }
    assert {frozenset(one.symbols) for one in found.classes} == expected


def test_a_preferred_context_has_its_probability_and_the_seed_chooses_it():
    data = CModAdd(concentration=0.9, seed=1).triplets()
    for symbol in range(16):
        given = data.probability[data.symbol == symbol] * 16
        assert np.isclose(given.max(), 0.9)
        assert np.isclose(given.sum(), 1.0)
    same, other = (CModAdd(concentration=0.9, seed=s).triplets().probability for s in (1, 2))
    assert (data.probability == same).all()
    assert (data.probability != other).any()


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(OptionError, match="2 <= modulus <= numbers"):
        ModAdd(numbers=4, modulus=5)
    with pytest.raises(OptionError, match="2 <= modulus <= numbers"):
        CModAdd(numbers=4, modulus=1)
    with pytest.raises(OptionError, match="concentration is a probability"):
        CModAdd(concentration=1.0)
