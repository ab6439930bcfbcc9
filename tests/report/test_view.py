"""The one view that all renderings share: the result's numbers, and only those."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from samespace.report import recipes, words
from samespace.report.view import view
from tests.report.factory import KINDS, comparison, pair


@pytest.mark.parametrize("kind", KINDS)
def test_the_view_holds_the_results_numbers(kind):
    result = comparison(kind)
    shown = view(result)
    assert shown["verdict"]["name"] == result.verdict.name == kind
    for entry, found in zip(shown["classes"], result.classes, strict=True):
        assert entry["unexplained"] == pytest.approx(found.unexplained, rel=1e-4)
        assert entry["interval"] == pytest.approx(
            [found.interval.low, found.interval.high], rel=1e-4
        )
    assert shown["r2"] == pytest.approx(list(result.r2), rel=1e-4)
    assert shown["bounds"]["floor"] == pytest.approx(0.1)
    assert shown["bounds"]["tolerance"] == pytest.approx(result.affine.unexplained + 0.01, rel=1e-4)
    json.dumps(shown, allow_nan=False)


def test_what_is_not_finite_is_none():
    result = replace(comparison("affine"), r2=np.array([1.0, np.nan, -np.inf]))
    assert view(result)["r2"] == [1.0, None, None]


def test_without_rows_there_are_no_points():
    assert view(comparison("affine", keep=0))["points"] is None


def test_flattery_is_told():
    result = comparison("affine")
    assert view(result)["flatters"] is None
    flattered = replace(result, affine=replace(result.affine, in_sample=0.01, unexplained=0.93))
    assert "misses 1.00% of new on them, but 93.0%" in view(flattered)["flatters"]


def test_every_setting_and_diagnostic_is_listed_in_words():
    shown = view(comparison("affine"))
    labels = {label for label, _ in shown["settings"] + shown["diagnostics"]}
    assert labels <= set(words.LABELS.values())


def test_code_to_use_the_map_names_files_or_arrays():
    code = [recipe.code for recipe in recipes.use_the_map(comparison("orthogonal"))]
    assert "ss.compare('old.npy', 'new.npy')" in code[0]
    assert "samespace apply map.safetensors old.npy mapped.npy" in code[1]
    assert code[2] == "samespace gate old.npy new.npy --require orthogonal"
    (python,) = recipes.use_the_map(comparison("orthogonal", names=("old", "new")))
    assert "ss.compare(old, new)" in python.code


def test_without_a_map_there_is_no_code_to_use_it():
    assert recipes.use_the_map(comparison("none")) == []
    assert recipes.use_the_map(comparison("undecided")) == []
    (gate,) = recipes.use_the_map(comparison("identity"))
    assert gate.code == "samespace gate old.npy new.npy --require identity"


def test_shell_names_are_quoted():
    names = ("my old; rm -rf.npy", "$(new).npy")
    code = recipes.use_the_map(comparison("affine", names=names))[1].code
    assert "'my old; rm -rf.npy' '$(new).npy'" in code


def test_the_recipe_reproduces_the_comparison():
    result = comparison("affine", names=("old", "new"))
    (call,) = recipes.reproduce(result)
    assert "tolerance=0.01" in call.code
    old, new = pair("affine")
    scope: dict = {"old": old, "new": new}
    exec(call.code, scope)
    assert scope["result"].affine.unexplained == result.affine.unexplained
