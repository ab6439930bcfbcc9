"""Our tables beside the published ones: means over seeds, verdicts, and a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from samespace.reproduce.figure import canvas, save
from samespace.reproduce.record import Record, Value
from samespace.reproduce.zimmermann_2021.rows import SEEDS, encoder_of, latents_of, rows_of

_SCORE = {"table1": "r2", "table2": "mcc"}
_NAMED = {"r2": "R²", "mcc": "MCC"}
_LOST = 90.0
"""Below it a published row does not recover the latents, and there is nothing to be reached."""
_SMALLER = "the paper's row, but a smaller world, encoder and budget than the paper's"


def summarise(table: str, records: Sequence[Record], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the three columns of a table, each number a `Value` in percent."""
    published = expected[table]
    return {
        "score": _SCORE[table],
        "identity": _column(table, "identity", records, published),
        "supervised": _column(table, "supervised", records, published),
        "rows": [
            _row(
                number, row, table, [r for r in records if r.piece.startswith(f"row{number:02d}-")]
            )
            for number, row in enumerate(rows_of(table), start=1)
        ],
    }


def _column(
    table: str, column: str, records: Sequence[Record], published: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a column by the latents or the encoder that its numbers share."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.settings["column"] == column:
            settings = record.settings
            key = latents_of(settings) if column == "identity" else encoder_of(table, settings)
            found.setdefault(key, []).append(record)
    numbers = published[column]
    return {
        key: _scores(table, own, numbers[key] if isinstance(numbers, Mapping) else numbers)
        for key, own in found.items()
    }


def _row(
    number: int, row: Mapping[str, Any], table: str, records: Sequence[Record]
) -> dict[str, Any]:
    described = {key: value for key, value in row.items() if key != _SCORE[table]}
    return {"row": number, **described} | _scores(table, records, row[_SCORE[table]])


def _scores(table: str, records: Sequence[Record], paper: Sequence[float]) -> dict[str, Any]:
    """Return every score over seeds, the published one judged, and how often each verdict fell."""
    members = [member for record in records for member in record.values["members"]]
    if not members:
        return {"seeds": 0}
    smaller = _SMALLER if any(record.scale in ("smoke", "small") for record in records) else None
    scores = {
        name: Value.of(
            [100.0 * member[name] for member in members],
            paper=paper if name == _SCORE[table] else None,
            paper_n=SEEDS,
            better=None if records[0].settings["column"] == "identity" else "high",
            at_least=0.005,
            incomparable=smaller if name == _SCORE[table] else None,
        )
        for name in ("r2", "r2_held_out", "mcc", "mcc_held_out")
    }
    verdicts = Counter(member["verdict"] for member in members)
    return {
        "seeds": len(members),
        **scores,
        "verdicts": dict(verdicts),
        "seconds": sum(record.seconds for record in records),
        **_pace(records, _SCORE[table].upper(), paper),
    }


def _pace(records: Sequence[Record], score: str, paper: Sequence[float]) -> dict[str, Any]:
    """Return what a step cost, and after how many steps the score was and stayed the published one.

    Seconds are the clock's: of a GPU that several rows share they are its share times the sharers.
    """
    told = [record.values["training"] for record in records if "training" in record.values]
    if not told:
        return {}
    each = [story["seconds_per_step"] for story in told]
    step, first = None if None in each else sum(each), _first_reached(told, score, paper)
    return {
        "steps": told[0]["steps"][-1],
        "seconds_per_step": step,
        "steps_to_published": first,
        "seconds_to_published": None if first is None or step is None else first * step,
    }


def _first_reached(
    told: Sequence[Mapping[str, Any]], score: str, paper: Sequence[float]
) -> int | None:
    """Return the step from which on the score is the published one, or better."""
    first = None
    for k, step in reversed(list(enumerate(told[0]["steps"]))):
        now = [100.0 * value for story in told for value in story["scores"][k][score]]
        value = Value.of(now, paper=paper, paper_n=SEEDS, better="high", at_least=0.005)
        if paper[0] < _LOST or not value.reproduced:
            break
        first = int(step)
    return first


def draw(summary: Mapping[str, Any], path: Path) -> None:
    """Draw what each recorded number leaves of 100%, on a log axis, beside the paper's."""
    values = summary["values"]
    score = values["score"]
    points = [(label, one[score]) for label, one in _entries(values) if one["seeds"]]
    figure, axes = canvas(width=8.0, height=1.2 + 0.28 * len(points))
    for height, (_, value) in enumerate(reversed(points)):
        ours = _left(value["mean"], value["sd"])
        axes.errorbar(ours[0], height - 0.1, xerr=ours[1], fmt="o", color="0.1", ms=5, label="ours")
        paper = _left(value["paper"], value["paper_sd"])
        axes.errorbar(
            paper[0], height + 0.15, xerr=paper[1], fmt="|", color="0.5", ms=9, label="paper"
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(points)), [label for label, _ in reversed(points)])
    axes.grid(axis="y", color="0.93")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"100 - {_NAMED[score]} [%], log scale")
    figure.legend(
        *(each[:2] for each in axes.get_legend_handles_labels()),
        loc="outside upper center",
        ncols=2,
        frameon=False,
        title=f"scale {summary['scale']}; bars: one standard deviation over seeds",
    )
    save(figure, path)


def _left(mean: float, sd: float | None) -> tuple[float, list[list[float]]]:
    """Return 100 - mean, at least 0.001, and how far its bar reaches down and up."""
    left = max(100.0 - mean, 1e-3)
    spread = sd or 0.0
    return left, [[min(spread, 0.9 * left)], [spread]]


def _entries(values: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for column in ("identity", "supervised"):
        for key, one in values[column].items():
            yield f"{column}: {key.replace('_', ', ')}", one
    for row in values["rows"]:
        yield (
            f"{row['row']}: {row['space']}, {row['marginal']}, {row['conditional']} | "
            f"{row['model_space']}, p = {row['model_p']}",
            row,
        )
