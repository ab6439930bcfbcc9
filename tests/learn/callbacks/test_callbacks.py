from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional dependency")

from samespace.errors import MissingDependencyError  # noqa: E402 (only once torch is known to be there)
from samespace.learn.callbacks import SimilarityProbe  # noqa: E402
from samespace.measures import cca, cka, r2  # noqa: E402

NAMES = ["similarity/cca", "similarity/r2", "similarity/cka"]


@pytest.fixture
def inputs() -> torch.Tensor:
    return torch.randn(300, 6, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def probe(inputs: torch.Tensor) -> SimilarityProbe:
    return SimilarityProbe(represent=lambda model: model(inputs), reference=inputs)


def test_reads_the_held_out_measures_of_the_model_as_it_is(probe, inputs):
    model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh())
    rows = model(inputs).detach()
    expected = [
        cca(rows, inputs).held_out_mean,
        r2(rows, inputs).held_out_mean,
        cka(rows, inputs).debiased,
    ]
    found = probe(model)
    assert list(found) == NAMES
    np.testing.assert_allclose(list(found.values()), expected)


def test_restores_the_mode_of_every_module_even_after_an_error(inputs):
    def fail(model: torch.nn.Module) -> None:
        assert not model.training
        assert not torch.is_grad_enabled()
        raise RuntimeError("out of memory")

    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout())
    model[1].eval()
    with pytest.raises(RuntimeError, match="out of memory"):
        SimilarityProbe(fail, inputs)(model)
    assert [model.training, model[0].training, model[1].training] == [True, True, False]


def test_measures_and_names_may_be_given(inputs):
    probe = SimilarityProbe(
        lambda model: model(inputs), inputs, {"rank": lambda m: m.d_x, "none": lambda m: None}, "x"
    )
    assert probe(torch.nn.Identity()) == {"x/rank": 6.0}


def test_a_trainer_s_evaluation_reports_similarity(probe):
    transformers = pytest.importorskip(
        "transformers", reason="transformers is an optional dependency"
    )
    from transformers.trainer_callback import CallbackHandler

    from samespace.learn.callbacks.trainer import TrainerSimilarity

    model = torch.nn.Linear(6, 6)
    handler = CallbackHandler([TrainerSimilarity(probe)], model, None, None, None)
    state = transformers.TrainerState(epoch=0.5, global_step=7)
    metrics = {"eval_loss": 1.0}
    handler.on_evaluate(None, state, transformers.TrainerControl(), metrics)
    assert list(metrics) == ["eval_loss", *(f"eval_{name}" for name in NAMES)]
    assert metrics["eval_similarity/cca"] == pytest.approx(1.0)
    assert state.log_history[-1]["step"] == 7
    assert state.log_history[-1]["eval_similarity/cka"] == metrics["eval_similarity/cka"]


# Lightning itself warns of single-process loaders and of a deprecated alias; neither is ours.
@pytest.mark.filterwarnings("ignore")
def test_a_lightning_validation_logs_similarity_once_training_began(probe, inputs, tmp_path):
    lightning = pytest.importorskip("lightning", reason="Lightning is an optional dependency")
    from samespace.learn.callbacks.lightning import LightningSimilarity

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = torch.nn.Linear(6, 6)

        def forward(self, x):
            return self.encoder(x)

        def training_step(self, batch, index):
            return self(batch[0]).square().mean()

        def validation_step(self, batch, index):
            pass

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs), batch_size=100)
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        callbacks=[LightningSimilarity(probe)],
    )
    trainer.fit(Module(), loader, loader)
    assert sorted(trainer.callback_metrics) == sorted(NAMES)
    assert float(trainer.callback_metrics["similarity/cca"]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("adapter", "package", "advice"),
    [
        ("trainer", "transformers", r"needs transformers; .*samespace\[hf\]"),
        ("lightning", "lightning.pytorch", "needs Lightning; .*pip install lightning"),
    ],
)
def test_without_its_framework_an_adapter_says_what_to_install(
    adapter, package, advice, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"samespace.learn.callbacks.{adapter}", raising=False)
    with pytest.raises(MissingDependencyError, match=advice):
        importlib.import_module(f"samespace.learn.callbacks.{adapter}")
