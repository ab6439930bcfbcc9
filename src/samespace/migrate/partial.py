"""Unfinished output on disk: rows appended to one file, and a manifest that says how far it is sound.

Work can stop at any moment, killed or by Ctrl-C. The rows lie in ``.NAME.partial`` beside the output
``NAME``; ``manifest.json`` names the job and counts the rows that surely are on the disk. Whoever
comes next with the same job cuts the file back to that count and goes on; with another job it is an error.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from samespace.errors import InterruptedWorkError, OutputError, SamespaceError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from jaxtyping import Float
    from numpy import ndarray as Array

CHECKPOINT_SECONDS = 5.0


class Partial:
    """A file of rows that grows, and can be left and taken up again.

    Use it as a context. Leaving it early, by Ctrl-C or a full disk, writes a last checkpoint; leaving it
    because the rows are no good removes everything, for there is nothing to come back to.

    Parameters
    ----------
    output
        What the finished file or folder will be called.
    job
        What is being made, JSON-able: work on disk is only taken up for an equal job.
    header
        The bytes before the first row.
    row_bytes
        The size of a row.
    force
        Throw away what another job left, instead of refusing.

    Attributes
    ----------
    done
        The number of rows written so far; on opening, those found.
    rows_path, scratch
        The file of rows, and a path in the folder for whatever is made of it.
    """

    def __init__(
        self, output: Path, job: Mapping[str, Any], *, header: bytes, row_bytes: int, force: bool
    ) -> None:
        self.folder = partial_folder(output)
        self.rows_path, self.scratch = self.folder / "rows", self.folder / "finished"
        self._output, self._job = output, dict(job)
        self._header, self._row_bytes = header, row_bytes
        self.done = prepare(self.folder, self._job, force=force).get("rows", 0)
        self._saved = time.monotonic()

    def __enter__(self) -> Self:
        self._file: BinaryIO = self.rows_path.open("r+b" if self.rows_path.exists() else "w+b")
        self._lock()
        end = len(self._header) + self.done * self._row_bytes
        if self.rows_path.stat().st_size < end:
            self.done, end = 0, len(self._header)  # the rows were taken away: begin again
        self._file.write(self._header)
        self._file.truncate(end)
        self._file.seek(end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, SamespaceError):
                shutil.rmtree(self.folder)
            elif error is not None:
                self.checkpoint()
        finally:
            self._file.close()

    def _lock(self) -> None:
        """Keep a second process out; the system lets go when this one ends, however it ends."""
        try:
            import fcntl
        except ImportError:  # Windows, where a second process is not noticed
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise InterruptedWorkError(
                f"another process is writing {self._output}. Wait for it, or name another output."
            ) from error

    def append(self, rows: Float[Array, "k d"]) -> None:
        """Write rows; from time to time make sure that they are on the disk."""
        self._file.write(np.ascontiguousarray(rows).data)
        self.done += len(rows)
        if time.monotonic() - self._saved > CHECKPOINT_SECONDS:
            self.checkpoint()

    def append_bytes(self, data: bytes | memoryview) -> None:
        """Write what follows the last row."""
        self._file.write(data)

    def checkpoint(self) -> None:
        """Put all rows on the disk, then say so in the manifest: in this order, or it could lie."""
        self._file.flush()
        os.fsync(self._file.fileno())
        write_manifest(self.folder, {"job": self._job, "rows": self.done})
        self._saved = time.monotonic()

    def publish(self, finished: Path) -> None:
        """Give the finished file its name, in one step, and clear up."""
        self._file.flush()
        publish(finished, self._output)


def partial_folder(output: Path) -> Path:
    """Return the folder that holds the unfinished work for an output."""
    return output.with_name(f".{output.name}.partial")


def prepare(folder: Path, job: Mapping[str, Any], *, force: bool) -> dict[str, Any]:
    """Make the folder for a job, or find it; return its manifest.

    Raises
    ------
    InterruptedWorkError
        When the folder holds another job's work and `force` is False.
    """
    manifest = folder / "manifest.json"
    if manifest.exists():
        found: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))
        if found["job"] == dict(job):
            return found
        if not force:
            other = [key for key in job if found["job"].get(key) != job[key]]
            raise InterruptedWorkError(
                f"{folder} holds unfinished work with another {', '.join(other)}. Finish that with the "
                "same arguments, or delete the folder; --force (force=True) does the latter."
            )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fresh = {"job": dict(job), "rows": 0}
    write_manifest(folder, fresh)
    return fresh


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Replace the manifest in one step."""
    draft = folder / "manifest.json.new"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / "manifest.json")


def publish(finished: Path, output: Path) -> None:
    """Move what is finished to its name and remove the folder of its unfinished state."""
    if finished.is_file():
        sync(finished)
    elif output.is_dir():
        os.replace(
            output, partial_folder(output) / "replaced"
        )  # a folder cannot replace a full one
    os.replace(finished, output)
    sync(output.parent)
    shutil.rmtree(partial_folder(output))


def sync(path: Path) -> None:
    """Make the system write a file's content, or a folder's list of names, to the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open folders, and journals renames
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_free(output: Path, *, force: bool) -> None:
    """Raise `OutputError` when something would be overwritten, or the folder is missing."""
    if output.exists() and not force:
        raise OutputError(
            f"{output} exists and would be overwritten. Name another output, or write --force "
            "(force=True)."
        )
    if not output.parent.is_dir():
        raise OutputError(
            f"there is no folder {output.parent} to write {output.name} to. Make it first."
        )
