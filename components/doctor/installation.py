"""Installs what is missing: Chromium, and the programs of a recipe's worlds.

Chromium is searched, then installed, in this order: $WAYMARK_CHROMIUM; chromium-headless-shell, chromium,
chromium-browser or google-chrome on PATH; Playwright's own download; apt-get when root; else the command to type.
Programs that a world needs are installed only for a recipe that has this world: Debian packages by apt-get when root,
others by the commands that the world names, in Waymark's checkout; else the command to type is printed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from components.doctor.check import without_package
from components.doctor.programs import chromium, requirements_of
from components.worlds import WorldError
from components.worlds.installation import APT_LIMIT_S, install

DOWNLOAD_LIMIT_S = 300.0


def install_chromium(say: Callable[[str], None] = print) -> Path:
    """Find Chromium, or install it: Playwright's download first, then apt-get when root.

    Raises:
        ChromiumNotFoundError: no installation worked; the message names the command to type.
    """
    from components.browser import ChromiumNotFoundError

    try:
        from components.browser.chromium import find_chromium, starts
    except ModuleNotFoundError as error:
        check = without_package("chromium", error)
        raise ChromiumNotFoundError(f"{check.finding}, which drives Chromium: type `{check.fix}`") from error
    try:
        return find_chromium()
    except ChromiumNotFoundError as error:
        if "WAYMARK_CHROMIUM" in os.environ:
            raise
        missing = error
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command, limit_s in install_commands():
        say(f"no Chromium yet; trying: {' '.join(command)}")
        try:
            completed = subprocess.run(command, timeout=limit_s, check=False, env=environment)
        except (OSError, subprocess.TimeoutExpired) as error:
            say(f"that did not work: {error}")
            continue
        starts.cache_clear()  # a library that was missing may be there now
        if completed.returncode == 0 and chromium().ok:
            return find_chromium()
        say(f"that did not work (status {completed.returncode})")
    raise missing


def install_commands() -> Iterator[tuple[list[str], float]]:
    """Commands that install Chromium, each with its limit in seconds. If apt's update fails, its old lists are used."""
    from components.browser.chromium import downloads

    playwright = [sys.executable, "-m", "playwright"]
    yield [*playwright, "install", "chromium"], DOWNLOAD_LIMIT_S
    if os.geteuid() == 0 and shutil.which("apt-get"):
        if downloads():
            yield [*playwright, "install-deps", "chromium"], APT_LIMIT_S
        install = "apt-get install -y -q --no-install-recommends"
        script = f"apt-get update -q; {install} chromium-headless-shell || {install} chromium"
        yield ["sh", "-c", script], APT_LIMIT_S


def install_world_programs(recipe: Path, say: Callable[[str], None] = print) -> dict[str, str]:
    """Find what the worlds of a recipe need, or install it where this process may.

    Returns:
        Where each program is, by name.

    Raises:
        WorldError: one is not there, or its installation failed; the message names the command to type.
    """
    programs = {}
    for need in requirements_of(recipe).values():
        try:
            programs[need.name] = need.find()
        except WorldError as error:
            install(need, error, say)
            programs[need.name] = need.find()
    return programs
