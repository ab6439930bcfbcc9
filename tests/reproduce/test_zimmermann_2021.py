"""Both tables can be made: every row, every column, resumable, and read against the paper."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from samespace.cli import app
from samespace.errors import OptionError
from samespace.reproduce import Context, Piece, available, expected, find, make
from samespace.reproduce.zimmermann_2021.experiment import _cooling, law_of, run, world_of
from samespace.reproduce.zimmermann_2021.rows import SCALES, pieces
from samespace.worlds import GeneralisedNormal, Uniform, VonMisesFisher

PAPER = "zimmermann-2021"


def test_every_row_and_column_is_a_piece():
    first = [piece.name for piece in pieces("table1", SCALES["smoke"])]
    assert len(first) == 5 + 5 + 12
    assert {"identity-sphere_uniform-seed0", "supervised-box_uniform-seed0"} <= set(first)
    second = [piece.name for piece in pieces("table2", SCALES["smoke"])]
    columns = {"identity-box_uniform-seed0", "supervised-unbounded-seed0", "supervised-box-seed0"}
    assert set(second[:3]) == columns
    assert len(second) == 1 + 2 + 10
    assert pieces("table1", SCALES["paper"])[0].settings["seeds"] == [0, 1, 2, 3, 4]


def test_laws_are_read_as_published():
    named = {row["conditional"] for row in expected(PAPER)["table1"]["rows"]}
    named |= {row["conditional"] for row in expected(PAPER)["table2"]["rows"]}
    assert {name: law_of(name) for name in named} == {
        "vmf(kappa=1)": VonMisesFisher(kappa=1.0),
        "vmf(kappa=10)": VonMisesFisher(kappa=10.0),
        "laplace(0.05)": GeneralisedNormal.laplace(0.05),
        "normal(0.05)": GeneralisedNormal.normal(0.05),
        "normal(1)": GeneralisedNormal.normal(1.0),
        "gennorm3(0.05)": GeneralisedNormal(p=3.0, scale=0.05),
    }
    assert law_of("uniform") == Uniform()
    with pytest.raises(OptionError, match=r"No law is called 'cauchy\(1\)'"):
        law_of("cauchy(1)")


def test_a_seed_has_one_mixing_and_seeds_have_others():
    settings = pieces("table1", SCALES["smoke"])[0].settings
    first, same, other = (world_of(settings, seed, "cpu").mixing.weights for seed in (0, 0, 1))
    assert all(a.equal(b) for a, b in zip(first, same, strict=True))
    assert not any(a.equal(b) for a, b in zip(first, other, strict=True))


def test_a_stacked_seed_is_the_seed_alone(tmp_path):
    [row] = [p for p in pieces("table2", SCALES["smoke"]) if p.name == "row06-seed0"]
    short = {**row.settings, "training": {"steps": 5, "learning_rate": 1e-3}}
    context = Context(device="cpu", workspace=tmp_path)
    both = run(Piece(name="both", settings={**short, "seeds": [0, 1]}), context)["members"]
    (tmp_path / "checkpoint.pt").unlink()
    alone = run(Piece(name="alone", settings={**short, "seeds": [1]}), context)["members"]
    assert both[1]["r2"] == pytest.approx(alone[0]["r2"], rel=1e-3)
    assert both[1]["seed"] == alone[0]["seed"] == 1


@pytest.mark.parametrize(
    ("table", "only", "verdict"), [("table1", "row02-*", "orthogonal"), ("table2", "row06-*", None)]
)
def test_rows_are_made_and_summarised(tmp_path, table, only, verdict):
    summary = make(find(PAPER, table), scale="smoke", folder=tmp_path, only=only)
    [made] = [row for row in summary["values"]["rows"] if row["seeds"]]
    assert made["r2"]["mean"] > 85.0
    assert verdict is None or made["verdicts"] == {verdict: 1}
    assert made[summary["values"]["score"]]["reproduced"] is None
    assert "smaller world" in made[summary["values"]["score"]]["reason"]
    assert (tmp_path / "zimmermann_2021" / "results" / f"{table}-smoke.svg").exists()
    [record] = (tmp_path / "zimmermann_2021" / "results" / table / "smoke").iterdir()
    assert np.asarray(json.loads(record.read_text())["values"]["members"][0]["map"]).shape == (3, 3)


def test_identity_and_supervised_columns(tmp_path):
    for only in ("identity-box_*", "supervised-box"):
        make(find(PAPER, "table2"), scale="smoke", folder=tmp_path, only=f"{only}*")
    summary = make(find(PAPER, "table2"), scale="smoke", folder=tmp_path, only="identity-*")
    values = summary["values"]
    assert 40 < values["identity"]["box_uniform"]["mcc"]["mean"] < 95
    assert values["supervised"]["box"]["mcc"]["mean"] > 90
    assert values["supervised"]["box"]["verdicts"] == {"identity": 1}


def test_the_limit_is_reached(tmp_path):
    summary = make(find(PAPER, "limit"), scale="smoke", folder=tmp_path)
    assert len(summary["values"]) == 4
    for case in summary["values"].values():
        gaps = [abs(v["mean"] - case["limit"]) for v in case["contrastive_minus_log_m"]]
        assert gaps[-1] < 0.25 * gaps[0]
        assert abs(case["align_plus_uniform"]["mean"] - case["limit"]) < 0.1


def test_the_command_lists_and_makes(tmp_path):
    runner = CliRunner()
    listed = runner.invoke(app, ["reproduce"])
    assert listed.exit_code == 0
    assert "zimmermann-2021 table1 (smoke, small, paper, released)" in listed.stdout
    command = ["reproduce", PAPER, "table1", "--only", "identity-sphere_*", "--out", str(tmp_path)]
    made = runner.invoke(app, command)
    assert made.exit_code == 0
    assert "identity / sphere_uniform / r2:" in made.stdout
    as_json = runner.invoke(app, [*command, "--json"])
    assert json.loads(as_json.stdout)["figure"] == "table1"
    assert runner.invoke(app, ["reproduce", PAPER]).exit_code == 2


def test_all_reproductions_are_found():
    assert {one.figure for one in available() if one.paper == PAPER} == {
        "table1",
        "table2",
        "limit",
        "latents",
        "widths",
    }


def test_a_row_starts_where_its_pairs_are_told_apart_and_ends_at_the_papers_temperature():
    rows = {piece.name: piece.settings for piece in pieces("table1", SCALES["small"])}
    assert rows["row01-seed0"]["temperature"] == 1.0  # pairs too far apart for a sharper start
    assert rows["row04-seed0"]["temperature"] == 0.02
    assert "temperature" not in rows["supervised-sphere_uniform-seed0"]
    boxes = {piece.name: piece.settings for piece in pieces("table2", SCALES["small"])}
    assert [boxes[f"row0{k}-seed0"]["bound"] for k in (1, 2, 3)] == [1.0, 10.0, 2.0]

    temperature = torch.ones(2)
    lead = _cooling(temperature, {"temperature": 0.04}, 100)
    found = []
    for step in (0, 60, 78, 95, 99):
        lead(step)
        found.append(float(temperature[1]))
    assert found == pytest.approx([0.04, 0.04, 0.04 ** (17 / 35), 1.0, 1.0])
    assert _cooling(temperature, {"temperature": 1.0}, 100) is None


def test_a_start_is_told_apart_from_another():
    """Records made from another start are not taken for those of this one."""
    wide, matched = (
        next(
            p
            for p in pieces("table2", SCALES["small"] | {"start": start})
            if p.name == "row03-seed0"
        )
        for start in ("wide", "matched")
    )
    assert wide.settings != matched.settings


def test_the_loss_of_the_latents_themselves(tmp_path):
    values = make(find(PAPER, "latents"), scale="smoke", folder=tmp_path)["values"]
    assert len(values) == 12
    assert all(one["loss"] < one["chance"] for one in values.values())
    # Closer pairs are told apart better; a sphere has no scale.
    assert values["row04"]["loss"] < values["row02"]["loss"] < values["row01"]["loss"]
    assert values["row01"]["scale"] == 1.0
    assert 1.0 < values["row05"]["scale"] < 50.0
    assert 0.3 < values["row12"]["scale"] < 1.5
    assert (tmp_path / "zimmermann_2021" / "results" / "latents-smoke.svg").exists()


def test_rows_on_all_of_space_can_be_made_with_other_widths(tmp_path):
    summary = make(find(PAPER, "widths"), scale="smoke", folder=tmp_path, only="row12-sd0.3-*")
    value = summary["values"]["row 12, sd 0.3"]["r2"]
    assert value["paper"] == 98.76
    assert value["reproduced"] is None  # a smaller world
    assert 80.0 < value["mean"] < 100.0
    assert (tmp_path / "zimmermann_2021" / "results" / "widths-smoke.svg").exists()
