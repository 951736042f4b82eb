"""The tasks that a server offers, by split: OpenEnv's task API."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from components.judge import undecidable_tasks
from components.openenv.messages import ResetRequest
from components.params import Params
from components.records import Split, Task
from components.tasks import at_sites, load_files, parse_rows
from components.worlds import worlds_of

TYPES = {"train": "train", "rl": "train", "validation": "validation", "heldout_validation": "validation"}
"""OpenEnv's type of a split, which is `test` for all others."""


def tasks_of(params: Params, files: Sequence[Path] = (), tell: Callable[[str], None] = print) -> list[Task]:
    """The tasks of some files, or without any those of a recipe: of its `tasks.files` and of its worlds.

    Args:
        tell: gets a sentence about each file of the recipe that is missing, and one about tasks without a rule.

    Raises:
        ValueError: one of `files` is missing or is no task file, a row of it is no task, there are no tasks, or none of
            them has a rule, so that no episode could be a success.
        RuleError: a task's evaluator has an unknown form.
    """
    loaded = load_files(files or params.tasks.files)
    if files and loaded.missing:
        raise ValueError(f"{loaded.missing[0]} does not exist: name a task file that is there")
    tasks, rejections = [at_sites(task, params.tasks.sites) for task in loaded.tasks], loaded.rejections
    if not files:
        taken = {task.task_id for task in tasks}
        for world in worlds_of(params):
            rows = asyncio.run(world.tasks(params.seed, params.browser.viewport))
            made, rejected = parse_rows(rows, world.name, world.name, taken)
            tasks, rejections = [*tasks, *made], [*rejections, *rejected]
    if files and rejections:
        first = rejections[0]
        raise ValueError(f"{first.file} row {first.row} is no task: {first.field} {first.reason}; correct the file")
    for name in loaded.missing:
        tell(f"{name} of tasks.files is missing, so its tasks are not served")
    if not tasks:
        raise ValueError(f"the recipe {params.name} has no tasks: name a task file with --tasks")
    if count := len(undecidable_tasks(tasks)):
        if count == len(tasks):
            raise ValueError(
                f"none of the {count} tasks has a rule, so no episode would have the reward 1: name tasks with rules "
                "with --tasks"
            )
        tell(f"{count} of {len(tasks)} tasks have no rule: an episode that ends with `done` there has no reward")
    return tasks


class TaskSplits:
    """Tasks by split, in the order of their files."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._splits: dict[str, list[Task]] = {}
        for task in tasks:
            self._splits.setdefault(task.split, []).append(task)
        self._splits = {split: self._splits[split] for split in get_args(Split) if split in self._splits}

    @property
    def names(self) -> list[str]:
        """The splits that have tasks."""
        return [*self._splits]

    def descriptors(self) -> list[dict[str, str]]:
        """The splits with OpenEnv's types."""
        return [{"name": name, "type": TYPES.get(name, "test")} for name in self._splits]

    def tasks(self, split: str) -> list[Task]:
        """The tasks of a split.

        Raises:
            LookupError: there is no such split.
        """
        if split not in self._splits:
            raise LookupError(f"there is no split {split!r}; there are {', '.join(self._splits)}")
        return self._splits[split]

    def task(self, split: str, index: int) -> Task:
        """One task of a split.

        Raises:
            LookupError: there is no such split, or the index is not one from 0 to the number of its tasks minus 1.
        """
        tasks = self.tasks(split)
        if not 0 <= index < len(tasks):
            raise LookupError(f"the split {split} has no task {index}: its tasks are 0 to {len(tasks) - 1}")
        return tasks[index]

    def specs(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """What clients may know of the tasks in a slice of a split, without references and rules.

        Raises:
            LookupError: there is no such split.
        """
        tasks = self.tasks(split)
        return [_spec(tasks[index], index) for index in range(len(tasks))[start:stop]]

    def chosen(self, request: ResetRequest) -> Task:
        """The task of a reset. Without an id and an index, the seed chooses it, from the first split if none is named;
        without a seed, it is a random one.

        Raises:
            LookupError: there is no such task.
        """
        if request.task_id is not None:
            for tasks in self._splits.values():
                for task in tasks:
                    if task.task_id == request.task_id:
                        return task
            raise LookupError(f"there is no task {request.task_id!r}; `tasks` lists those of a split")
        split = request.split if request.split is not None else self.names[0]
        if request.index is not None:
            return self.task(split, request.index)
        return random.Random(request.seed).choice(self.tasks(split))


def _spec(task: Task, index: int) -> dict[str, Any]:
    return {
        "id": task.task_id,
        "index": index,
        "split": task.split,
        "instruction": task.intent,
        "start_url": task.start_url,
        "website": task.website,
        "difficulty": task.difficulty,
    }
