"""Making a reproduction: every missing piece, then the summary."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping
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
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run every piece that has no record yet, then summarise; safe to kill and to repeat.

    `only` is a pattern of piece names, such as ``"row01-*"``, to make a reproduction part by part; `data`
    is where data lie that the package does not ship.
    """
    pieces = _matching(reproduction, scale, only)
    results = _results(reproduction, folder)
    for done, piece in enumerate(pieces):
        if progress is not None:
            progress("pieces", done, len(pieces))
        path = results / reproduction.figure / scale / f"{piece.name}.json"
        if not _is_done(path, piece):
            context = Context(
                device=device,
                workspace=_workspace(path, piece),
                progress=progress,
                data=None if data is None else Path(data),
            )
            _run(reproduction, piece, scale, path, context)
    if progress is not None:
        progress("pieces", len(pieces), len(pieces))
    return summarise(reproduction, scale=scale, folder=folder)


def summarise(
    reproduction: Reproduction, *, scale: str, folder: Path | str = "reproductions"
) -> dict[str, Any]:
    """Merge the records that are there into a summary beside the paper's numbers, and draw it."""
    pieces = reproduction.pieces(reproduction.settings(scale))
    results = _results(reproduction, folder)
    paths = [results / reproduction.figure / scale / f"{piece.name}.json" for piece in pieces]
    records = [
        Record.read(path)
        for path, piece in zip(paths, pieces, strict=True)
        if _is_done(path, piece)
    ]
    if not records:
        raise MissingSourceError(
            f"There is no record of {reproduction.paper} {reproduction.figure} at scale {scale} under "
            f"{results}; run `samespace reproduce` first."
        )
    values = reproduction.summarise(records, expected(reproduction.paper))
    summary = plain({**_head(reproduction, scale, records, len(pieces)), "values": values})
    record.write_json(results / f"{reproduction.figure}-{scale}.json", summary)
    if reproduction.draw is not None:
        reproduction.draw(summary, results / f"{reproduction.figure}-{scale}.svg")
    return summary


def _matching(reproduction: Reproduction, scale: str, only: str) -> list[Piece]:
    pieces = reproduction.pieces(reproduction.settings(scale))
    chosen = [piece for piece in pieces if fnmatch(piece.name, only)]
    if not chosen:
        names = ", ".join(piece.name for piece in pieces)
        raise OptionError(f"No piece is called {only!r}; there are: {names}.")
    return chosen


def _results(reproduction: Reproduction, folder: Path | str) -> Path:
    return Path(folder) / reproduction.paper.replace("-", "_") / "results"


def _is_done(path: Path, piece: Piece) -> bool:
    """Tell whether the piece has a record made with the very settings it has now."""
    return path.exists() and Record.read(path).settings == plain(piece.settings)


def _workspace(path: Path, piece: Piece) -> Path:
    """Return the piece's own folder; other settings get another, so no checkpoint is mistaken."""
    settings = json.dumps(plain(piece.settings), sort_keys=True)
    return path.with_name(f".{piece.name}-{hashlib.sha256(settings.encode()).hexdigest()[:8]}")


def _run(
    reproduction: Reproduction,
    piece: Piece,
    scale: str,
    path: Path,
    context: Context,
) -> None:
    context.workspace.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    values = reproduction.run(piece, context)
    Record(
        paper=reproduction.paper,
        figure=reproduction.figure,
        scale=scale,
        piece=piece.name,
        settings=plain(piece.settings),
        values=plain(values),
        seconds=round(time.perf_counter() - begun, 3),
        device=context.device,
        machine=record.machine(context.device),
        versions=record.versions(),
        commit=record.commit(),
    ).write(path)
    shutil.rmtree(context.workspace)


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
