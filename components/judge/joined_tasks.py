"""Joins trajectories of others with the tasks of task files, which have references, rules and rubrics.

A task belongs to a trajectory if its id is the same (with or without its source), or else its words are. Benchmarks
revise tasks and keep their ids, so a task of the same id and other words is not joined: its reference answers another
question.
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
    """Ids of trajectories whose task has the id of one of the files' and other words."""
    unknown: list[str] = field(default_factory=list)
    """Ids of trajectories that have none."""
    _by_id: dict[str, Task] = field(default_factory=dict)
    _by_words: dict[str, Task] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> JoinedTasks:
        """Of the tasks of files."""
        joined = cls()
        for task in tasks:
            joined._by_id |= {task.task_id: task, task.task_id.removeprefix(f"{task.source}/"): task}
            joined._by_words.setdefault(words_of(task), task)
        return joined

    def join(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with the task of the files, if there is one."""
        task = self._by_id.get(trajectory.task_id)
        if task is not None and words_of(task) != words_of(trajectory.task):
            self.revised.append(trajectory.trajectory_id)
            return trajectory
        task = task or self._by_words.get(words_of(trajectory.task))
        if task is None:
            self.unknown.append(trajectory.trajectory_id)
            return trajectory
        self.joined += 1
        return trajectory.model_copy(update={"task": task})


def words_of(task: Task) -> str:
    """The words of a task, without case, spaces and the full stop at the end."""
    return " ".join(task.intent.casefold().split()).rstrip(".")
