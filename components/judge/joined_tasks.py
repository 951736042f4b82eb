"""Joins trajectories of others with the tasks of task files, which have references, rules and rubrics.

A task belongs to a trajectory if its id (with or without its source) and its words are the same, or else if its words
are. Several benchmarks number their tasks from 0, and so do files with a part of a benchmark: of an id without a source
the words decide. Benchmarks also revise tasks and keep their ids, so a task of the same id and other words is not
joined: its reference answers another question. Nor is a task with the same words, if the trajectory's id has a source
and is that of another task.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from components.records import Task, Trajectory


@dataclass
class JoinedTasks:
    """Tasks by id and by words, and how many trajectories had one."""

    joined: int = 0
    revised: list[str] = field(default_factory=list)
    """Ids of trajectories whose task has an id of the files, and no task of the files to be joined."""
    unknown: list[str] = field(default_factory=list)
    """Ids of trajectories that have none."""
    _by_id: dict[str, list[Task]] = field(default_factory=dict)
    _by_words: dict[str, Task] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> JoinedTasks:
        """Of the tasks of files; of tasks with the same id and words the first one is joined."""
        joined = cls()
        for task in tasks:
            for name in {task.task_id, task.task_id.removeprefix(f"{task.source}/")}:
                joined._by_id.setdefault(name, []).append(task)
            joined._by_words.setdefault(words_of(task), task)
        return joined

    def join(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with the task of the files, if there is one."""
        words, same_id = words_of(trajectory.task), self._by_id.get(trajectory.task_id, [])
        task = next((task for task in same_id if words_of(task) == words), None)
        if task is None and not any(trajectory.task_id.startswith(f"{other.source}/") for other in same_id):
            task = self._by_words.get(words)
        if task is None:
            (self.revised if same_id else self.unknown).append(trajectory.trajectory_id)
            return trajectory
        self.joined += 1
        return trajectory.model_copy(update={"task": task})


def words_of(task: Task) -> str:
    """The words of a task, without case, spaces and the full stop at the end."""
    return " ".join(task.own_intent.casefold().split()).rstrip(".")
