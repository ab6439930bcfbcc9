"""A population trains as its members would alone, and a kill at any moment changes nothing."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from samespace.errors import FormatError, InterruptedWorkError, NotFiniteError, OptionError
from samespace.learn.baselines import cross_entropy, mean_squared_error
from samespace.learn.encoders import Classifier, Members, StackedMLP
from samespace.learn.streams import LoaderStream, WorldStream
from samespace.learn.training import Recipe, train
from samespace.worlds.radial import RadialWorld
from tests.learn.killed import fit as fit_killed

WORLD = RadialWorld(classes=5, noise=2)
RECIPE = Recipe(steps=12, learning_rate=3e-3, schedule="cosine", warmup=3)


def population(seeds):
    model = Classifier(StackedMLP(seeds, [WORLD.d_x, 8, 2]), seeds, labels=5, d=2)
    stream = WorldStream([lambda generator: WORLD.labelled(16, generator)] * len(seeds), seeds)
    return model, stream


def loss(model, batch):
    return cross_entropy(model(batch.x), batch.labels)


def fit(seeds, **options):
    model, stream = population(seeds)
    history = train(model, stream, loss, options.pop("recipe", RECIPE), **options)
    return model, history


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def assert_same(model, other):
    for name, value in weights(model).items():
        assert torch.equal(value, other[name]), name


def test_members_train_as_if_alone():
    together, _ = fit([3, 4])
    for k, seed in enumerate([3, 4]):
        alone, _ = fit([seed])
        for name, value in weights(together).items():
            # Batched and single products may add in another order.
            torch.testing.assert_close(value[k], weights(alone)[name][0], rtol=1e-4, atol=1e-6)


def test_equal_seeds_agree_and_different_seeds_differ():
    first, _ = fit([1, 1, 2])
    assert torch.equal(first.g[0], first.g[1])
    assert not torch.allclose(first.g[0], first.g[2])
    again, _ = fit([1, 1, 2])
    assert_same(again, weights(first))


def test_training_lowers_the_loss():
    _, history = fit([0, 1], recipe=Recipe(steps=200, learning_rate=1e-2), every=20)
    assert history.steps == list(range(20, 201, 20))
    first, last = torch.tensor(history.losses[0]), torch.tensor(history.losses[-1])
    assert (last < 0.5 * first).all()


def test_progress_tells_the_latest_scores_and_a_dash_for_none():
    told = []
    fit(
        [0, 1],
        evaluate=lambda model: {"share": [0.25, None]},
        every=4,
        progress=lambda stage, done, total: told.append(stage),
    )
    assert told[-1] == "training: share 0.25 -"


def test_what_the_loss_reads_can_be_set_before_every_step():
    weight, seen = torch.ones(2), []

    def weighted(model, batch):
        seen.append(float(weight[0]))
        return loss(model, batch) * weight

    model, stream = population([0, 1])
    train(model, stream, weighted, RECIPE, before_step=lambda step: weight.fill_(step))
    assert seen == list(range(RECIPE.steps))


@pytest.mark.parametrize("killed_at", [1, 5, 11])
def test_a_kill_at_any_moment_changes_nothing(tmp_path, killed_at):
    def evaluate(model):
        return {"size": model.g.square().sum(dim=(1, 2)).tolist()}

    whole, history = fit([0, 1], evaluate=evaluate, every=4)

    def kill(stage, done, total):
        # Progress is told before the checkpoint of its step is written: the worst moment.
        if done == killed_at:
            raise KeyboardInterrupt

    path = tmp_path / "checkpoint.pt"
    with pytest.raises(KeyboardInterrupt):
        fit([0, 1], evaluate=evaluate, every=4, checkpoint=path, seconds=0.0, progress=kill)
    resumed, same = fit([0, 1], evaluate=evaluate, every=4, checkpoint=path)
    assert_same(resumed, weights(whole))
    assert same == history
    repeated, again = fit([0, 1], evaluate=evaluate, every=4, checkpoint=path)
    assert_same(repeated, weights(whole))
    assert again == history
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_killed_process_is_taken_up_exactly(tmp_path):
    path, steps = tmp_path / "checkpoint.pt", 1000
    child = subprocess.Popen([sys.executable, "-m", "tests.learn.killed", path, str(steps)])
    try:
        while not path.exists() and child.poll() is None:
            time.sleep(0.01)
        time.sleep(0.1)
    finally:
        child.kill()  # SIGKILL: nothing is cleaned up
        child.wait()
    reached = torch.load(path, weights_only=True)["state"]["step"]
    assert 0 < reached < steps
    assert_same(fit_killed(path, steps), weights(fit_killed(None, steps)))


def test_dropout_of_a_users_module_resumes_too(tmp_path):
    def model():
        torch.manual_seed(0)
        return Members([nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 5)) for _ in range(2)])

    def go(**options):
        module = model()
        _, stream = population([0, 1])
        train(module, stream, loss, RECIPE, **options)
        return module

    def kill(stage, done, total):
        if done == 7:
            raise KeyboardInterrupt

    whole = go()
    with pytest.raises(KeyboardInterrupt):
        go(checkpoint=tmp_path / "c", seconds=0.0, progress=kill)
    torch.manual_seed(77)
    assert_same(go(checkpoint=tmp_path / "c"), weights(whole))


def test_users_module_and_loader_resume_inside_an_epoch(tmp_path):
    rows = torch.arange(20.0).reshape(20, 1) / 20

    def go(**options):
        torch.manual_seed(0)
        module = nn.Linear(1, 1)
        loader = DataLoader(
            TensorDataset(rows, 3 * rows), batch_size=6, shuffle=True, generator=torch.Generator()
        )
        stream = LoaderStream(loader, seed=5)
        mse = lambda model, batch: mean_squared_error(model(batch[0]), batch[1])  # noqa: E731
        train(module, stream, mse, RECIPE, **options)
        return module

    def kill(stage, done, total):
        if done == 7:
            raise KeyboardInterrupt

    whole = go()
    with pytest.raises(KeyboardInterrupt):
        go(checkpoint=tmp_path / "c", seconds=0.0, progress=kill)
    assert_same(go(checkpoint=tmp_path / "c"), weights(whole))


def test_he_start_keeps_the_spread_that_torchs_loses():
    x = torch.randn(1, 500, 40)
    spread = {
        initial: StackedMLP([0], [40] + [80] * 6, initial=initial)(x).var(dim=1).mean()
        for initial in ("torch", "he")
    }
    assert spread["torch"] < 1e-3
    assert 0.3 < spread["he"] < 6.0


def test_stops_when_the_scores_say_so():
    _, history = fit(
        [0], evaluate=lambda model: {"ready": [1.0]}, every=4, stop=lambda s: s["ready"] == [1.0]
    )
    assert history.steps == [4]


def test_rates_follow_the_schedule():
    assert [RECIPE.rate(step) for step in range(3)] == pytest.approx([1e-3, 2e-3, 3e-3])
    assert RECIPE.rate(3) == pytest.approx(3e-3)
    assert RECIPE.rate(11) == pytest.approx(1.5e-3 * (1 + math.cos(math.pi * 8 / 9)))
    assert Recipe(steps=5, learning_rate=0.1).rate(4) == 0.1


def test_baselines_are_their_formulas():
    logits, labels = torch.randn(3, 7, 4), torch.randint(4, (3, 7))
    picked = torch.log_softmax(logits, -1).gather(-1, labels[..., None])[..., 0]
    torch.testing.assert_close(cross_entropy(logits, labels), -picked.mean(-1))
    a, b = torch.randn(3, 7, 4), torch.randn(3, 7, 4)
    torch.testing.assert_close(mean_squared_error(a, b), ((a - b) ** 2).flatten(1).mean(1))


def test_errors_say_what_to_do(tmp_path):
    path = tmp_path / "c"
    fit([0], checkpoint=path)
    with pytest.raises(InterruptedWorkError, match="other settings"):
        fit([0], checkpoint=path, recipe=Recipe(steps=13))
    path.write_bytes(b"garbage")
    with pytest.raises(FormatError, match="is not a checkpoint"):
        fit([0], checkpoint=path)
    with pytest.raises(NotFiniteError, match=r"member\(s\) \[0\] is not finite"):
        train(*population([0]), lambda m, b: loss(m, b) * math.nan, Recipe(steps=1))
    with pytest.raises(OptionError, match="steps >= 1"):
        Recipe(steps=0)
    with pytest.raises(OptionError, match="at least one seed and two widths"):
        StackedMLP([], [2, 3])
    with pytest.raises(OptionError, match="got initial='zeros'"):
        StackedMLP([0], [2, 3], initial="zeros")
    with pytest.raises(OptionError, match="one seed per member"):
        WorldStream([lambda g: None], [0, 1])
    with pytest.raises(OptionError, match="generator of its own"):
        LoaderStream(DataLoader([1, 2]), seed=0)
    with pytest.raises(OptionError, match="no batch in a whole epoch"):
        LoaderStream(DataLoader([], generator=torch.Generator()), seed=0).next()


@pytest.mark.parametrize("killed_at", [2, 3, 4, 7])
def test_batches_drawn_ahead_resume_too(tmp_path, killed_at):
    def go(ahead=3, **options):
        model, _ = population([0, 1])
        draws = [lambda generator: WORLD.labelled(16 * ahead, generator)] * 2
        train(model, WorldStream(draws, [0, 1], ahead=ahead), loss, RECIPE, **options)
        return model

    def kill(stage, done, total):
        if done == killed_at:
            raise KeyboardInterrupt

    whole = go()
    with pytest.raises(KeyboardInterrupt):
        go(checkpoint=tmp_path / "c", seconds=0.0, progress=kill)
    assert_same(go(checkpoint=tmp_path / "c"), weights(whole))


def test_batches_drawn_ahead_are_the_drawn_rows_in_turn():
    stream = WorldStream([lambda g: WORLD.labelled(6, g)] * 2, [0, 5], ahead=3)
    [whole] = [WorldStream([lambda g: WORLD.labelled(6, g)] * 2, [0, 5]).next()]
    rows = torch.cat([stream.next().x for _ in range(3)], dim=1)
    assert torch.equal(rows, whole.x)
