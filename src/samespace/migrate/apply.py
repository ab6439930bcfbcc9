"""Apply a map to an index: vectors in, mapped vectors out, streaming, atomically, resumably."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import (
    FormatError,
    NotFiniteError,
    OptionError,
    OutputError,
    ShapeError,
)
from samespace.maps import Map
from samespace.migrate.columns import ParquetLayout
from samespace.migrate.layouts import Layout, NpyLayout, SafetensorsLayout
from samespace.migrate.partial import Partial, check_free, partial_folder, prepare, publish
from samespace.representation import Representation
from samespace.sources.finite import is_finite
from samespace.sources.opening import KINDS, find_files, kind_of, open_files
from samespace.sources.source import Source

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

Progress = Callable[[str, int, int], None]

DTYPES = ("float16", "float32", "float64")
LAYOUTS: dict[str, type[Layout]] = {
    "npy": NpyLayout,
    "parquet": ParquetLayout,
    "safetensors": SafetensorsLayout,
}
_BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class Applied:
    """What `apply` wrote.

    Attributes
    ----------
    output
        The file or folder.
    rows, resumed
        The rows in it, and how many of them an earlier, interrupted run had made.
    dropped
        Columns or tensors of the input that the output's format does not keep.
    seconds
        How long it took.
    """

    output: Path
    rows: int
    resumed: int
    dropped: tuple[str, ...]
    seconds: float


def apply(
    fitted: Map | str | Path,
    source: str | Path,
    output: str | Path,
    *,
    column: str | None = None,
    dtype: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Applied:
    """Rewrite the vectors of a file, or of a folder of files, with a map.

    Parameters
    ----------
    fitted
        The map, or the file that one was saved to.
    source
        A file, a folder or a glob of vectors: what `samespace.Representation.of` reads.
    output
        ``.npy``, ``.parquet`` or ``.safetensors`` for one file. A name without suffix is a folder
        that gets one file for each of the input, in the input's format.
    column
        The column or tensor that holds the vectors, where there is more than one.
    dtype
        "float16", "float32" or "float64"; by default the input's own, and float32 for other types.
    force
        Overwrite an existing output, and throw away unfinished work of other arguments.
    progress
        Called with (stage, done, total), in rows.

    Notes
    -----
    The rows keep their order. Parquet keeps the ids and all other columns, safetensors the other
    tensors; `Applied.dropped` names what another format cannot keep. Memory is a few batches.

    Unfinished work lies in ``.NAME.partial`` beside the output and is taken up by the next call with
    the same map, input and options; the output appears under its name only when it is complete.

    Examples
    --------
    >>> import numpy as np, tempfile, samespace as ss
    >>> from samespace.migrate import apply
    >>> folder = tempfile.mkdtemp()
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> np.save(f"{folder}/old.npy", X)
    >>> fitted = ss.maps.Affine.fit(X, 2 * X + 1)
    >>> apply(fitted, f"{folder}/old.npy", f"{folder}/new.npy").rows
    100
    >>> bool(np.allclose(np.load(f"{folder}/new.npy"), 2 * X + 1))
    True
    """
    begun = time.monotonic()
    output = Path(output)
    if dtype is not None and dtype not in DTYPES:
        raise OptionError(f"dtype={dtype!r}; write one of {', '.join(DTYPES)}.")
    check_free(output, force=force)
    fitted = fitted if isinstance(fitted, Map) else Map.load(fitted)
    work = _Work(fitted, column, dtype, force)
    files = find_files(source)
    try:
        if output.suffix:
            rows, resumed, dropped = work.write_file(files, output, progress)
        else:
            rows, resumed, dropped = work.write_folder(Path(source), files, output, progress)
    except OSError as error:
        raise OutputError(
            f"writing {output} stopped ({error}). What is done is kept; run the same command to go on."
        ) from error
    return Applied(output, rows, resumed, dropped, time.monotonic() - begun)


@dataclass(frozen=True)
class _Work:
    """The options of one call, for its one file or its many."""

    fitted: Map
    column: str | None
    dtype: str | None
    force: bool

    def write_folder(
        self, root: Path, files: list[Path], output: Path, progress: Progress | None
    ) -> tuple[int, int, tuple[str, ...]]:
        """Write one file for each of the input; return rows, rows found done, what was dropped."""
        format_of(Path(f"{output}{files[0].suffix}"))  # each file is written in its input's format
        sizes = [self._open([file]).n for file in files]
        folder, place = partial_folder(output), partial_folder(output) / "finished"
        prepare(folder, self._job(files, kind_of(files)), force=self.force)
        done, resumed = 0, 0
        dropped: tuple[str, ...] = ()
        for file, size in zip(files, sizes, strict=True):
            target = place / (file.relative_to(root) if root.is_dir() else file.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                found = size
            else:
                _, found, dropped = self.write_file(
                    [file], target, _after(progress, done, sum(sizes))
                )
            done, resumed = done + size, resumed + found
        publish(place, output)
        return done, resumed, dropped

    def write_file(
        self, files: list[Path], output: Path, progress: Progress | None
    ) -> tuple[int, int, tuple[str, ...]]:
        """Write one file from all rows of the input; return rows, rows found done, what was dropped."""
        rows = Representation(str(files[0]), self._open(files))
        layout = self._layout(rows.source, output)
        job = self._job(files, format_of(output)) | {"dtype": layout.dtype}
        partial = Partial(
            output, job, header=layout.header(), row_bytes=layout.row_bytes, force=self.force
        )
        with partial:
            resumed = partial.done
            batch = max(1, _BATCH_BYTES // (8 * max(self.fitted.d_x, self.fitted.d_y)))
            for block in rows.batches(batch, start=resumed):
                partial.append(self._mapped(block, layout.dtype, rows.name))
                if progress is not None:
                    progress("applying", partial.done, rows.n)
            partial.checkpoint()  # whatever happens to the last step, the arithmetic is done
            finished = layout.finish(partial, progress)
            partial.publish(finished)
        return rows.n, resumed, layout.dropped

    def _open(self, files: list[Path]) -> Source:
        source = open_files(files, column=self.column)
        if source.d != self.fitted.d_x:
            raise ShapeError(
                f"{files[0]} holds vectors of width {source.d}; the map takes width {self.fitted.d_x} "
                f"and gives width {self.fitted.d_y}. Name the column or the map that fits."
            )
        return source

    def _layout(self, source: Source, output: Path) -> Layout:
        dtype = self.dtype or (source.dtype if source.dtype in DTYPES else "float32")
        return LAYOUTS[format_of(output)].plan(source, (source.n, self.fitted.d_y), dtype)

    def _mapped(self, block: Float[Array, "k d_x"], dtype: str, name: str) -> Float[Array, "k d_y"]:
        with np.errstate(over="ignore"):
            mapped = self.fitted.transform(block).astype(dtype, copy=False)
        if not is_finite(mapped):
            raise NotFiniteError(
                f"vectors of {name} overflow {dtype} once they are mapped. Write --dtype float32 "
                "(dtype='float32')."
            )
        return mapped

    def _job(self, files: list[Path], kind: str) -> dict[str, Any]:
        """What must be equal for unfinished work to be taken up again."""
        return {
            "map": _fingerprint(self.fitted),
            "input": [[str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns] for f in files],
            "column": self.column,
            "format": kind,
            "dtype": self.dtype,
        }


def format_of(output: Path) -> str:
    """Return the kind of file that a name asks for by its suffix."""
    kind = KINDS.get(output.suffix.lower(), "")
    if kind not in LAYOUTS:
        raise FormatError(
            f"{output} is of a kind that is not written ('{output.suffix}'); needed is .npy, .parquet "
            "or .safetensors, or a name without suffix for a folder."
        )
    return kind


def _fingerprint(fitted: Map) -> str:
    digest = hashlib.sha256(fitted.kind.encode())
    for part in (fitted.matrix, fitted.bias):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _after(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Report the rows of one file as part of all files'."""
    if progress is None:
        return None
    return lambda stage, done, _: progress(stage, before + done, total)
