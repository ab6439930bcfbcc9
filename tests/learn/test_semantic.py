"""Objectives of semantic learners against sums written out, and training against its promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from samespace.errors import OptionError, ShapeError
from samespace.learn.epoch_recipe import EpochRecipe
from samespace.learn.semantic import (
    Classifiers,
    ContrastiveModels,
    infonce_full,
    infonce_in_batch,
)
from samespace.learn.semantic_training import train_classifiers, train_contrastive
from samespace.learn.stacked_transformer import Shape
from samespace.worlds.modular import CModAdd, ModAdd
from tests.tolerances import atol

ENCODER = Shape(tokens=7, length=3, width=8, outputs=4, layers=1, feed_forward=8)
WORLD = CModAdd(numbers=6, modulus=3).triplets()
EXACT = atol("exact", "float32")


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_in_batch_loss_is_the_sum_of_equation_2():
    symbols, contexts = rows(2, 5, 3), rows(2, 5, 3, seed=1)
    for model, loss in enumerate(infonce_in_batch(symbols, contexts).tolist()):
        scores = np.exp(symbols[model].double().numpy() @ contexts[model].double().numpy().T)
        assert abs(loss + np.log(np.diag(scores) / scores.sum(axis=1)).mean()) < EXACT


def test_in_the_other_direction_every_context_picks_its_symbol():
    symbols, contexts = rows(3, 5, 2), rows(3, 5, 2, seed=1)
    weights = torch.tensor([0.0, 1.0, 0.25])
    mixed = infonce_in_batch(symbols, contexts, by_context=weights)
    one, other = infonce_in_batch(symbols, contexts), infonce_in_batch(contexts, symbols)
    torch.testing.assert_close(mixed, (1 - weights) * one + weights * other)
    assert abs(one - other).min() > 0.02


def test_moving_a_symbol_where_all_contexts_agree_changes_nothing():
    contexts = rows(1, 6, 3)
    contexts[..., 0] = 2.0
    symbols = rows(1, 6, 3, seed=1)
    moved = symbols + torch.tensor([5.0, 0.0, 0.0]) * torch.arange(6.0).view(1, 6, 1)
    before, after = infonce_in_batch(symbols, contexts), infonce_in_batch(moved, contexts)
    assert abs(before - after).item() < EXACT
    turned = symbols + torch.tensor([0.0, 1.0, 0.0])
    assert abs(before - infonce_in_batch(turned, contexts)).item() > 0.02


def test_full_vocabulary_with_a_prior_picks_among_all_contexts():
    symbols, contexts, target = rows(1, 4, 3), rows(1, 6, 3, seed=1), torch.tensor([[0, 5, 2, 2]])
    prior = torch.log(torch.arange(1.0, 7.0) / 21)
    scores = symbols[0] @ contexts[0].T + prior
    expected = -scores.log_softmax(dim=1)[torch.arange(4), target[0]].mean()
    assert abs(infonce_full(symbols, contexts, target, log_prior=prior)[0] - expected) < EXACT
    even = infonce_full(symbols, contexts, target)
    shifted = infonce_full(symbols, contexts, target, log_prior=torch.full((6,), 3.0))
    assert abs(even - shifted).item() < EXACT


def test_a_model_gives_the_loss_of_its_own_embeddings():
    models = ContrastiveModels.initial(ENCODER, symbols=6, seeds=[0, 1])
    symbol, context = torch.tensor([[1, 2], [3, 3]]), torch.randint(0, 7, (2, 2, 3))
    encoded = models.encode(context)
    table = models.symbol_table()
    chosen = torch.stack([table[m, symbol[m]] for m in range(2)])
    torch.testing.assert_close(models.loss(symbol, context), infonce_in_batch(chosen, encoded))
    whole = models.full_loss(symbol, context[0], torch.tensor([[0, 1], [0, 1]]))
    assert abs(whole[0] - models.loss(symbol, context)[0]).item() < EXACT


def trained(seeds, **changes):
    recipe = EpochRecipe(epochs=3, learning_rate=1e-2, every=1, **changes)
    models = ContrastiveModels.initial(ENCODER, symbols=6, seeds=seeds)
    return train_contrastive(
        models, WORLD.symbol, WORLD.context, WORLD.probability, seeds=seeds, recipe=recipe
    )


def test_a_model_trains_alike_alone_and_in_company():
    both, alone = trained([4, 5]), trained([5])
    np.testing.assert_allclose(both.distances()[:, 1], alone.distances()[:, 0], rtol=1e-3)
    assert np.abs(both.distances()[-1, 0] - both.distances()[-1, 1]).max() > 0.1


def test_history_starts_before_training_and_distances_are_those_of_the_tables():
    history = trained([0])
    assert history.epochs.tolist() == [0, 1, 2, 3]
    assert np.isnan(history.loss[0]).all()
    assert (history.loss[1:] > 0).all()
    table = history.symbols[-1, 0]
    i, j = np.triu_indices(6, 1)
    np.testing.assert_allclose(
        history.distances()[-1, 0], np.linalg.norm(table[i] - table[j], axis=1), rtol=1e-12
    )


def test_a_little_training_finds_the_classes():
    world = CModAdd(numbers=6, modulus=2).triplets()
    shape = Shape(tokens=7, length=3, width=16, outputs=2, layers=1, feed_forward=32)
    models = ContrastiveModels.initial(shape, symbols=6, seeds=[0])
    history = train_contrastive(
        models,
        world.symbol,
        world.context,
        world.probability,
        seeds=[0],
        recipe=EpochRecipe(epochs=150, learning_rate=1e-2, every=150),
    )
    i, j = np.triu_indices(6, 1)
    within = (i - j) % 2 == 0
    final = history.distances()[-1, 0]
    assert final[within].max() < final[~within].min()


def test_classifiers_start_from_the_symbols_they_are_given():
    shape = Shape(tokens=7, length=2, width=4, outputs=3, layers=1)
    symbols = rows(2, 6, 4)
    models = Classifiers.initial(shape, seeds=[0, 1], symbols=symbols)
    token = models.parameters.views()["token"]
    assert torch.equal(token[:, :6], symbols)
    plain = Classifiers.initial(shape, seeds=[0, 1]).parameters.views()
    assert torch.equal(plain["token"][:, 6], token[:, 6])
    assert torch.equal(plain["position"], models.parameters.views()["position"])


def test_classifiers_learn_and_are_judged_on_what_they_have_not_seen():
    tokens, labels = ModAdd(numbers=6, modulus=2).samples()
    shape = Shape(tokens=7, length=2, width=8, outputs=2, layers=1)
    models = Classifiers.initial(shape, seeds=[0, 1])
    history = train_classifiers(
        models,
        tokens,
        labels,
        seeds=[0, 1],
        recipe=EpochRecipe(epochs=40, learning_rate=1e-2, every=40, weight_decay=0.0),
    )
    assert history.accuracy.shape == (2, 2)
    assert (history.loss[-1] < 0.3).all()


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(ShapeError, match="two sides of the same rows"):
        infonce_in_batch(rows(1, 4, 3), rows(1, 5, 3))
    with pytest.raises(ShapeError, match="Each row needs one target context"):
        infonce_full(rows(1, 4, 3), rows(1, 6, 3), torch.zeros(1, 5, dtype=torch.long))
    with pytest.raises(OptionError, match="symbol_sd is a positive"):
        ContrastiveModels.initial(ENCODER, symbols=6, seeds=[0], symbol_sd=0.0)
    with pytest.raises(ShapeError, match="Embeddings to start from"):
        Classifiers.initial(ENCODER, seeds=[0], symbols=rows(1, 6, 3))
    with pytest.raises(ShapeError, match="1 models need 1 seeds, got 2"):
        train_classifiers(
            Classifiers.initial(ENCODER, seeds=[0]),
            WORLD.context,
            WORLD.symbol,
            seeds=[0, 1],
            recipe=EpochRecipe(epochs=1),
        )
