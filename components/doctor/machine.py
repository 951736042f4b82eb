"""Checks of the machine and the directory: Python, its packages, processors, memory, disk, DVC, a GPU."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from pathlib import Path

from packaging import requirements

from components.doctor.check import Check
from components.memory import total_memory

MIN_MEMORY_GIB = 8.0
MIN_DISK_GIB = 6.0


def python() -> Check:
    """The version of Python."""
    version = sys.version_info
    number = f"{version.major}.{version.minor}.{version.micro}"
    return Check("python", version >= (3, 11), number, "install Python 3.11 or newer, then `make clean demo`")


def packages(lock: Path) -> list[Check]:
    """One check for all packages of the lock, and one per package that is missing or has another version."""
    if not lock.exists():
        return [Check("packages", False, f"no {lock}", "run waymark in the directory of its repository")]
    try:
        versions = parse_lock(lock.read_text())
    except (OSError, ValueError):
        return [Check("packages", False, f"{lock} is no list of versions", "name requirements/cpu.txt or gpu.txt")]
    wrong = []
    for name, locked in versions.items():
        try:
            installed = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            installed = "missing"
        if installed != locked:
            wrong.append(Check(name, False, f"{installed}, the lock has {locked}", f"pip install {name}=={locked}"))
    summary = f"{len(versions) - len(wrong)} of {len(versions)} as locked"
    return [Check("packages", not wrong, summary, f"pip install -r {lock}"), *wrong]


def parse_lock(text: str) -> dict[str, str]:
    """The versions of a lock file's lines `name==version`, by name, without lines whose marker excludes this Python."""
    lines = [requirements.Requirement(line) for line in text.splitlines() if line and not line.startswith("#")]
    versions = {
        line.name: str(line.specifier).removeprefix("==") for line in lines if not line.marker or line.marker.evaluate()
    }
    return {name: version.partition("+")[0] for name, version in versions.items()}


def dvc(root: Path) -> Check:
    """Whether this directory has a DVC configuration."""
    ok = (root / ".dvc/config").exists()
    return Check("dvc", ok, "initialised" if ok else "no .dvc here", "run waymark in the directory of its repository")


def cores() -> Check:
    """The number of CPU cores that this process may use."""
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return Check("cores", count >= 2, str(count), "the demo needs 2; with one it takes twice as long", required=False)


def memory() -> Check:
    """The memory of the machine, or of its container, in GiB."""
    gib = total_memory() / 2**30
    enough = gib > MIN_MEMORY_GIB - 0.7  # a machine with nominally 8 GiB reports a little less
    return Check("memory", enough, f"{gib:.1f} GiB", "the demo needs 8 GiB; lower browser.concurrency in params.yaml")


def disk(root: Path) -> Check:
    """The free disk space of the project in GiB."""
    gib = shutil.disk_usage(root).free / 2**30
    return Check("disk", gib > MIN_DISK_GIB, f"{gib:.0f} GiB free", f"free {MIN_DISK_GIB:.0f} GiB")


def gpu() -> Check:
    """Whether there is a GPU, which no recipe of the demo needs."""
    program = shutil.which("nvidia-smi")
    return Check("gpu", program is not None, program or "none", "needed by the paper's recipes", required=False)
