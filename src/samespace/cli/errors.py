"""What a command does when it cannot: one line on stderr and an exit code, no traceback unless asked."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from samespace.cli.progress import VERBOSE
from samespace.errors import MissingDependencyError, SamespaceError

CANNOT = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells count


class Commands(TyperGroup):
    """A group of commands that turns our errors into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except SamespaceError as error:
            _stop(error)
        except ModuleNotFoundError as error:
            _stop(_missing(error))
        except BrokenPipeError:
            raise  # whoever read stdout has left; typer ends quietly
        except OSError as error:
            _stop(error)
        except KeyboardInterrupt as error:
            say("interrupted; nothing is half-written, and the same command goes on where it can")
            raise typer.Exit(INTERRUPTED) from error


def _missing(error: ModuleNotFoundError) -> Exception:
    """Say what to install where what is missing is PyTorch, which the core does without."""
    if error.name != "torch":
        raise error
    return MissingDependencyError(
        "this command needs torch, which is not installed: pip install 'samespace[torch]'."
    )


def _stop(error: Exception) -> NoReturn:
    if VERBOSE.get():
        traceback.print_exc()
    say(f"error: {error}")
    raise typer.Exit(CANNOT) from error


def say(text: str) -> None:
    """Write a line to stderr: results alone go to stdout."""
    print(text, file=sys.stderr)  # noqa: T201
