"""What the modules of the command line share: types of subparsers and arguments, default paths, how a command fails."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

PARAMS = Path("params.yaml")
"""The recipe in use."""
STAGE_FOLDERS = tuple(
    Path("data") / name for name in ("evaluation/rl", "evaluation/sft", "evaluation/base", "judge", "teacher")
)
"""Folders with a `trajectories.parquet` that stages write, the best model's first."""


def positive(text: str) -> int:
    """An argument that is a whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small: give at least 1")
    return value


def whole_amount(text: str) -> int:
    """An argument that is a whole number of at least 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative: give at least 0")
    return value


def amount(text: str) -> float:
    """An argument that is a finite number of at least 0."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no amount: give a number of at least 0, or leave the option out")
    return value


def fail(message: object) -> int:
    """Print an error to stderr; returns the exit status of a command that failed."""
    print(message, file=sys.stderr)
    return 1
