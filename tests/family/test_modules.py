"""PyTorch modules as models of the family."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from samespace.errors import OptionError  # noqa: E402
from samespace.family import PerSample, from_modules  # noqa: E402
from tests.tolerances import rtol  # noqa: E402

FLOAT32 = rtol("exact", "float32")


def test_a_linear_layer_is_a_classifier_with_its_bias():
    f, head = nn.Sequential(nn.Linear(5, 3), nn.Dropout(0.5)), nn.Linear(3, 4)
    x, y = torch.randn(20, 5), torch.randint(4, (20,))
    model = from_modules(f, head, batch_size=7)
    loss = nn.functional.cross_entropy(head(f.eval()(x)), y).item()
    assert -model.log_likelihood(x, y).mean() == pytest.approx(loss, rel=FLOAT32)
    assert model.bias
    assert model.dim == 4


def test_an_embedding_is_a_table_of_labels():
    f, table = nn.Linear(5, 3), nn.Embedding(6, 3)
    x = torch.randn(8, 5)
    expected = nn.functional.log_softmax(f(x) @ table.weight.T, dim=1).detach().numpy()
    assert from_modules(f, table).log_prob(x.numpy()) == pytest.approx(
        expected, rel=FLOAT32, abs=1e-6
    )


def test_a_second_tower_is_applied_to_the_labels():
    f, g = nn.Linear(5, 3), nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    x, images = torch.randn(6, 5), torch.randn(6, 2, 4)
    model = from_modules(f, g, dim=3, batch_size=4)
    expected = nn.functional.log_softmax(f(x) @ g(images).T, dim=1).detach().numpy()
    assert model.log_prob(x, images) == pytest.approx(expected, rel=FLOAT32, abs=1e-6)
    own = images[None].repeat(6, 1, 1, 1)
    assert model.log_prob(x, PerSample(own)) == pytest.approx(expected, rel=FLOAT32, abs=1e-6)


def test_inputs_may_be_a_loader_of_batches():
    f, head = nn.Linear(5, 3), nn.Linear(3, 4, bias=False)
    x = torch.randn(10, 5)
    data = torch.utils.data.TensorDataset(x, torch.zeros(10))
    loader = torch.utils.data.DataLoader(data, batch_size=3)
    model = from_modules(f, head)
    assert model.embed(loader) == pytest.approx(model.embed(x), rel=FLOAT32, abs=1e-6)
    assert model.embed(iter([x[:4], x[4:]])) == pytest.approx(model.embed(x), rel=FLOAT32, abs=1e-6)


def test_modules_are_left_in_the_mode_they_were_in_and_draw_nothing():
    f = nn.Sequential(nn.Linear(5, 3), nn.Dropout(0.5)).train()
    model, x = from_modules(f, nn.Linear(3, 4)), torch.randn(9, 5)
    assert np.array_equal(model.embed(x), model.embed(x))
    assert f.training


def test_the_device_is_where_the_modules_go():
    f = nn.Linear(5, 3)
    from_modules(f, nn.Linear(3, 4), device="cpu").embed(torch.randn(2, 5))
    assert next(f.parameters()).device.type == "cpu"


def test_what_is_missing_is_named():
    with pytest.raises(OptionError, match="pass dim=, the width of f and g"):
        from_modules(nn.Linear(5, 3), nn.Tanh())
    with pytest.raises(OptionError, match="batch_size must be at least 1"):
        from_modules(nn.Linear(5, 3), nn.Linear(3, 4), batch_size=0)
