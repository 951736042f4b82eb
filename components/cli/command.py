"""What the modules of the command line share: the type of subparsers, default paths, and how a command fails."""

from __future__ import annotations

import argparse
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


def fail(message: object) -> int:
    """Print an error to stderr; returns the exit status of a command that failed."""
    print(message, file=sys.stderr)
    return 1
