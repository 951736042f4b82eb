"""Success by website, domain, difficulty and horizon: each axis divides the same judged tasks, so its counts add up.

Difficulty is the benchmark's own level where it has one (Online-Mind2Web, DeepShop), otherwise WebGym's bands of the
number of facts: easy 1 to 3, medium 4 to 6, hard 7 and more. Horizon is how long a task is, in bands: its own step
budget, else the steps that its annotator took (Online-Mind2Web's `reference_length`), else the number of facts to find
(WebGym, DeepShop's constraints, the hops of a question), which are no steps but grow with them. An axis that no task
says anything of is left out; a task that says nothing of an axis which others do is `not stated`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from components.evaluation.intervals import Interval, wilson
from components.records import Record, Task
from components.tasks.difficulty import LEVELS, level_of

NOT_STATED = "not stated"
HORIZONS = {"1": 1, "2": 2, "3 to 5": 5, "6 to 10": 10, "11 to 20": 20, "21 and more": math.inf}
"""Bands of length, each with the most that is in it."""
_IN_ORDER = [*LEVELS, *HORIZONS]


class Facets(Record):
    """Where a task belongs on each axis; None: it does not say."""

    website: str | None = None
    domain: str | None = None
    difficulty: str | None = None
    horizon: str | None = None


AXES = tuple(Facets.model_fields)


class Slice(Record):
    """The success of the `n` judged tasks that share a value on an axis; the interval is Wilson's over these tasks."""

    axis: str
    value: str
    rate: float
    n: int
    wilson95: Interval


def family(task: Task) -> str:
    """The group that a task is reported under: its website, for MiniWoB++ its page."""
    return task.website.removeprefix("miniwob/")


def level(task: Task) -> str | None:
    """Easy, medium or hard: the benchmark's word, otherwise by the number of facts."""
    stated = task.evaluator.get("level")
    return str(stated) if stated in LEVELS else level_of(task.difficulty)


def horizon(task: Task) -> str | None:
    """The band of a task's length; None if nothing is known of it."""
    said = (task.horizon, task.evaluator.get("reference_length"), task.difficulty)
    length = next((one for one in said if isinstance(one, int) and one > 0), None)
    return None if length is None else next(name for name, most in HORIZONS.items() if length <= most)


def facets(task: Task) -> Facets:
    """A task on all axes."""
    return Facets(website=family(task), domain=task.domain, difficulty=level(task), horizon=horizon(task))


def breakdowns(scores: Mapping[str, float], of: Mapping[str, Facets]) -> list[Slice]:
    """Slices of the judged tasks, axis by axis, in an order that a reader expects.

    Args:
        scores: success by task id, 0 to 1.
        of: each of these tasks' place on the axes.
    """
    found: list[Slice] = []
    for axis in AXES:
        values = {task: of[task].model_dump()[axis] for task in scores}
        if any(value is not None for value in values.values()):
            found += _slices(axis, scores, values)
    return found


def _slices(axis: str, scores: Mapping[str, float], values: Mapping[str, str | None]) -> Iterable[Slice]:
    groups: dict[str | None, list[float]] = {}
    for task, value in values.items():
        groups.setdefault(value, []).append(scores[task])
    for value in sorted(groups, key=_order):
        members = groups[value]
        rate = sum(members) / len(members)
        name = NOT_STATED if value is None else value
        yield Slice(axis=axis, value=name, rate=rate, n=len(members), wilson95=wilson(rate, len(members)))


def _order(value: str | None) -> tuple[bool, int, str]:
    """Levels from easy to hard, bands from short to long, words by the alphabet, what is not stated last."""
    return value is None, _IN_ORDER.index(value) if value in _IN_ORDER else 0, value or ""
