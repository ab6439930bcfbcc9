"""Who sees which samples when: by seed and epoch alone, each sample as often as it is probable."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from samespace.errors import OptionError
from samespace.learn.epoch_orders import EPOCHS, EpochOrders, Split
from samespace.worlds.modular import CModAdd

EVEN = np.full(40, 1 / 40)
UNEVEN = np.where(np.arange(40) == 0, 0.9, 0.1 / 39)


def test_splits_differ_by_seed_and_never_hold_out_what_is_preferred():
    world = CModAdd(concentration=0.9).triplets()
    split = Split.of(world.probability, [0, 0, 1])
    assert torch.equal(split.held_out[0], split.held_out[1])
    assert not torch.equal(split.held_out[0], split.held_out[2])
    assert world.probability[split.held_out].max() < 0.01
    whole = torch.cat([split.train[0], split.held_out[0]]).sort().values
    assert whole.tolist() == list(range(512))


def test_an_epoch_shows_every_equally_probable_sample_once():
    train = Split.of(EVEN, [0, 1]).train
    block = EpochOrders(train, EVEN, [0, 1]).block(0)
    assert block.shape == (EPOCHS, 2, 32)
    assert torch.equal(block.sort(dim=2).values, train.expand(EPOCHS, 2, 32))
    assert not torch.equal(block[0], block[1])


def test_others_are_drawn_as_often_as_they_are_probable():
    train = Split.of(UNEVEN, [0]).train
    block = EpochOrders(train, UNEVEN, [0]).block(0)
    expected = UNEVEN[0] / UNEVEN[train[0]].sum()
    share, draws = (block == 0).double().mean().item(), block.numel()
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / draws)


def test_orders_depend_on_seed_data_and_block_and_not_on_neighbours():
    both = np.stack([EVEN, UNEVEN])
    split = Split.of(both, [3, 3])
    company = EpochOrders(split.train, both, [3, 3])
    alone = EpochOrders(split.train[1:], UNEVEN, [3])
    assert torch.equal(company.block(7)[:, 1], alone.block(7)[:, 0])
    assert not torch.equal(company.block(7), company.block(8))
    other = EpochOrders(split.train[1:], UNEVEN, [4])
    assert not torch.equal(other.block(7), alone.block(7))


def test_a_split_leaves_something_on_both_sides():
    with pytest.raises(OptionError, match="leaves 0 to hold out"):
        Split.of(np.full(4, 0.25), [0], share=1.0)
