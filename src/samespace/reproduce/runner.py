"""Making reproductions: every missing piece, then the summaries."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from samespace.errors import MissingSourceError, OptionError
from samespace.reproduce import record
from samespace.reproduce.record import Record, plain
from samespace.reproduce.registry import Context, Piece, Progress, Reproduction, expected


def make(
    reproduction: Reproduction,
    *,
    scale: str,
    folder: Path | str = "reproductions",
    device: str = "cpu",
    only: str = "*",
    data: Path | str | None = None,
    captured: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run every piece that has no record yet, then summarise; safe to kill and to repeat.

    `only` is a pattern of piece names, such as ``"row01-*"``, to make a reproduction part by part; `data`
    is where data lie that the package does not ship; `captured` allows CUDA graphs.
    """
    [summary] = make_all(
        [reproduction],
        scale=scale,
        folder=folder,
        device=device,
        only=only,
        data=data,
        captured=captured,
        progress=progress,
    )
    return summary


def make_all(
    reproductions: Sequence[Reproduction],
    *,
    scale: str,
    folder: Path | str = "reproductions",
    device: str = "cpu",
    only: str = "*",
    data: Path | str | None = None,
    captured: bool = True,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Make several reproductions as `make` does, and what can be run `together` as one."""
    jobs = [job for one in reproductions for job in _jobs(one, scale, only, folder)]
    waiting = [job for job in jobs if not job.done]
    report, done = progress or _silent, len(jobs) - len(waiting)
    report("pieces", done, len(jobs))
    for batch in _batches(waiting):
        context = Context(
            device=device,
            workspace=_workspace(batch),
            progress=progress,
            data=None if data is None else Path(data),
            captured=captured,
        )
        _run(batch, context)
        done += len(batch)
        report("pieces", done, len(jobs))
    return [summarise(one, scale=scale, folder=folder) for one in reproductions]


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, kw_only=True)
class _Job:
    """A piece of a reproduction at one scale, and where its record belongs."""

    reproduction: Reproduction
    piece: Piece
    scale: str
    path: Path

    @property
    def done(self) -> bool:
        """Whether the piece has a record made with the very settings it has now."""
        return self.path.exists() and Record.read(self.path).settings == plain(self.piece.settings)

    def keep(self, values: Mapping[str, Any], *, seconds: float, device: str) -> None:
        """Write the record."""
        Record(
            paper=self.reproduction.paper,
            figure=self.reproduction.figure,
            scale=self.scale,
            piece=self.piece.name,
            settings=plain(self.piece.settings),
            values=plain(values),
            seconds=round(seconds, 3),
            device=device,
            machine=record.machine(device),
            versions=record.versions(),
            commit=record.commit(),
        ).write(self.path)


def _jobs(reproduction: Reproduction, scale: str, only: str, folder: Path | str) -> list[_Job]:
    pieces = reproduction.pieces(reproduction.settings(scale))
    chosen = [piece for piece in pieces if fnmatch(piece.name, only)]
    if not chosen:
        names = ", ".join(piece.name for piece in pieces)
        raise OptionError(f"No piece is called {only!r}; there are: {names}.")
    records = _results(reproduction, folder) / reproduction.figure / scale
    return [
        _Job(
            reproduction=reproduction,
            piece=piece,
            scale=scale,
            path=records / f"{piece.name}.json",
        )
        for piece in chosen
    ]


def _batches(jobs: Sequence[_Job]) -> list[list[_Job]]:
    """Put jobs that are run together into one batch, the others each into one of their own."""
    found: dict[Any, list[_Job]] = {}
    for number, job in enumerate(jobs):
        found.setdefault(job.reproduction.together or number, []).append(job)
    return list(found.values())


def _run(batch: Sequence[_Job], context: Context) -> None:
    """Run a batch and write its records; each is told its share of the time, earlier calls' included."""
    context.workspace.mkdir(parents=True, exist_ok=True)
    spent = context.workspace / "seconds"
    begun = time.perf_counter() - (float(spent.read_text("utf-8")) if spent.exists() else 0.0)
    try:
        values = _values(batch, context)
        seconds = (time.perf_counter() - begun) / len(batch)
        for job, its in zip(batch, values, strict=True):
            job.keep(its, seconds=seconds, device=context.device)
    except BaseException:  # an interrupt above all: what was trained until now was paid for
        spent.write_text(f"{time.perf_counter() - begun:.3f}\n", "utf-8")
        raise
    shutil.rmtree(context.workspace)


def _values(batch: Sequence[_Job], context: Context) -> Sequence[Mapping[str, Any]]:
    how = batch[0].reproduction
    if how.together is not None:
        return how.together([job.piece for job in batch], context)
    assert how.run is not None
    return [how.run(job.piece, context) for job in batch]


def summarise(
    reproduction: Reproduction, *, scale: str, folder: Path | str = "reproductions"
) -> dict[str, Any]:
    """Merge the records that are there into a summary beside the paper's numbers, and draw it."""
    results, jobs = _results(reproduction, folder), _jobs(reproduction, scale, "*", folder)
    records = [Record.read(job.path) for job in jobs if job.done]
    if not records:
        raise MissingSourceError(
            f"There is no record of {reproduction.paper} {reproduction.figure} at scale {scale} under "
            f"{results}; run `samespace reproduce` first."
        )
    values = reproduction.summarise(records, expected(reproduction.paper))
    summary = plain({**_head(reproduction, scale, records, len(jobs)), "values": values})
    record.write_json(results / f"{reproduction.figure}-{scale}.json", summary)
    if reproduction.draw is not None:
        reproduction.draw(summary, results / f"{reproduction.figure}-{scale}.svg")
    return summary


def _results(reproduction: Reproduction, folder: Path | str) -> Path:
    return Path(folder) / reproduction.paper.replace("-", "_") / "results"


def _workspace(batch: Sequence[_Job]) -> Path:
    """Return the batch's own folder; other settings get another, so no checkpoint is mistaken."""
    told = [json.dumps(plain(job.piece.settings), sort_keys=True) for job in batch]
    settings, path = "\n".join(told), batch[0].path
    return path.with_name(f".{path.stem}-{hashlib.sha256(settings.encode()).hexdigest()[:8]}")


def _head(
    reproduction: Reproduction, scale: str, records: list[Record], pieces: int
) -> Mapping[str, Any]:
    return {
        "paper": reproduction.paper,
        "figure": reproduction.figure,
        "scale": scale,
        "claim": reproduction.claim,
        "command": f"samespace reproduce {reproduction.paper} {reproduction.figure} --scale {scale}",
        "pieces": pieces,
        "recorded": len(records),
        "seconds": round(sum(one.seconds for one in records), 3),
    }
