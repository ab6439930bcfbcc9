"""What was measured, with all that is needed to measure it again, and what it says of the paper."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from samespace.errors import FormatError, OptionError


@dataclass(frozen=True, kw_only=True)
class Record:
    """One piece as it was run: its values, and what made them."""

    paper: str
    figure: str
    scale: str
    piece: str
    settings: Mapping[str, Any]
    values: Mapping[str, Any]
    seconds: float
    device: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    commit: str | None

    def write(self, path: Path) -> None:
        """Write the record to a file, whole or not at all."""
        write_json(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a record written by `write`."""
        try:
            return cls(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError) as error:
            names = ", ".join(field.name for field in fields(cls))
            raise FormatError(
                f"{path} is not a record ({error}); a record is a JSON object of {names}. "
                "Delete the file to have its piece run again."
            ) from error


@dataclass(frozen=True, kw_only=True)
class Value:
    """A number over seeds beside the published one, and whether it was reproduced."""

    mean: float
    sd: float | None
    n: int
    paper: float | None
    paper_sd: float | None
    reproduced: bool | None
    reason: str

    @classmethod
    def of(
        cls,
        measured: Sequence[float],
        *,
        paper: float | Sequence[float] | None = None,
        paper_n: int = 1,
        better: str | None = None,
        at_least: float = 0.0,
        incomparable: str | None = None,
    ) -> Value:
        """Judge measurements against a published mean: within two joint standard errors, or better.

        Parameters
        ----------
        measured
            One number per seed.
        paper
            The published mean, or (mean, sd); None where the paper gives no number.
        paper_n
            The number of seeds behind the published mean.
        better
            "high" or "low" where an improvement counts as reproduced; None where only equality does.
        at_least
            A difference that is below what the paper prints, such as half of its last digit.
        incomparable
            Why the two numbers must not be judged, such as a smaller scale than the paper's.
        """
        if not measured:
            raise OptionError("A value needs at least one measurement; got none.")
        if better not in (None, "high", "low"):
            raise OptionError(f"better is 'high', 'low' or None; got {better!r}.")
        mean, sd, n = *_mean_sd(measured), len(measured)
        theirs, their_sd = _published(paper)
        verdict, reason = None, incomparable or "the paper gives no number"
        if theirs is not None and incomparable is None:
            variance = (sd or 0.0) ** 2 / n + (their_sd or 0.0) ** 2 / paper_n
            margin = max(2.0 * math.sqrt(variance), at_least)
            verdict, reason = _judge(mean - theirs, margin, better)
        return cls(
            mean=mean,
            sd=sd,
            n=n,
            paper=theirs,
            paper_sd=their_sd,
            reproduced=verdict,
            reason=reason,
        )


def _mean_sd(measured: Sequence[float]) -> tuple[float, float | None]:
    n, mean = len(measured), math.fsum(measured) / len(measured)
    if n == 1:
        return mean, None
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in measured) / (n - 1))


def _published(
    paper: float | Sequence[float] | None,
) -> tuple[float | None, float | None]:
    if paper is None:
        return None, None
    if isinstance(paper, Sequence):
        return float(paper[0]), float(paper[1])
    return float(paper), None


def _judge(gap: float, margin: float, better: str | None) -> tuple[bool, str]:
    if abs(gap) <= margin:
        return True, f"within the margin: |{gap:+.3g}| <= {margin:.3g}"
    side = "above" if gap > 0 else "below"
    improved = (better == "high" and gap > 0) or (better == "low" and gap < 0)
    verdict = "better than the paper" if improved else "outside the margin"
    return improved, f"{verdict}: {abs(gap):.3g} {side} the published mean, margin {margin:.3g}"


def write_json(path: Path, content: Any) -> None:
    """Write JSON to a temporary neighbour and move it into place, so that no reader sees a half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    text = json.dumps(content, indent=1, ensure_ascii=False, default=_plain, allow_nan=False)
    scratch.write_text(text + "\n", "utf-8")
    scratch.replace(path)


def plain(content: Any) -> Any:
    """Return the content as JSON would give it back: tuples as lists, NumPy numbers as Python's."""
    return json.loads(json.dumps(content, default=_plain, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):  # NumPy scalars and arrays, torch tensors
        return value.tolist()
    raise OptionError(
        f"A record holds numbers, strings, lists and dictionaries; got {type(value).__name__}: "
        "convert it in `run`."
    )


def machine(device: str) -> dict[str, Any]:
    """Name the processor, its cores and, for a CUDA device, the GPU."""
    described: dict[str, Any] = {"cpu": _cpu_name(), "cores": os.cpu_count()}
    if device.startswith("cuda"):
        import torch

        described["gpu"] = torch.cuda.get_device_name(device)
    return described


@cache
def _cpu_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for package in ("samespace", "numpy", "scipy", "torch"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def commit() -> str | None:
    """Return what SAMESPACE_COMMIT says, of a copy of some commit; else the commit of the checkout that runs.

    None for an installed package.
    """
    if said := os.environ.get("SAMESPACE_COMMIT"):
        return said
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
