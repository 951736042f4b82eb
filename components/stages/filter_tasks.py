"""Drop training tasks that overlap with the evaluation, subtasks, logins, blocked or unstable hosts, the long tail.

Evaluation tasks on a world that the recipe does not have, such as those of a benchmark's file, and those whose start
page did not answer, count for the overlap, but are not rolled out.
"""

import datetime as dt
from pathlib import Path

from components import quality
from components.judge.rules import require_decisive_rules
from components.pipeline.stage_run import stage
from components.records import Task
from components.store import read_table, write_table
from components.tasks import blocklist, embed, filter_tasks
from components.worlds import worlds_of

TASKS, POOLS = Path("data/tasks/tasks.parquet"), Path("data/pools")
UNREACHABLE = Path("data/tasks/unreachable.parquet")


def main() -> None:
    """Run the stage."""
    lists = [blocklist.PATH] if blocklist.PATH.exists() else []
    with stage("filter_tasks", inputs=[TASKS, UNREACHABLE, *lists]) as run:
        today = dt.date.today()
        blocked = blocklist.active(blocklist.read(), today)
        tasks = read_table(TASKS, Task)
        by_split = {split: [task for task in tasks if task.split == split] for split in ("train", "eval", "heldout")}
        evaluation = by_split["eval"] + by_split["heldout"]
        held_to = [*evaluation, *read_table(UNREACHABLE, Task)]
        embedder = run.params.dedup.embedder
        kept, funnel = filter_tasks(
            by_split["train"], held_to, run.params.filters, blocked, lambda texts: embed(texts, embedder)
        )
        run.check("tasks", quality.task_frame(kept + evaluation), max_rows=len(tasks))
        worlds = worlds_of(run.params)
        if run.params.judge.labels == "rules":
            require_decisive_rules(task for task in [*kept, *evaluation] if worlds.find(task))
        elsewhere = sum(worlds.find(task) is None for task in evaluation)
        if elsewhere:
            print(f"filter_tasks: {elsewhere} evaluation tasks are on no world of this recipe and are not evaluated")
        write_table(POOLS / "train.parquet", Task, kept)
        for split in ("eval", "heldout"):
            write_table(POOLS / f"{split}.parquet", Task, [task for task in by_split[split] if worlds.find(task)])
        if blocked:
            print(f"filter_tasks: left out on {today}: {', '.join(sorted(blocked))}")
        run.result({"kept": len(kept), "evaluation_elsewhere": elsewhere, "funnel": funnel.rows()})


if __name__ == "__main__":
    main()
