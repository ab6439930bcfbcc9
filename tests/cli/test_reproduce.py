"""``samespace reproduce``: one figure or several, as tables and as JSON."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from samespace.cli import app
from samespace.reproduce import Piece, Reproduction, Value, registry


def figure(name, number):
    return Reproduction(
        paper="nobody-1900",
        figure=name,
        claim=f"{name} holds.",
        scales={"smoke": {}},
        pieces=lambda settings: [Piece(name="only", settings=settings)],
        run=lambda piece, context: {"number": number, "captured": context.captured},
        summarise=lambda records, expected: {
            "number": Value.of([one.values["number"] for one in records]),
            "captured": records[0].values["captured"],
        },
    )


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    both = [figure("table1", 1.0), figure("table2", 2.0)]
    monkeypatch.setattr(registry, "_REGISTRY", {(one.paper, one.figure): one for one in both})
    monkeypatch.setattr(registry, "_papers", list)

    def call(*words):
        return CliRunner().invoke(app, ["reproduce", "nobody-1900", *words, "--out", str(tmp_path)])

    return call


def test_one_figure_is_one_summary(reproduce):
    answer = reproduce("table2", "--json")
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["values"]["number"]["mean"] == 2.0


def test_several_figures_are_named_or_matched_and_shown_each(reproduce):
    answer = reproduce("table*")
    assert answer.exit_code == 0
    assert [line for line in answer.stdout.splitlines() if line.endswith("holds.")] == [
        "table1 holds.",
        "table2 holds.",
    ]
    found = json.loads(reproduce("table2", "table1", "--json").stdout)
    assert [one["figure"] for one in found] == ["table2", "table1"]


def test_graphs_may_be_declined(reproduce):
    assert json.loads(reproduce("table1", "--json").stdout)["values"]["captured"] is True
    again = reproduce("table2", "--json", "--eager")
    assert json.loads(again.stdout)["values"]["captured"] is False


def test_no_figure_names_those_there_are(reproduce):
    answer = reproduce()
    assert answer.exit_code != 0
    assert "table1, table2" in answer.output + str(answer.exception)
