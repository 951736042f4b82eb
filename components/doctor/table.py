"""All checks, and the table that `waymark doctor` prints."""

from __future__ import annotations

from pathlib import Path

from components.doctor.check import Check
from components.doctor.machine import cores, disk, dvc, gpu, memory, packages, python
from components.doctor.programs import broken_worlds, chromium, headless_shell, world_programs
from components.doctor.recipe import base_models, placement, recipe, recipe_fits, shared_memory, stages_need, vllm

LOCK = Path("requirements/cpu.txt")


def examine(root: Path = Path("."), lock: Path = LOCK, named: Path | None = None) -> list[Check]:
    """All checks, in the order in which a user should fix them.

    Args:
        named: the recipe that the checks are for; None: the params.yaml of `root`.
    """
    in_use = named or root / "params.yaml"
    return [
        python(),
        *packages(root / lock),
        chromium(),
        headless_shell(),
        *world_programs(in_use),
        *broken_worlds(),
        dvc(root),
        recipe(in_use),
        *recipe_fits(in_use),
        *shared_memory(in_use),
        *placement(in_use),
        *base_models(root, in_use),
        *stages_need(in_use, root),
        cores(),
        memory(),
        disk(root),
        gpu(),
        *vllm(in_use, root),
    ]


def show(checks: list[Check]) -> int:
    """Print the table; returns 1 if a required check fails, else 0."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("", "check", "found", "fix"):
        table.add_column(column, overflow="fold")
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]missing[/]" if check.required else "[yellow]optional[/]"
        texts = (check.name, check.finding, "" if check.ok else check.fix)
        table.add_row(mark, *map(escape, texts))
    Console().print(table)
    return int(any(check.required and not check.ok for check in checks))
