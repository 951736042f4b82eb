"""What the modules of the command line share: types of subparsers and arguments, default paths, how a command fails."""

from __future__ import annotations

import argparse
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

PARAMS = Path("params.yaml")
"""The recipe in use."""
STAGE_FOLDERS = tuple(
    Path("data") / name for name in ("evaluation/rl", "evaluation/sft", "evaluation/base", "judge", "teacher")
)
"""Folders with a `trajectories.parquet` that stages write, the best model's first."""
SEEDS = 2**32
"""Seeds are below this number, those of `components.params.Params.seed` too."""
PORTS = 2**16


class ListAndExit(argparse.Action, ABC):
    """An option that prints lines and exits, as `--help` does: the command's other arguments may be missing."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, default=argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the lines and exit."""
        for line in self.lines():
            print(line)
        parser.exit()

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """What is listed."""


def nonempty(text: str) -> str:
    """An argument that is not empty, as that of an unset variable of the shell is."""
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty: give a value, or leave the option out")
    return text


def nonempty_path(text: str) -> Path:
    """An argument that is a path. `Path("")` would be the present folder."""
    return Path(nonempty(text))


def whole(text: str) -> int:
    """An argument that is a whole number."""
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number: give one, such as 3") from error


def positive(text: str) -> int:
    """An argument that is a whole number of at least 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small: give at least 1")
    return value


def whole_amount(text: str) -> int:
    """An argument that is a whole number of at least 0."""
    value = whole(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative: give at least 0")
    return value


def amount(text: str) -> float:
    """An argument that is a finite number of at least 0."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no amount: give a number of at least 0, or leave the option out")
    return value


def duration(text: str) -> float:
    """An argument that is a finite number above 0."""
    value = _number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no duration: give a number above 0, or leave the option out")
    return value


def seed(text: str) -> int:
    """An argument that is a seed, within the limits of a recipe's."""
    value = whole_amount(text)
    if value >= SEEDS:
        raise argparse.ArgumentTypeError(f"{text} is too large: give a seed below {SEEDS}")
    return value


def port(text: str) -> int:
    """An argument that is the number of a TCP port."""
    value = whole(text)
    if not 0 < value < PORTS:
        raise argparse.ArgumentTypeError(f"{text} is no port: give a number from 1 to {PORTS - 1}")
    return value


def web_address(text: str) -> str:
    """An argument that is the URL of an endpoint."""
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text!r} must begin with http:// or https://, as http://127.0.0.1:8000/v1")
    return text


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number: give one, such as 2.5") from error


def cannot_write(path: Path) -> str | None:
    """Why a file or folder of this path cannot be made, as a sentence with what to do; None if it can."""
    above = next((folder for folder in path.parents if folder.exists()), Path())
    if not above.is_dir():
        return f"{path} cannot be written, because {above} is a file: name another place"
    if not os.access(above, os.W_OK | os.X_OK):
        return f"{path} cannot be written, because you may not write into {above}: name another place"
    return None


def fail(message: object) -> int:
    """Print an error to stderr; returns the exit status of a command that failed."""
    print(message, file=sys.stderr)
    return 1
