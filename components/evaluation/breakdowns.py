"""Success by website, domain, difficulty, horizon and variant.

Each axis divides the same judged tasks, so its counts add up.

Difficulty is the benchmark's own level where it has one (Online-Mind2Web, DeepShop), otherwise WebGym's bands of the
number of facts: easy 1 to 3, medium 4 to 6, hard 7 and more. Horizon is the length of a task in bands: its own step
budget, else the steps that its annotator took (Online-Mind2Web's `reference_length`), else the number of facts to find
(WebGym, DeepShop's constraints, the hops of a question), which are not steps but grow with them. An axis for which no
task has a value is left out; a task without a value on an axis where others have one is `not stated`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from components.records import Record, Task
from components.statistics import Interval, Rate, wilson
from components.tasks.difficulty import LEVELS, level_of

NOT_STATED = "not stated"
HORIZONS = {"1": 1, "2": 2, "3 to 5": 5, "6 to 10": 10, "11 to 20": 20, "21 and more": math.inf}
"""Bands of length, each with its largest length."""
_READING_ORDER = [*LEVELS, *HORIZONS]


class Facets(Record):
    """A task's value on each axis; None: the task has none."""

    website: str | None = None
    domain: str | None = None
    difficulty: str | None = None
    horizon: str | None = None
    variant: str | None = None


AXES = tuple(Facets.model_fields)


class Slice(Rate):
    """The success of the `n` judged tasks that share a value on an axis; the interval is Wilson's over these tasks."""

    axis: str
    value: str
    wilson95: Interval


def level(task: Task) -> str | None:
    """Easy, medium or hard: the benchmark's own level, otherwise by the number of facts."""
    stated = task.evaluator.get("level")
    return str(stated) if stated in LEVELS else level_of(task.difficulty)


def horizon(task: Task) -> str | None:
    """The band of a task's length; None if its length is unknown."""
    lengths = (task.horizon, task.evaluator.get("reference_length"), task.difficulty)
    known = next((length for length in lengths if isinstance(length, int) and length > 0), None)
    return None if known is None else next(name for name, largest in HORIZONS.items() if known <= largest)


def variant(task: Task) -> str | None:
    """How the sites differ from their usual state in this task, such as `popup`; None if its world has no variants."""
    stated = task.evaluator.get("variant")
    return str(stated) if stated is not None else None


def facets(task: Task) -> Facets:
    """A task's values on all axes."""
    return Facets(
        website=task.family, domain=task.domain, difficulty=level(task), horizon=horizon(task), variant=variant(task)
    )


def breakdowns(scores: Mapping[str, float], facets_by_task: Mapping[str, Facets]) -> list[Slice]:
    """Slices of the judged tasks by axis; within an axis in reading order.

    Args:
        scores: success by task id, 0 to 1.
        facets_by_task: the axes' values of each of these tasks.
    """
    slices: list[Slice] = []
    for axis in AXES:
        values = {task: facets_by_task[task].model_dump()[axis] for task in scores}
        if any(value is not None for value in values.values()):
            slices += _slices(axis, scores, values)
    return slices


def _slices(axis: str, scores: Mapping[str, float], values: Mapping[str, str | None]) -> Iterator[Slice]:
    groups: dict[str | None, list[float]] = {}
    for task, value in values.items():
        groups.setdefault(value, []).append(scores[task])
    for value in sorted(groups, key=_reading_order):
        members = groups[value]
        rate = sum(members) / len(members)
        name = NOT_STATED if value is None else value
        yield Slice(axis=axis, value=name, rate=rate, n=len(members), wilson95=wilson(rate, len(members)))


def _reading_order(value: str | None) -> tuple[bool, int, str]:
    """Sort key: levels from easy to hard, bands from short to long, words alphabetically, `not stated` last."""
    return value is None, _READING_ORDER.index(value) if value in _READING_ORDER else 0, value or ""
