"""Selects the tasks of a benchmark run: those of the file at the recipe's addresses, and of these the sample, without
tasks that robots.txt or the allow-list forbids."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from components.benchmarks.spec import Benchmark, BenchmarkError, file_tasks
from components.browser.egress import allows
from components.browser.robots import disallowed
from components.judge import require_rules
from components.params import Params
from components.records import Record, Rejection, Task, start_tabs
from components.tasks import at_sites, shuffled
from components.tasks.site_addresses import unserved
from components.worlds import worlds_of


class SelectedTasks(Record):
    """The tasks to run, the number of tasks and rejected rows in the set, and ids of skipped tasks by reason."""

    tasks: list[Task]
    in_set: int
    rejected: int
    skipped: dict[str, list[str]]


def judgeable_tasks(benchmark: Benchmark, recipe: Params, folder: Path) -> tuple[list[Task], list[Rejection]]:
    """The tasks of a benchmark's file at the recipe's addresses, and the rejected rows.

    Raises:
        BenchmarkError: see `file_tasks`, or tasks begin on sites without an address.
        RuleError: rules judge, and cannot judge all tasks (`require_rules`).
    """
    tasks, rejected = file_tasks(benchmark, folder)
    missing = [start for task in tasks if (start := unserved(task, recipe.tasks.sites)) is not None]
    if missing:
        tab, site = missing[0]
        raise BenchmarkError(
            f"{len(missing)} tasks of {benchmark.name} begin on sites that you must serve, such as {tab}: give the "
            f"address in tasks.sites of the recipe, as {site}"
        )
    tasks = [at_sites(task, recipe.tasks.sites) for task in tasks]
    if "rules" in (benchmark.judge, *benchmark.also):
        require_rules(tasks)
    return tasks, rejected


def select_tasks(
    tasks: Sequence[Task], rejected: int, params: Params, benchmark: Benchmark, limit: int | None
) -> SelectedTasks:
    """The first `limit` tasks in seeded order, which mixes sites, without those that begin on a page that may not be
    visited, in any of their tabs.

    The benchmark's step budget is the only one: a task's own horizon is for training.

    Args:
        tasks: of the whole set.
        rejected: number of rows of the set that are no tasks.
    """
    chosen = [task.model_copy(update={"horizon": None}) for task in shuffled(tasks, params.seed)[:limit]]
    skipped: dict[str, list[str]] = {}
    if chosen and worlds_of(params).is_live(chosen[0]):
        egress = params.browser.egress
        tabs = {task.task_id: start_tabs(task.start_url) for task in chosen}
        outside = {task_id for task_id, urls in tabs.items() if not all(allows(egress, url) for url in urls)}
        inside = [url for task_id, urls in tabs.items() if task_id not in outside for url in urls]
        forbidden = asyncio.run(disallowed(inside, egress)) if benchmark.politeness.robots else {}
        by_reason = {
            "not_allowed": [task.task_id for task in chosen if task.task_id in outside],
            "robots": [task.task_id for task in chosen if not forbidden.keys().isdisjoint(tabs[task.task_id])],
        }
        skipped = {reason: ids for reason, ids in by_reason.items() if ids}
        for reason, ids in skipped.items():
            print(f"{benchmark.name}: {len(ids)} tasks are left out: {reason} ({', '.join(ids[:3])}…)", flush=True)
    left_out = {task_id for ids in skipped.values() for task_id in ids}
    kept = [task for task in chosen if task.task_id not in left_out]
    return SelectedTasks(tasks=kept, in_set=len(tasks), rejected=rejected, skipped=skipped)
