"""`waymark --version`: the version of the installed package, and the commit of a checkout."""

from __future__ import annotations

import argparse
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


class PrintVersion(argparse.Action):
    """Prints the version and exits."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help="print version and commit, and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print on standard output."""
        print(version_text())
        parser.exit()


def version_text() -> str:
    """Such as `waymark 0.1.0, commit 3fce0179, changed since, Python 3.12.3`; without a checkout no commit."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("waymark").partition("+")[0]  # the rest is the commit of the installation
    except PackageNotFoundError:
        number = "not installed"
    parts = [f"waymark {number}"]
    if (ROOT / ".git").exists():
        if commit := _git("rev-parse", "--short=8", "HEAD"):
            parts.append(f"commit {commit}")
        if _git("status", "--porcelain", "--untracked-files=no"):
            parts.append("changed since")
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def _git(*arguments: str) -> str:
    try:
        git = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return git.stdout.strip() if git.returncode == 0 else ""
