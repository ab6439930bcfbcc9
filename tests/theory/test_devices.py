"""Models on a device are worked on there, to the same results; here torch's CPU stands for the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
import pytest

import samespace.batch
from samespace.sources import memory
from samespace.theory import (
    ModelPair,
    closeness,
    d_llv,
    d_svd,
    displaced_map,
    diversity,
    effective_complexity,
    logit_distance,
    pairwise_gaps,
    theorem1,
    theorem2,
    triangle,
)
from samespace.theory.spectra import extremes, polar, right_solve, singular_values
from tests.theory.pairs import Models, equivalent, unrelated
from tests.tolerances import rtol

torch = pytest.importorskip("torch")

MEASURES: dict[str, Callable[[ModelPair], Any]] = {
    "likelihoods": lambda pair: pair.likelihoods,
    "label diversity": lambda pair: pair.label_diversity,
    "input diversity": lambda pair: pair.input_diversity,
    "theorem 1": theorem1,
    "theorem 2": theorem2,
    "theorem 2 over all": lambda pair: theorem2(pair, labels="all", inputs="all"),
    "d_LLV": d_llv,
    "d_LLV over all": lambda pair: d_llv(pair, labels="all"),
    "d_SVD of f": d_svd,
    "d_SVD of g": lambda pair: d_svd(pair, of="g"),
    "logit distance": logit_distance,
    "closeness": closeness,
    "displaced map": displaced_map,
    "complexity": lambda pair: effective_complexity(pair.f, pair.g),
}


@pytest.fixture(autouse=True)
def stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing comes home, and blocks are so small that a few hundred rows are many."""
    monkeypatch.setattr(samespace.batch, "home", lambda array: array)
    monkeypatch.setattr(triangle, "_BLOCK_VALUES", 1)


def there(models: Models) -> list[Any]:
    return [torch.from_numpy(part) for part in models.arrays]


def assert_same(found: Any, wanted: Any, *, atol: float) -> None:
    """Compare results field by field: numbers and NumPy arrays, nothing that lies on a device."""
    for name, value in asdict(wanted).items():
        other = getattr(found, name)
        if isinstance(value, dict):
            assert_same(other, getattr(wanted, name), atol=atol)
        elif isinstance(value, float | np.ndarray):
            assert isinstance(other, float | np.ndarray), name
            scale = max(1.0, float(np.max(np.abs(value))))
            np.testing.assert_allclose(other, value, rtol=1e-9, atol=atol * scale, err_msg=name)
        elif name != "reason":
            assert other == value, name


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("linked", ["unrelated", "noisy", "equivalent"])
def test_a_device_gives_the_results_of_the_host(
    rng: np.random.Generator, measure: str, linked: str
) -> None:
    size = {"n": 300, "k": 200, "m": 5}
    if linked == "unrelated":
        models = unrelated(rng, **size)
    else:
        models = equivalent(rng, **size, noise=0.3 if linked == "noisy" else 0.0)
    found = MEASURES[measure](ModelPair.of(*there(models)))
    wanted = MEASURES[measure](ModelPair.of(*models.arrays))
    assert is_dataclass(found)
    assert_same(found, wanted, atol=1e-11)


@pytest.mark.parametrize(
    "measure", ["label diversity", "input diversity", "logit distance", "displaced map"]
)
def test_models_in_a_smaller_space_are_the_hosts(rng: np.random.Generator, measure: str) -> None:
    models = equivalent(rng, n=300, k=200, m=3, noise=0.3)
    wide = rng.standard_normal((3, 5))
    flat = [part @ wide for part in models.arrays]
    found = MEASURES[measure](ModelPair.of(*map(torch.from_numpy, flat)))
    wanted = MEASURES[measure](ModelPair.of(*flat))
    assert_same(found, wanted, atol=1e-11)


def test_the_search_finds_the_hosts_anchors(rng: np.random.Generator) -> None:
    models = unrelated(rng, n=300, k=60, m=3)
    found, wanted = (
        d_svd(ModelPair.of(*parts), anchors="search", rng=np.random.default_rng(0))
        for parts in (there(models), models.arrays)
    )
    assert_same(found, wanted, atol=1e-11)


def test_gaps_of_all_pivots_are_the_hosts(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    np.testing.assert_allclose(
        pairwise_gaps(ModelPair.of(*there(models))), pairwise_gaps(*models.arrays), rtol=1e-9
    )


def test_nothing_of_many_rows_leaves_the_device(rng: np.random.Generator) -> None:
    pair = ModelPair.of(*there(unrelated(rng)))
    assert isinstance(pair.joint_labels.lifted, torch.Tensor)
    assert isinstance(pair.joint_normalised_inputs.lifted, torch.Tensor)
    assert isinstance(pair.likelihoods.log_z, np.ndarray)


def test_models_that_lie_apart_are_worked_on_at_the_host(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "lies_on_gpu", lambda array: isinstance(array, torch.Tensor))
    models = unrelated(rng)
    f, g, *_ = there(models)
    apart = ModelPair.of(f, g, models.f_star, models.g_star)
    assert isinstance(apart.joint_labels.lifted, np.ndarray)
    assert_same(theorem2(apart), theorem2(ModelPair.of(*models.arrays)), atol=1e-11)


def test_wide_vectors_are_chosen_alike(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((700, 90)) * np.logspace(0, 2, 90)
    found, wanted = diversity(torch.from_numpy(vectors)), diversity(vectors)
    np.testing.assert_array_equal(found.chosen, wanted.chosen)
    assert_same(found, wanted, atol=1e-11)


@pytest.mark.parametrize("fall", [1.0, 1e-6, 0.0])
def test_extremes_and_polar_factor_by_products_are_lapacks(
    rng: np.random.Generator, fall: float
) -> None:
    left, right = (np.linalg.qr(rng.standard_normal((40, 40)))[0] for _ in range(2))
    matrix = left * np.r_[np.linspace(1.0, 0.5, 39), fall] @ right
    r = np.linalg.qr(matrix, mode="r")
    np.testing.assert_allclose(extremes(torch.from_numpy(r)), extremes(r), rtol=1e-9, atol=1e-13)
    (rotation, nuclear), wanted = polar(torch.from_numpy(matrix)), polar(matrix)
    np.testing.assert_allclose(nuclear, wanted[1], rtol=1e-12)
    np.testing.assert_allclose(
        singular_values(torch.from_numpy(matrix[:, :30])),
        np.linalg.svd(matrix[:, :30], compute_uv=False),
        atol=1e-7,
    )
    if fall:
        np.testing.assert_allclose(rotation.numpy(), wanted[0], atol=1e-9)


def test_no_correlation_has_no_nuclear_norm() -> None:
    assert polar(torch.zeros(3, 3, dtype=torch.float64))[1] == polar(np.zeros((3, 3)))[1] == 0.0


def test_a_library_without_triangular_systems_solves_them_as_any_other(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("array_api_compat.torch.linalg.solve_triangular")
    r, rows = np.triu(rng.standard_normal((4, 4))) + 4.0 * np.eye(4), rng.standard_normal((9, 4))
    found = right_solve(torch.from_numpy(r), torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(found, rows @ np.linalg.inv(r), rtol=rtol("exact"))
