"""From a path to the source that reads it: a file, a folder of files, or a glob."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from samespace.errors import FormatError, MissingSourceError, OptionError
from samespace.sources.source import Source

KINDS = {
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".safetensors": "safetensors",
    ".faiss": "faiss",
    ".lance": "lance",
}
_ADVICE = {
    ".npz": "Write np.save('x.npy', np.load('x.npz')['name']).",
    ".csv": "Write it as Parquet with one list column.",
    ".json": "Write it as Parquet with one list column.",
    ".jsonl": "Write it as Parquet with one list column.",
    ".pkl": "A pickle can run any code when it is read. Write np.save('x.npy', x).",
    ".pickle": "A pickle can run any code when it is read. Write np.save('x.npy', x).",
    ".pt": "It is a pickle. Write safetensors.torch.save_file({'x': x}, 'x.safetensors').",
    ".pth": "It is a pickle. Write safetensors.torch.save_file({'x': x}, 'x.safetensors').",
    ".bin": "If it is raw float32, write np.save('x.npy', np.fromfile(path, 'f4').reshape(-1, d)).",
}
_SUPPORTED = ".npy, .parquet, .safetensors, .lance and .faiss"


def open_source(
    path: str | Path, *, column: str | None = None, id_column: str | None = None
) -> Source:
    """Return the source for a path: one file, a folder (read recursively) or a glob.

    Several files are read as one, in the order of their names. Files and folders whose names begin
    with a dot or an underscore are skipped, as Spark, Hive and Arrow do.
    """
    return open_files(find_files(path), column=column, id_column=id_column)


def open_files(
    files: Sequence[Path], *, column: str | None = None, id_column: str | None = None
) -> Source:
    """Return the source that reads these files as one, in this order."""
    return _open(kind_of(files), files, column, id_column)


def kind_of(files: Sequence[Path]) -> str:
    """Return the one kind that all files are of."""
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise FormatError(
            f"{files[0].parent} holds files of several kinds ({', '.join(sorted(kinds))}); needed is "
            f"one. Write a glob, for instance '{files[0].parent}/*.parquet'."
        )
    return kinds.pop()


def find_files(path: str | Path) -> list[Path]:
    """Return the files a path means, sorted by name, or raise `MissingSourceError`."""
    place = Path(path).expanduser()
    if place.is_file() or (place.suffix == ".lance" and place.is_dir()):
        return [place]
    if place.is_dir():
        found = [file for file in place.rglob("*") if _is_data(file.relative_to(place), file)]
        if found:
            return sorted(found)
        raise MissingSourceError(f"folder {path} holds no {_SUPPORTED} file.")
    found = [Path(name) for name in glob.glob(str(place), recursive=True)]
    if found:
        return sorted(file for file in found if file.is_file() or file.suffix == ".lance")
    raise MissingSourceError(
        f"there is nothing at {path}. Needed is a file ({_SUPPORTED}), a folder of them, or a glob in "
        "quotes."
    )


def _is_data(relative: Path, file: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in relative.parts)
    return file.suffix.lower() in KINDS and file.is_file() and not hidden


def _kind(file: Path) -> str:
    suffix = file.suffix.lower()
    if suffix not in KINDS:
        raise FormatError(
            f"{file} is of a kind that is not read ('{suffix or 'no suffix'}'); needed is one of "
            f"{_SUPPORTED}. {_ADVICE.get(suffix, 'Write np.save for one matrix.')}"
        )
    return KINDS[suffix]


def _open(kind: str, files: Sequence[Path], column: str | None, id_column: str | None) -> Source:
    # Each kind is imported when it is met: Arrow alone takes longer to load than samespace.
    if kind == "parquet":
        from samespace.sources.parquet import ParquetSource

        return ParquetSource(files, column=column, id_column=id_column)
    if kind == "safetensors":
        from samespace.sources.safetensors import SafetensorsSource

        return SafetensorsSource(files, column=column, id_column=id_column)
    if kind == "lance":
        from samespace.sources.lance import open_lance

        return open_lance(files, column=column, id_column=id_column)
    _refuse_columns(kind, column, id_column)
    if kind == "faiss":
        from samespace.sources.faiss import open_faiss

        return open_faiss(files)
    from samespace.sources.npy import open_npy

    return open_npy(files)


def _refuse_columns(kind: str, column: str | None, id_column: str | None) -> None:
    """A file without columns cannot honour the name of one."""
    if column is not None:
        raise OptionError(f"a .{kind} file has no columns, so column '{column}' cannot be picked.")
    if id_column is not None:
        raise OptionError(
            f"a .{kind} file has no columns, so ids cannot be read from '{id_column}'. "
            "Give the ids as arrays, on=(ids_old, ids_new), or write Parquet with an id column."
        )
