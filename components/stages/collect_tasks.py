"""Sources to one table of tasks; rows that are no tasks go to a table of their own with the reason.

Tasks whose start page does not answer go there, too. They are counted apart: a recipe limits the share of rows that are
no tasks (`quality.max_rejected`), and of a large set of websites some are down on any day.
"""

import asyncio
from collections import Counter
from pathlib import Path
from typing import get_args

from components import quality
from components.params import ValidationParams
from components.pipeline.stage_run import WORLD_SETTINGS, stage
from components.records import TRAINED_ON, Rejection, Split, Task
from components.store import write_json, write_table
from components.tasks import (
    at_sites,
    check_start_pages,
    load_files,
    parse_rows,
    require_an_answer,
    require_few_rejected,
    require_pinned,
    require_sets,
    unserved,
    with_horizon,
    write_rejections_csv,
)
from components.worlds import even_counts, worlds_of

TASKS, REJECTED = Path("data/tasks/tasks.parquet"), Path("data/tasks/rejected.parquet")
UNREACHABLE = Path("data/tasks/unreachable.parquet")
"""Tasks of an evaluation whose start page did not answer: not evaluated, but training tasks are still held to them."""
START_PAGES = "start_pages.jsonl"
"""The file in the stage's state with what hosts answered: an interrupted stage asks only the others."""
REJECTED_CSV = Path("reports/rejected.csv")
"""For people, and no output of the stage: DVC would delete it before they can look."""


def main() -> None:
    """Run the stage."""
    with stage("collect_tasks", keeps_work=False) as run:  # so that `dvc repro --force` asks all hosts again
        params, worlds = run.params, worlds_of(run.params)
        worlds.require_possible(params)
        worlds.require_installed()
        require_sets(params.tasks.files)
        require_pinned(name for file in params.tasks.files for name in (file.path, file.answers) if name)
        loaded = load_files(params.tasks.files)
        for file in loaded.missing:
            print(f"collect_tasks: {file} is not there and was skipped", flush=True)
        tasks, rejections = [at_sites(task, params.tasks.sites) for task in loaded.tasks], loaded.rejections
        unreachable: list[Task] = []
        silent: list[Rejection] = []
        if params.tasks.check_start_pages:
            run.progress(0, 2, "opening start pages")
            on_the_web = [task for task in tasks if worlds.is_live(task)]

            def report(done: int, hosts: int) -> None:
                run.progress(done / hosts, 2, f"start pages of {done} of {hosts} hosts")

            nowhere = {task.task_id for task in loaded.tasks if unserved(task, params.tasks.sites) is not None}
            asked_for = [task for task in on_the_web if task.task_id not in nowhere]
            answering, silent = check_start_pages(asked_for, loaded.origins, run.state / START_PAGES, report)
            write_rejections_csv(REJECTED_CSV, [*rejections, *silent])
            require_an_answer(len(on_the_web), len(on_the_web) - len(silent), REJECTED_CSV)
            gone = {task.task_id for task in asked_for} - {task.task_id for task in answering}
            unreachable = [task for task in tasks if task.task_id in gone and task.split not in TRAINED_ON]
            tasks = [task for task in tasks if task.task_id not in gone]
        run.progress(1, 2, f"tasks of {', '.join(worlds.names)}")
        ids = {task.task_id for task in loaded.tasks}
        validation = params.rl.validation if params.rl.validation.every else ValidationParams()
        per_world, heldout_per_world = (
            even_counts(worlds.names, count) for count in (validation.tasks, validation.heldout)
        )
        for world in worlds:
            rows = asyncio.run(world.tasks(params.seed, params.browser.viewport))
            share = per_world[world.name], heldout_per_world[world.name]
            rows += asyncio.run(world.validation_tasks(*share, params.browser.viewport))
            of_world, rejected = parse_rows(rows, world.name, world.name, taken=ids)
            tasks, rejections = [*tasks, *of_world], [*rejections, *rejected]
        tasks = with_horizon(tasks, params.tasks.horizon)

        write_table(UNREACHABLE, Task, unreachable)
        write_table(REJECTED, Rejection, [*rejections, *silent])
        write_rejections_csv(REJECTED_CSV, [*rejections, *silent])
        if silent:
            print(f"collect_tasks: start pages of {len(silent)} tasks did not answer; {REJECTED_CSV} has the reasons")
        total = len(tasks) + len(rejections) + len(silent)
        require_few_rejected(rejections, total, params.quality.max_rejected, REJECTED_CSV)
        run.check("tasks", quality.task_frame(tasks), may_overlap=True)  # `filter_tasks` drops what overlaps
        write_table(TASKS, Task, tasks)
        write_json(WORLD_SETTINGS, {world.name: world.episode_settings() for world in worlds})
        splits = Counter(task.split for task in tasks)
        counts = {split: splits[split] for split in get_args(Split)}
        run.progress(2, 2, f"{len(tasks)} tasks")
        left_out = {"rejected": len(rejections) + len(silent), "unreachable": len(silent)}
        run.result({"collected": len(tasks), **left_out, **counts})


if __name__ == "__main__":
    main()
