"""A population of transformers against PyTorch's own, one at a time."""

from __future__ import annotations

import pytest
import torch

from samespace.errors import OptionError
from samespace.learn.stacked_transformer import (
    Shape,
    StackedParameters,
    embedded,
    encode,
    forward,
    initial,
)
from tests.tolerances import atol, rtol

SHAPE = Shape(tokens=7, length=3, width=8, outputs=5, layers=2, heads=2, feed_forward=16)


def drawn(shape, seed):
    return initial(shape, torch.Generator().manual_seed(seed))


def torch_model(shape, model):
    """PyTorch's encoder with the numbers of `model`."""
    layer = torch.nn.TransformerEncoderLayer(
        shape.width, shape.heads, shape.feed_forward, dropout=0.0, batch_first=True
    )
    encoder = torch.nn.TransformerEncoder(layer, shape.layers, enable_nested_tensor=False)
    for number, block in enumerate(encoder.layers):
        part = {k.partition(".")[2]: v for k, v in model.items() if k.startswith(f"{number}.")}
        state = {
            "self_attn.in_proj_weight": part["query_key_value"].T,
            "self_attn.in_proj_bias": part["query_key_value.bias"],
            "self_attn.out_proj.weight": part["attended"].T,
            "self_attn.out_proj.bias": part["attended.bias"],
            "linear1.weight": part["up"].T,
            "linear1.bias": part["up.bias"],
            "linear2.weight": part["down"].T,
            "linear2.bias": part["down.bias"],
            **{
                f"norm{i}.{k}": part[f"norm{i}{s}"]
                for i in (1, 2)
                for k, s in (("weight", ""), ("bias", ".bias"))
            },
        }
        block.load_state_dict(state)
    return encoder


def torch_forward(shape, model, tokens):
    encoder = torch_model(shape, model).train()  # train mode: no fused fast path
    hidden = encoder(model["token"][tokens] + model["position"])
    read = hidden.mean(1) if shape.read == "mean" else hidden[:, 0]
    return read @ model["out"] + model["out.bias"]


@pytest.mark.parametrize("read", ["mean", "first"])
def test_each_model_of_a_stack_is_pytorchs_own(read):
    shape = Shape(**{**vars(SHAPE), "read": read})
    models = [
        {
            k: v + 0.1 * torch.randn(v.shape, generator=torch.Generator().manual_seed(9))
            for k, v in drawn(shape, s).items()
        }
        for s in range(3)
    ]
    tokens = torch.randint(0, 7, (3, 11, 3), generator=torch.Generator().manual_seed(0))
    stacked = forward(shape, StackedParameters(models).views(), tokens)
    for model, row, out in zip(models, tokens, stacked, strict=True):
        expected = torch_forward(shape, model, row)
        torch.testing.assert_close(
            out, expected, rtol=rtol("exact", "float32"), atol=atol("exact", "float32")
        )


def test_gradients_reach_each_model_alone():
    parameters = StackedParameters([drawn(SHAPE, s) for s in range(3)])
    tokens = torch.zeros(3, 4, 3, dtype=torch.long)
    forward(SHAPE, parameters.views(), tokens)[1].sum().backward()
    reached = parameters.flat.grad.abs().sum(dim=1) > 0
    assert reached.tolist() == [False, True, False]


def test_equal_seeds_agree_and_different_ones_differ():
    one, same, other = drawn(SHAPE, 3), drawn(SHAPE, 3), drawn(SHAPE, 4)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["token"], other["token"])


def test_initial_spreads_are_pytorchs():
    shape = Shape(tokens=400, length=400, width=64, outputs=64, layers=1, feed_forward=256)
    model = drawn(shape, 0)
    layer = torch.nn.TransformerEncoderLayer(64, 1, 256)
    pairs = {
        "0.query_key_value": layer.self_attn.in_proj_weight,
        "0.up": layer.linear1.weight,
        "0.down": layer.linear2.weight,
    }
    for name, theirs in pairs.items():
        assert abs(model[name].std() / theirs.std() - 1) < 0.05
    assert abs(model["token"].std() - 1) < 0.05
    assert abs(model["position"].std() - 0.02) < 0.001


def test_each_model_looks_up_its_own_table():
    table = torch.arange(12.0).view(2, 3, 2)
    assert embedded(table, torch.tensor([[2], [0]])).tolist() == [[[4.0, 5.0]], [[6.0, 7.0]]]


def test_impossible_shapes_are_refused():
    with pytest.raises(OptionError, match="multiple of the number of heads"):
        Shape(tokens=2, length=1, width=5, outputs=1, heads=2)
    with pytest.raises(OptionError, match="read is 'mean', 'first' or 'given'"):
        Shape(tokens=2, length=1, width=4, outputs=1, read="last")


def test_a_position_is_given_exactly_where_it_is_read():
    parameters = StackedParameters([drawn(SHAPE, 0)]).views()
    embeddings, position = torch.zeros(1, 2, 3, 8), torch.zeros(1, 2, dtype=torch.long)
    given = Shape(**{**vars(SHAPE), "read": "given"})
    with pytest.raises(OptionError, match="got read 'given', no position"):
        encode(given, parameters, embeddings)
    with pytest.raises(OptionError, match="got read 'mean', position"):
        encode(SHAPE, parameters, embeddings, position=position)
    with pytest.raises(OptionError, match="not read by their mean"):
        encode(SHAPE, parameters, embeddings, present=torch.ones(1, 2, 3, dtype=torch.bool))


def test_a_position_is_read_that_the_first_would_be():
    first = Shape(**{**vars(SHAPE), "read": "first"})
    given = Shape(**{**vars(SHAPE), "read": "given"})
    parameters = StackedParameters([drawn(SHAPE, s) for s in range(2)]).views()
    embeddings = torch.randn(2, 4, 3, 8, generator=torch.Generator().manual_seed(1))
    zero = torch.zeros(2, 4, dtype=torch.long)
    expected = encode(first, parameters, embeddings)
    assert torch.equal(encode(given, parameters, embeddings, position=zero), expected)
    assert not torch.allclose(encode(given, parameters, embeddings, position=zero + 1), expected)
