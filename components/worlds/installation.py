"""Installs what a world needs on this machine: Debian packages as root, and commands in Waymark's checkout."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from components.worlds.world import Requirement, WorldError

APT_LIMIT_S = 900.0
COMMAND_LIMIT_S = 1800.0
"""Of each command that installs what a world needs: half a gigabyte of packages, or an image of sites."""
_LOCK = Path("requirements/cpu.txt")


def install(need: Requirement, missing: WorldError, say: Callable[[str], None]) -> None:
    """Install a requirement as far as this process may. Whether it worked, `Requirement.find` tells.

    Args:
        missing: what `Requirement.find` raised.

    Raises:
        WorldError: a command failed; those after it did not run.
    """
    _install_packages(need, say)
    _run_commands(need, missing, say)


def _is_checkout(folder: Path = Path(".")) -> bool:
    """Whether a folder is a checkout of Waymark, in which the commands of a `Requirement` run."""
    return (folder / "Makefile").is_file() and (folder / _LOCK).is_file()


def _install_packages(need: Requirement, say: Callable[[str], None]) -> None:
    """Install the Debian packages if this process is root's. Whether it worked, `Requirement.find` tells."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None or not need.packages:
        return
    install = f"apt-get install -y --no-install-recommends {' '.join(need.packages)}"
    say(f"no {need.name} yet; trying: {install}")
    script = f"apt-get update -q; {install} -q"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(["sh", "-c", script], timeout=APT_LIMIT_S, check=False, env=environment)
    except subprocess.TimeoutExpired as error:
        say(f"that did not work: {error}")


def _run_commands(need: Requirement, missing: WorldError, say: Callable[[str], None]) -> None:
    """Run the commands of a requirement, if this is a checkout."""
    for command in need.commands if _is_checkout() else ():
        shown = shlex.join(command)
        say(f"no {need.name} yet; running: {shown}")
        try:
            status = subprocess.run(command, timeout=COMMAND_LIMIT_S, check=False).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorldError(f"{missing}; Waymark tried `{shown}`, which did not work: {error}") from error
        if status:
            raise WorldError(f"{missing}; Waymark tried `{shown}`, which ended with status {status}: see its output")
