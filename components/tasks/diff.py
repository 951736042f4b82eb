"""The difference of two versions of a task set: added, removed and changed tasks, field by field.

Tasks are matched by their published id, then by that id without the date that Online-Mind2Web appends to a task when it
revises it (`…_110325`), in order; a task of WebArena-Lite by its number in WebArena. Not compared: the
order of the tasks and the name of the file, which is part of our ids. Accepted: a task with a
new id counts as one removed and one added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from components.records import Record, Task
from components.tasks.sources import load_files

_DATE = re.compile(r"_\d{6}$")
_MAX_SHOWN = 300
"""Characters of a value that `lines` shows."""


class FieldChange(Record):
    """A field, with the path of nested ones (`evaluator.level`), before and after; None where it is missing."""

    field: str
    before: Any
    after: Any


class TaskChange(Record):
    """A task that is in both versions and differs: its published id in each, and its fields."""

    before_id: str
    after_id: str
    fields: list[FieldChange]


class TaskSetDiff(Record):
    """Two versions of a set. Tasks are named by their published ids."""

    before: int
    after: int
    added: list[Task]
    removed: list[Task]
    changed: list[TaskChange]

    @property
    def unchanged(self) -> int:
        """The number of equal tasks."""
        return self.before - len(self.removed) - len(self.changed)


def diff_files(before: Path, after: Path) -> tuple[TaskSetDiff, int]:
    """The difference of two task files, and the number of rejected rows in both, which are not compared.

    Raises:
        ValueError: a file is missing, or is no task file.
    """
    loaded = [load_files([path]) for path in (before, after)]
    missing = [name for version in loaded for name in version.missing]
    if missing:
        raise ValueError(
            f"{', '.join(missing)} is missing; `dvc update data/benchmarks/NAME.dvc` downloads a public set"
        )
    return diff(loaded[0].tasks, loaded[1].tasks), sum(len(version.rejections) for version in loaded)


def diff(before: Sequence[Task], after: Sequence[Task]) -> TaskSetDiff:
    """The difference of two versions of one source's tasks."""
    matched = _match([_matching_name(task) for task in before], [_matching_name(task) for task in after])
    taken = set(matched.values())
    changed = []
    for old, new in sorted(matched.items()):
        fields = _changes(_fields(before[old]), _fields(after[new]))
        if fields:
            ids = published_id(before[old]), published_id(after[new])
            changed.append(TaskChange(before_id=ids[0], after_id=ids[1], fields=fields))
    return TaskSetDiff(
        before=len(before),
        after=len(after),
        added=[task for index, task in enumerate(after) if index not in taken],
        removed=[task for index, task in enumerate(before) if index not in matched],
        changed=changed,
    )


def published_id(task: Task) -> str:
    """The task's id in its file."""
    return task.task_id.removeprefix(f"{task.source}/")


def _matching_name(task: Task) -> str:
    """The name by which a task is matched."""
    old = task.evaluator.get("old_task_id")
    return published_id(task) if old is None else str(old)


def lines(difference: TaskSetDiff) -> list[str]:
    """The difference as text; the last line has the counts."""
    text = [f"- {published_id(task)}: {_short(task.intent)}" for task in difference.removed]
    text += [f"+ {published_id(task)}: {_short(task.intent)}" for task in difference.added]
    for task_change in difference.changed:
        text.append(f"~ {task_change.before_id}")
        for change in task_change.fields:
            text += [f"    {change.field}", f"      - {_short(change.before)}", f"      + {_short(change.after)}"]
    by_field = Counter(
        change.field for task_change in difference.changed for change in task_change.fields
    ).most_common()
    counted = f" ({', '.join(f'{field} {count}' for field, count in by_field)})" if by_field else ""
    changed = f"{len(difference.changed)} changed{counted}, {difference.unchanged} the same"
    moved = f"{len(difference.added)} added, {len(difference.removed)} removed"
    return [*text, f"{difference.before} tasks -> {difference.after}: {moved}, {changed}"]


def _match(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Positions before to positions after: equal ids, then ids that are equal without their dates, in order."""
    position = {name: index for index, name in enumerate(after)}
    matched = {index: position[name] for index, name in enumerate(before) if name in position}
    taken = set(matched.values())
    undated: dict[str, list[int]] = {}
    for index, name in enumerate(after):
        if index not in taken:
            undated.setdefault(_DATE.sub("", name), []).append(index)
    for index, name in enumerate(before):
        rest = undated.get(_DATE.sub("", name))
        if index not in matched and rest:
            matched[index] = rest.pop(0)
    return matched


def _fields(task: Task) -> dict[str, Any]:
    """The task's fields, those of objects by their path; lists are compared whole."""
    flat: dict[str, Any] = {"id": published_id(task)}

    def add(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                add(f"{prefix}.{key}", item)
        else:
            flat[prefix] = value

    for name, value in task.model_dump(mode="json", exclude={"task_id", "source"}).items():
        add(name, value)
    if task.decomposed_from:
        flat["decomposed_from"] = task.decomposed_from.removeprefix(f"{task.source}/")
    return flat


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[FieldChange]:
    return [
        FieldChange(field=field, before=before.get(field), after=after.get(field))
        for field in dict.fromkeys([*before, *after])
        if before.get(field) != after.get(field)
    ]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
