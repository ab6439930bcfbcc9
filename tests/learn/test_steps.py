"""What a captured step reads and refuses; that it steps as an eager one is tested on a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from samespace.errors import OptionError, ShapeError
from samespace.learn.encoders import StackedMLP
from samespace.learn.steps import copy, mapped, tensors
from samespace.learn.streams import WorldStream
from samespace.learn.training import Recipe, train
from samespace.worlds.radial import RadialWorld
from samespace.worlds.samples import Observed


def batch():
    return {
        "pair": [torch.ones(2), (torch.zeros(3),)],
        "seen": Observed(z=torch.ones(1), x=torch.ones(4)),
    }


def test_batches_of_any_nest_are_read_and_copied():
    to = mapped(torch.zeros_like, batch())
    copy(to, batch())
    assert isinstance(to["seen"], Observed)
    assert [one.tolist() for one in tensors(to)] == [one.tolist() for one in tensors(batch())]


def test_batches_of_another_shape_are_refused():
    with pytest.raises(ShapeError, match="takes batches of one shape"):
        copy([torch.zeros(3)], [torch.zeros(2)])


def test_no_graph_without_a_gpu():
    stream = WorldStream([lambda generator: RadialWorld(classes=3).labelled(4, generator)], [0])
    with pytest.raises(OptionError, match="needs a GPU"):
        train(nn.Linear(2, 1), stream, lambda m, b: m(b.x), Recipe(steps=1), captured=True)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a CUDA graph needs a GPU")
def test_captured_steps_are_eager_steps_and_resume_bit_by_bit(tmp_path):
    world, seeds = RadialWorld(classes=5, noise=2), [0, 1]

    def go(steps=40, **options):
        model = StackedMLP(seeds, [world.d_x, 64, 64, 2], precision="bfloat16").cuda()
        draws = [lambda generator: world.labelled(64, generator)] * 2
        stream = WorldStream(draws, seeds, device="cuda")
        loss = lambda m, b: (m(b.x) - b.z).square().mean((1, 2))  # noqa: E731
        train(model, stream, loss, Recipe(steps=steps, schedule="cosine"), **options)
        return model.state_dict()

    def kill(stage, done, total):
        if done == 17:
            raise KeyboardInterrupt

    whole = go(captured=True)
    for name, value in go().items():
        torch.testing.assert_close(whole[name], value, rtol=1e-5, atol=1e-7)
    path = tmp_path / "checkpoint.pt"
    with pytest.raises(KeyboardInterrupt):
        go(captured=True, checkpoint=path, seconds=0.0, progress=kill)
    for name, value in go(captured=True, checkpoint=path).items():
        assert torch.equal(whole[name], value), name
