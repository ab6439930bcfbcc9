"""Training stops when the verdict says that members agree, or that the latents are found."""

from __future__ import annotations

import pytest
import torch

from samespace.errors import OptionError, ShapeError
from samespace.learn.agreement import Agreement, agreed
from samespace.learn.baselines import mean_squared_error
from samespace.learn.encoders import StackedMLP
from samespace.learn.streams import WorldStream
from samespace.learn.training import Recipe, train
from samespace.worlds.samples import Observed

A = torch.tensor([[1.0, 0.5], [-0.5, 1.0], [0.3, 0.3]])


def observed(rows, generator):
    x = torch.randn(rows, 3, generator=generator)
    return Observed(z=x @ A, x=x)


def fit(agreement, *, steps=600, seeds=(0, 1)):
    model = StackedMLP(seeds, [3, 2])
    draws = [lambda generator: observed(64, generator)] * len(seeds)
    history = train(
        model,
        WorldStream(draws, seeds),
        lambda model, batch: mean_squared_error(model(batch.x), batch.z),
        Recipe(steps=steps, learning_rate=1e-2),
        evaluate=agreement,
        every=50,
        stop=agreed,
    )
    return model, history


def test_stops_once_the_latents_are_found():
    held_out = observed(500, torch.Generator().manual_seed(9))
    _, history = fit(Agreement(held_out.x, held_out.z, require="identity"))
    assert history.steps[-1] < 600
    assert history.scores[-1]["holds"] == [1.0, 1.0]
    assert all(0 in one["holds"] for one in history.scores[:-1])


def test_stops_once_members_agree():
    held_out = observed(500, torch.Generator().manual_seed(9))
    _, history = fit(Agreement(held_out.x, require="orthogonal"))
    assert history.steps[-1] < 600
    assert history.scores[0]["holds"] == [0.0, 0.0]


def test_members_may_have_rows_of_their_own():
    model = StackedMLP([0, 1], [3, 2])
    drawn = [observed(300, torch.Generator().manual_seed(k)) for k in range(2)]
    x, z = torch.stack([d.x for d in drawn]), torch.stack([d.z for d in drawn])
    with torch.no_grad():
        scores = Agreement(x, z, represent=lambda model, rows: rows @ A)(model)
    assert scores["holds"] == [1.0, 1.0]


def test_errors_say_what_to_do():
    with pytest.raises(OptionError, match="no latents"):
        Agreement(torch.zeros(2, 5, 3))
    with pytest.raises(ShapeError, match="train two, or give latents"), torch.no_grad():
        Agreement(torch.zeros(5, 3))(StackedMLP([0], [3, 2]))
