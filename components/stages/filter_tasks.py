"""Drop training tasks that overlap with the evaluation, subtasks, logins, blocked or unstable hosts, the long tail.

Evaluation tasks on a world that the recipe does not have, such as those of a benchmark's file, and those whose start
page did not answer, count for the overlap, but are not rolled out. Where the worlds gave fewer validation tasks than
`rl.validation.tasks`, training tasks are set aside, and training tasks that overlap with these are dropped.
"""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from components import quality
from components.judge.rules import require_decisive_rules
from components.params import ValidationParams
from components.pipeline.stage_run import stage
from components.records import TRAINED_ON, Split, Task
from components.store import read_table, write_table
from components.tasks import Funnel, blocklist, embed, filter_tasks, set_aside, without_horizon
from components.worlds import Worlds, worlds_of

TASKS, POOLS = Path("data/tasks/tasks.parquet"), Path("data/pools")
UNREACHABLE = Path("data/tasks/unreachable.parquet")
EVALUATION: tuple[Split, ...] = ("eval", "heldout", "validation", "heldout_validation")


def main() -> None:
    """Run the stage."""
    lists = [blocklist.PATH] if blocklist.PATH.exists() else []
    with stage("filter_tasks", inputs=[TASKS, UNREACHABLE, *lists]) as run:
        today = dt.date.today()
        blocked = blocklist.active(blocklist.read(), today)
        tasks = read_table(TASKS, Task)
        by_split = {split: [task for task in tasks if task.split == split] for split in get_args(Split)}
        training = [task for task in tasks if task.split in TRAINED_ON]
        evaluation = [task for split in EVALUATION for task in by_split[split]]
        worlds = worlds_of(run.params)
        _require_evaluation_tasks(worlds, [*by_split["eval"], *by_split["heldout"]])
        held_to = [*evaluation, *read_table(UNREACHABLE, Task)]
        embedder = run.params.dedup.embedder
        kept, funnel = filter_tasks(
            training, held_to, run.params.filters, blocked, lambda texts: embed(texts, embedder)
        )
        _tell_if_none_is_left(funnel)
        aside: list[Task] = []
        collected = sum(worlds.find(task) is not None for task in by_split["validation"])
        if (missing := _missing(run.params.rl.validation, collected)) > 0:
            print(f"filter_tasks: {missing} training tasks are set aside for validation")
            aside = without_horizon(set_aside(kept, missing, run.params.seed), run.params.tasks.horizon)
            overlap_only = run.params.filters.model_copy(update={"min_tasks_per_website": 0})
            remaining, _ = filter_tasks(kept, aside, overlap_only, None, lambda texts: embed(texts, embedder))
            left = {task.task_id for task in remaining}
            funnel = funnel.then("validation", [task.task_id for task in kept if task.task_id not in left])
            by_split["validation"] += aside
            kept = remaining
            _tell_if_none_is_left(funnel)
        run.check("tasks", quality.task_frame(kept + evaluation), max_rows=len(tasks), min_training=1)
        if run.params.judge.labels == "rules":
            require_decisive_rules(task for task in [*kept, *aside, *evaluation] if worlds.find(task))
        elsewhere = sum(worlds.find(task) is None for task in evaluation)
        if elsewhere:
            print(f"filter_tasks: {elsewhere} evaluation tasks are on no world of this recipe and are not evaluated")
        write_table(POOLS / "train.parquet", Task, kept)
        pools = {"eval": ["eval"], "heldout": ["heldout"], "validation": ["validation", "heldout_validation"]}
        for pool, splits in pools.items():
            members = [task for split in splits for task in by_split[split] if worlds.find(task)]
            write_table(POOLS / f"{pool}.parquet", Task, members)
        if blocked:
            print(f"filter_tasks: left out on {today}: {', '.join(sorted(blocked))}")
        run.result({"kept": len(kept), "evaluation_elsewhere": elsewhere, "funnel": funnel.rows()})


def _require_evaluation_tasks(worlds: Worlds, tasks: Sequence[Task]) -> None:
    """Require a task that can be evaluated.

    Raises:
        ValueError: every task is on a world that the recipe does not have, or there is none.
    """
    if not any(worlds.find(task) for task in tasks):
        raise ValueError(
            f"none of {len(tasks)} evaluation tasks is on a world of the recipe, so no model could be evaluated: add "
            "task files with the split eval or heldout, or raise the numbers of evaluation tasks in the section worlds "
            f"({UNREACHABLE} has tasks whose start page did not answer)"
        )


def _tell_if_none_is_left(funnel: Funnel) -> None:
    """Say which steps dropped all training tasks: the stage fails, and its result with the funnel is not written."""
    if not funnel.left:
        dropped = ", ".join(f"{step.dropped} by {step.step!r}" for step in funnel.steps if step.dropped)
        print(
            f"filter_tasks: no training task is left of {funnel.total} ({dropped or 'none was collected'}): add task "
            "files or pages to train on, or loosen the section filters",
            flush=True,
        )


def _missing(validation: ValidationParams, collected: int) -> int:
    """How many validation tasks the worlds did not give; 0 if RL does not validate."""
    return max(0, validation.tasks - collected) if validation.every else 0


if __name__ == "__main__":
    main()
