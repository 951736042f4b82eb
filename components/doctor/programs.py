"""Checks of the programs that run beside Python: Chromium, and what worlds need."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from pathlib import Path

from components.doctor.check import Check, without_package
from components.params import RecipeError, load
from components.plugins import builtin
from components.worlds import Requirement, WorldError, installed_worlds, registry, worlds_of


def chromium() -> Check:
    """Chromium. It is started once, because it may lack a library and not run, or have no font and draw no text."""
    try:
        from playwright.async_api import Error as PlaywrightError

        from components.browser import ChromiumNotFoundError, find_chromium
        from components.browser.chromium import try_out
    except ModuleNotFoundError as error:
        return without_package("chromium", error)
    try:
        path = find_chromium()
    except ChromiumNotFoundError as error:
        return Check("chromium", False, str(error), "waymark doctor --fix")
    try:
        completed = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        fix = f"run `{path} --version` to see what it lacks"
        return Check("chromium", False, f"{path} does not start: {error}", fix)
    try:
        asyncio.run(try_out(path))
    except (ChromiumNotFoundError, PlaywrightError) as error:
        return Check("chromium", False, str(error).splitlines()[0], "as the finding says")
    return Check("chromium", True, f"{completed.stdout.strip()} ({path})")


def headless_shell() -> Check:
    """Whether the Chromium in use is the headless shell, which needs half of the CPU time."""
    try:
        from components.browser import ChromiumNotFoundError, find_chromium
    except ModuleNotFoundError as error:
        return without_package("headless shell", error, required=False)
    with contextlib.suppress(ChromiumNotFoundError):
        if "headless" in find_chromium().name:
            return Check("headless shell", True, "in use", required=False)
    fix = "apt-get install chromium-headless-shell (Debian): rollouts take half of the CPU"
    return Check("headless shell", False, "not in use", fix, required=False)


def world_programs(recipe: Path) -> list[Check]:
    """Programs that worlds need, such as a server of their pages; required are those of the recipe's worlds."""
    needed = requirements_of(recipe)
    others = {need.name: need for world in installed_worlds() for need in world.requirements()}
    checks = []
    for need in {**others, **needed}.values():
        required = need.name in needed
        try:
            checks.append(Check(need.name, True, need.find(), required=required))
        except WorldError as error:
            checks.append(Check(need.name, False, f"not here; {need.purpose}", str(error), required=required))
    return checks


def broken_worlds() -> list[Check]:
    """A line for each world that cannot be used. Only a recipe that names it is affected."""
    own = builtin(registry.FAMILY)
    checks = []
    for name, reason in registry.broken_worlds().items():
        fix = "as the finding says" if name in own else "fix its package or uninstall it"
        checks.append(Check(f"world {name}", False, reason, f"{fix}; recipes without this world run", required=False))
    return checks


def requirements_of(recipe: Path) -> dict[str, Requirement]:
    """What the worlds of a recipe need, by name; nothing for a recipe that cannot be read."""
    try:
        return {need.name: need for world in worlds_of(load(recipe)) for need in world.requirements()}
    except RecipeError:
        return {}
