"""Populations trained by epochs: against PyTorch one model at a time, resumed bit for bit, in turns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from samespace.errors import InterruptedWorkError, OptionError, ShapeError
from samespace.learn.epoch_orders import EpochOrders, Split
from samespace.learn.epoch_recipe import EpochRecipe
from samespace.learn.population_training import Training, train
from samespace.learn.stacked_transformer import StackedParameters
from tests.tolerances import atol

INPUTS = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
EVEN = np.full(20, 1 / 20)


def recipe(**changes):
    return EpochRecipe(**{"epochs": 6, "batch": 5, "learning_rate": 0.1, "every": 2, **changes})


def training(how, seeds=(0, 1, 2), **options):
    """Fit each model's weights to the sum of the inputs; what is measured is the weights."""
    weights = [{"w": torch.randn(3, generator=torch.Generator().manual_seed(one))} for one in seeds]
    parameters = StackedParameters(weights)

    def loss(rows):
        outputs = (INPUTS[rows] @ parameters.views()["w"].unsqueeze(-1)).squeeze(-1)
        return ((outputs - INPUTS[rows].sum(dim=-1)) ** 2).mean(dim=1)

    orders = EpochOrders(Split.of(EVEN, seeds).train, EVEN, seeds)
    return Training(parameters, loss, lambda: {"weights": parameters.flat}, orders, how, **options)


def test_each_model_is_trained_as_pytorch_would_with_its_own_decay():
    decays = (0.0, 0.0, 0.5)
    ours = training(recipe(weight_decay=decays))
    train([ours])
    history = ours.history()
    for model, decay in enumerate(decays):
        weights = history["weights"][0, model].clone().requires_grad_()
        optimiser = torch.optim.Adam([weights], lr=0.1, weight_decay=decay)
        for epoch in range(6):
            for batch in ours.orders.block(0)[epoch, model].split(5):
                optimiser.zero_grad()
                ((INPUTS[batch] @ weights - INPUTS[batch].sum(dim=-1)) ** 2).mean().backward()
                optimiser.step()
        torch.testing.assert_close(
            weights.detach(), history["weights"][-1, model], rtol=0, atol=atol("exact", "float32")
        )


def test_the_history_starts_before_training_and_goes_on_every_so_many_epochs():
    ours = training(recipe())
    start = ours.history()["weights"][0].clone()
    train([ours])
    history = ours.history()
    assert history["weights"].shape == (4, 3, 3)
    assert torch.equal(history["weights"][0], start)
    assert history["loss"][0].isnan().all()
    assert (history["loss"][-1] < history["loss"][1]).all()


def test_an_interrupted_training_ends_where_it_would_have_ended(tmp_path):
    file = tmp_path / "unfinished.pt"
    whole, half = training(recipe()), training(recipe(), checkpoint=file, seconds=0.0)
    train([whole])
    for _ in range(3):
        half.advance()
    resumed = training(recipe(), checkpoint=file)
    assert resumed.epoch == 3
    train([resumed])
    for name, values in whole.history().items():
        assert torch.equal(values.nan_to_num(), resumed.history()[name].nan_to_num())
    assert training(recipe(), checkpoint=file).finished
    with pytest.raises(InterruptedWorkError, match="other settings"):
        training(recipe(learning_rate=0.2), checkpoint=file)


def test_populations_take_turns_and_tell_how_far_the_slowest_is():
    told = []
    short, long = training(recipe(epochs=2)), training(recipe(epochs=4), seeds=(5,))
    train([short, long], progress=lambda *step: told.append(step))
    assert (short.finished, long.finished) == (True, True)
    assert told == [("epochs", done, 4) for done in (1, 2, 3, 4)]
    train([])


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(OptionError, match="epochs, batch and every"):
        EpochRecipe(epochs=0)
    with pytest.raises(ShapeError, match="3 models got 2 of them"):
        training(recipe(weight_decay=(0.0, 0.1)))
