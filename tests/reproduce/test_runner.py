"""A reproduction is made in pieces: whole records, no piece twice, a summary beside the paper."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from samespace.errors import FormatError, MissingSourceError, OptionError
from samespace.reproduce import (
    Piece,
    Record,
    Reproduction,
    Value,
    find,
    find_all,
    make,
    make_all,
    summarise,
)

PUBLISHED = [2.0, 0.1]


def squares(run, *, seeds=3, factor=1.0):
    """A reproduction whose piece `seed` gives factor * seed**2."""

    def pieces(settings):
        return [
            Piece(name=f"seed{seed}", settings={**settings, "seed": seed})
            for seed in range(settings["seeds"])
        ]

    return Reproduction(
        paper="nobody-1900",
        figure="table1",
        claim="Squares grow.",
        scales={"smoke": {"seeds": seeds, "factor": factor}},
        pieces=pieces,
        run=run,
        summarise=lambda records, expected: {
            "square": Value.of([r.values["square"] for r in records], paper=PUBLISHED)
        },
    )


def square(piece, context):
    return {"square": piece.settings["factor"] * piece.settings["seed"] ** 2}


def test_makes_every_piece_and_summarises(tmp_path):
    summary = make(squares(square), scale="smoke", folder=tmp_path)
    results = tmp_path / "nobody_1900" / "results"
    assert sorted(p.name for p in (results / "table1" / "smoke").iterdir()) == [
        "seed0.json",
        "seed1.json",
        "seed2.json",
    ]
    assert summary["values"]["square"]["mean"] == pytest.approx(5 / 3)
    assert summary["recorded"] == summary["pieces"] == 3
    assert json.loads((results / "table1-smoke.json").read_text()) == summary
    record = Record.read(results / "table1" / "smoke" / "seed2.json")
    assert record.settings == {"seeds": 3, "factor": 1.0, "seed": 2}
    assert record.machine["cores"] >= 1
    assert "numpy" in record.versions


def test_resumes_after_a_failure_and_repeats_nothing(tmp_path):
    ran = []

    def fails_once(piece, context):
        ran.append(piece.name)
        (context.workspace / "checkpoint").write_text("half")
        if ran.count("seed1") == 1 and piece.name == "seed1":
            raise KeyboardInterrupt
        return square(piece, context)

    with pytest.raises(KeyboardInterrupt):
        make(squares(fails_once), scale="smoke", folder=tmp_path)
    assert summarise(squares(square), scale="smoke", folder=tmp_path)["recorded"] == 1
    make(squares(fails_once), scale="smoke", folder=tmp_path)
    assert ran == ["seed0", "seed1", "seed1", "seed2"]
    assert not list(tmp_path.rglob(".seed*"))


def test_a_record_counts_the_time_of_interrupted_calls_too(tmp_path, monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr("samespace.reproduce.runner.time.perf_counter", lambda: clock[0])

    def takes_long(piece, context):
        clock[0] += 10.0
        calls.append(piece.name)
        if len(calls) < 3:
            raise KeyboardInterrupt
        return square(piece, context)

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            make(squares(takes_long, seeds=1), scale="smoke", folder=tmp_path)
        clock[0] += 3600.0  # nobody works in between
    make(squares(takes_long, seeds=1), scale="smoke", folder=tmp_path)
    path = tmp_path / "nobody_1900" / "results" / "table1" / "smoke" / "seed0.json"
    assert Record.read(path).seconds == pytest.approx(30.0)


def test_a_piece_is_told_where_the_users_data_lie(tmp_path):
    told = []

    def looks(piece, context):
        told.append(context.data)
        return square(piece, context)

    make(squares(looks, seeds=1), scale="smoke", folder=tmp_path / "silent")
    make(squares(looks, seeds=1), scale="smoke", folder=tmp_path / "named", data="some/text")
    assert told == [None, Path("some/text")]


def test_other_settings_are_run_again(tmp_path):
    make(squares(square), scale="smoke", folder=tmp_path)
    again = make(squares(square, factor=2.0), scale="smoke", folder=tmp_path)
    assert again["values"]["square"]["mean"] == pytest.approx(10 / 3)


def test_only_some_pieces(tmp_path):
    summary = make(squares(square), scale="smoke", folder=tmp_path, only="seed[12]")
    assert (summary["recorded"], summary["pieces"]) == (2, 3)
    with pytest.raises(OptionError, match="No piece is called 'row'; there are: seed0, seed1"):
        make(squares(square), scale="smoke", folder=tmp_path, only="row")


def test_progress_counts_pieces(tmp_path):
    seen = []
    make(squares(square), scale="smoke", folder=tmp_path, progress=lambda *step: seen.append(step))
    assert seen == [("pieces", done, 3) for done in range(4)]


def test_pieces_of_several_figures_run_together_where_they_can(tmp_path):
    batches = []

    def all_squares(pieces, context):
        batches.append([piece.name for piece in pieces])
        assert context.captured is False
        return [square(piece, context) for piece in pieces]

    two = [
        replace(squares(None, seeds=seeds), figure=name, together=all_squares)
        for name, seeds in (("table1", 2), ("table2", 3))
    ]
    make(two[0], scale="smoke", folder=tmp_path, only="seed0", captured=False)
    alone = replace(squares(square), figure="table3")
    seen = []
    summaries = make_all(
        [*two, alone],
        scale="smoke",
        folder=tmp_path,
        captured=False,
        progress=lambda *step: seen.append(step),
    )
    assert batches == [["seed0"], ["seed1", "seed0", "seed1", "seed2"]]
    assert [one["recorded"] for one in summaries] == [2, 3, 3]
    assert summaries[1]["values"] == summaries[2]["values"]
    assert seen == [("pieces", done, 8) for done in (1, 5, 6, 7, 8)]
    assert not list(tmp_path.rglob(".seed*"))


def test_figures_are_found_by_patterns_each_once():
    found = find_all("semantic-learners", ["fig2?", "fig2a", "choices"])
    assert [one.figure for one in found] == ["fig2a", "fig2b", "choices"]
    with pytest.raises(OptionError, match="no reproduction 'semantic-learners' 'table\\*'"):
        find_all("semantic-learners", ["fig4", "table*"])


def test_value_judges_by_two_joint_standard_errors():
    inside = Value.of([1.9, 2.0, 2.3], paper=PUBLISHED, paper_n=5)
    assert inside.reproduced
    assert inside.mean == pytest.approx(6.2 / 3)
    outside = Value.of([2.5, 2.5, 2.5], paper=PUBLISHED, paper_n=5)
    assert outside.reproduced is False
    assert "outside the margin" in outside.reason
    assert Value.of([2.5, 2.5], paper=PUBLISHED, paper_n=5, better="high").reproduced
    assert Value.of([2.5, 2.5], paper=PUBLISHED, paper_n=5, better="low").reproduced is False
    assert Value.of([2.004], paper=2.0, at_least=0.005).reproduced
    assert Value.of([2.0]).reproduced is None
    smaller = Value.of([9.0], paper=PUBLISHED, incomparable="a smaller world")
    assert (smaller.reproduced, smaller.reason, smaller.paper) == (None, "a smaller world", 2.0)
    assert Value.of([2.0]).sd is None


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(OptionError, match="no scale 'huge'; it has smoke"):
        make(squares(square), scale="huge", folder=tmp_path)
    with pytest.raises(MissingSourceError, match="run `samespace reproduce` first"):
        summarise(squares(square), scale="smoke", folder=tmp_path)
    with pytest.raises(OptionError, match="no reproduction 'nobody-1900' 'table9'"):
        find("nobody-1900", "table9")
    with pytest.raises(OptionError, match="at least one measurement"):
        Value.of([])
    with pytest.raises(OptionError, match="'high', 'low' or None; got 'up'"):
        Value.of([1.0], better="up")
    with pytest.raises(OptionError, match="got object"):
        make(squares(lambda piece, context: {"square": object()}), scale="smoke", folder=tmp_path)
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(FormatError, match="is not a record"):
        Record.read(broken)
