"""Sources to one table of tasks; rows that are no tasks go to a table of their own with the reason."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from components import quality
from components.params import Params
from components.records import Rejection, Task
from components.sites import MiniWoB, questions, require_server, require_tasks, world_of
from components.stages._run import stage
from components.store import write_table
from components.tasks import (
    at_sites,
    check_start_pages,
    load_files,
    parse_rows,
    require_few_rejected,
    require_pinned,
    require_sets,
    with_horizon,
    write_rejections_csv,
)

TASKS, REJECTED = Path("data/tasks/tasks.parquet"), Path("data/tasks/rejected.parquet")
UNREACHABLE = Path("data/tasks/unreachable.parquet")
"""Tasks of an evaluation whose start page did not answer: not evaluated, but training tasks are still held to them."""
REJECTED_CSV = Path("reports/rejected.csv")
"""For people, and no output of the stage: DVC would delete it before they can look."""


def main() -> None:
    with stage("collect_tasks") as run:
        params = run.params
        require_tasks(params)
        require_server(params.sites)
        require_sets(params.tasks.files)
        require_pinned([file.path for file in params.tasks.files])
        loaded = load_files(params.tasks.files)
        for file in loaded.missing:
            print(f"collect_tasks: {file} is not there and was skipped", flush=True)
        tasks, rejections = [at_sites(task, params.tasks.sites) for task in loaded.tasks], loaded.rejections
        unreachable: list[Task] = []
        if params.tasks.check_start_pages:
            run.progress(0, 2, "asking start pages")
            on_the_web = [task for task in tasks if world_of(task) == "live"]
            answering, silent = check_start_pages(on_the_web, loaded.origins)
            gone = {task.task_id for task in on_the_web} - {task.task_id for task in answering}
            unreachable = [task for task in tasks if task.task_id in gone and task.split != "train"]
            tasks, rejections = [task for task in tasks if task.task_id not in gone], [*rejections, *silent]
        run.progress(1, 2, "opening MiniWoB++ pages")
        rows = asyncio.run(_miniwob(params))
        seeded, bad = parse_rows(rows, "miniwob", "miniwob", taken={task.task_id for task in loaded.tasks})
        asked, wrong = parse_rows(_questions(params), "encyclopaedia", "encyclopaedia")
        tasks = with_horizon([*tasks, *seeded, *asked], params.tasks.horizon)
        rejections = [*rejections, *bad, *wrong]

        write_table(UNREACHABLE, Task, unreachable)
        write_table(REJECTED, Rejection, rejections)
        write_rejections_csv(REJECTED_CSV, rejections)
        require_few_rejected(rejections, len(tasks) + len(rejections), params.quality.max_rejected, REJECTED_CSV)
        run.check("tasks", quality.task_frame(tasks))
        write_table(TASKS, Task, tasks)
        splits = Counter(task.split for task in tasks)
        counts = {split: splits[split] for split in ("train", "eval", "heldout")}
        run.progress(2, 2, f"{len(tasks)} tasks")
        run.result({"collected": len(tasks), "rejected": len(rejections), **counts})


async def _miniwob(params: Params) -> list[dict[str, Any]]:
    """Task rows by family and seed; training and evaluation seeds are disjoint (`TaskParams` sees to it)."""
    wanted = params.tasks
    plan = [
        (wanted.miniwob_train, wanted.train_seed_start, wanted.train_per_family, "train"),
        (wanted.miniwob_train, wanted.eval_seed_start, wanted.eval_per_family, "eval"),
        (wanted.miniwob_heldout, wanted.eval_seed_start, wanted.heldout_per_family, "heldout"),
    ]
    rows: list[dict[str, Any]] = []
    for families, first, count, split in plan:
        if families and count:
            rows += await MiniWoB().collect(families, range(first, first + count), split, params.browser.viewport)
    return rows


def _questions(params: Params) -> list[dict[str, Any]]:
    """Questions of the encyclopaedia; the entities of evaluation questions are in no training question."""
    wanted = params.tasks.encyclopaedia
    rows: list[dict[str, Any]] = []
    for split, kinds, count in (
        ("train", wanted.kinds, wanted.train),
        ("eval", wanted.kinds, wanted.eval),
        ("heldout", wanted.heldout_kinds, wanted.heldout),
    ):
        if count:
            rows += questions(kinds, count, split, params.seed)
    return rows


if __name__ == "__main__":
    main()
