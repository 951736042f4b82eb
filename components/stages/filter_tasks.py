"""Drop training tasks that overlap with the evaluation, subtasks, blocked and long-tail websites."""

from pathlib import Path

from components import quality
from components.records import Task
from components.stages._run import stage
from components.store import read_table, write_table
from components.tasks import filter_tasks

TASKS, POOLS = Path("data/tasks/tasks.parquet"), Path("data/pools")


def main() -> None:
    with stage("filter_tasks", inputs=[TASKS]) as run:
        run.dataset(TASKS, "tasks")
        tasks = read_table(TASKS, Task)
        by_split = {split: [task for task in tasks if task.split == split] for split in ("train", "eval", "heldout")}
        evaluation = by_split["eval"] + by_split["heldout"]
        kept, funnel = filter_tasks(by_split["train"], evaluation, run.params.filters)
        run.check("tasks", quality.task_frame(kept + evaluation), max_rows=len(tasks))
        for split, pool in (by_split | {"train": kept}).items():
            write_table(POOLS / f"{split}.parquet", Task, pool)
        run.result({"kept": len(kept), "funnel": funnel.rows()})


if __name__ == "__main__":
    main()
