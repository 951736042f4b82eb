"""Constructs a training set with rubrics (WebGym, section 3.2, algorithm 1).

    1. A model proposes fact groups for each task without any; the task's difficulty is the number of their facts.
    2. Each training task with enough fact groups is decomposed, and the model writes the intent of each subset.

Tasks keep the order of the input, each parent followed by its subsets. This module keeps no state: an interrupted run
asks all questions again, and the client's file of answers has those that were paid for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from components.params import ConstructionParams
from components.records import TRAINED_ON, FactGroup, Rejection, Task
from components.store import publish
from components.tasks.decomposition import Subset, decomposed, subsets
from components.tasks.difficulty import LEVELS, difficulty_of, level_of
from components.tasks.filters import normalise, wording_of
from components.tasks.paraphrase import other_wordings, paraphrased
from components.tasks.proposal import Ask, Unusable, propose_rubric, propose_task
from components.tasks.sources import Origin, raw_of

Origins = Mapping[str, Origin]
"""The row of each task, by its id."""
Advance = Callable[[int, int], None]
"""Called with the number of answered questions and their total."""

T = TypeVar("T")
V = TypeVar("V")


class Constructed(NamedTuple):
    """Tasks, rejections, and the price of all answers in US dollars, including unusable answers."""

    tasks: list[Task]
    rejections: list[Rejection]
    usd: float


async def add_rubrics(
    tasks: Sequence[Task], origins: Origins, ask: Ask, params: ConstructionParams, advance: Advance
) -> Constructed:
    """The tasks with fact groups and their number of facts; tasks that have groups keep them and their difficulty.

    A task for which the model gives no usable rubric is rejected.

    Args:
        origins: the row of each task, for rejections.
        advance: called with the number of answered questions and their total.
    """

    async def answer(task: Task) -> tuple[list[FactGroup], float]:
        return await propose_rubric(task, ask, params.max_tries)

    without = [task for task in tasks if not difficulty_of(task.rubric)]
    answers, usd = await _answers(without, answer, params.endpoint.max_in_flight, advance)
    proposed = {task.task_id: proposal for task, proposal in zip(without, answers, strict=True)}
    kept: list[Task] = []
    rejections: list[Rejection] = []
    for task in tasks:
        rubric = proposed.get(task.task_id, task.rubric)
        if isinstance(rubric, Unusable):
            rejections.append(_rejection(task, origins, str(rubric)))
        else:
            is_published = task.difficulty is not None and task.task_id not in proposed
            difficulty = task.difficulty if is_published else difficulty_of(rubric)
            kept.append(task.model_copy(update={"rubric": rubric, "difficulty": difficulty}))
    return Constructed(kept, rejections, usd)


async def decompose(
    tasks: Sequence[Task], origins: Origins, ask: Ask, params: ConstructionParams, seed: int, advance: Advance
) -> Constructed:
    """The tasks, each followed by the tasks that it is decomposed into; the arguments are those of `add_rubrics`.

    Only training tasks that were not themselves decomposed from others are decomposed, and those of which the tasks
    have parts already are not. A subset is rejected if the
    model gives no usable intent, or the intent of its parent or of a smaller sibling.
    """

    async def answer(part: tuple[Task, Subset]) -> tuple[str, float]:
        return await propose_task(*part, ask, params.max_tries)

    rejections: list[Rejection] = []
    parts: list[tuple[Task, Subset]] = []
    parents = {task.decomposed_from for task in tasks}
    for task in tasks:
        if task.split not in TRAINED_ON or task.decomposed_from is not None or task.task_id in parents:
            continue
        if len({group.id for group in task.rubric}) < len(task.rubric):
            rejections.append(_rejection(task, origins, "two fact groups have the same id"))
            continue
        parts += [(task, part) for part in subsets(task.rubric, params.max_subtasks, seed)]

    answers, usd = await _answers(parts, answer, params.endpoint.max_in_flight, advance)
    children: dict[str, list[Task]] = {task.task_id: [] for task in tasks}
    for (parent, part), intent in zip(parts, answers, strict=True):
        siblings = children[parent.task_id]
        name = "+".join(group.id for group in part)
        if isinstance(intent, Unusable):
            rejections.append(_rejection(parent, origins, f"groups {name}: {intent}"))
        elif normalise(intent) in {normalise(sibling.intent) for sibling in siblings}:
            rejections.append(_rejection(parent, origins, f"groups {name}: the same words as other groups have"))
        else:
            siblings.append(decomposed(parent, part, intent))
    return Constructed([member for task in tasks for member in (task, *children[task.task_id])], rejections, usd)


async def paraphrase(
    tasks: Sequence[Task], origins: Origins, ask: Ask, params: ConstructionParams, advance: Advance
) -> Constructed:
    """The tasks, each followed by itself in other words; the arguments are those of `add_rubrics`.

    A task without usable wordings stays, and a rejection says why it has none. Wordings of another task, and tasks that
    have some, stay as they are.
    """

    async def answer(task: Task) -> tuple[list[str], float]:
        return await other_wordings(task, params.wordings, ask, params.max_tries)

    ids = {task.task_id for task in tasks}
    reworded = {original for task in tasks if (original := wording_of(task.task_id)) in ids}
    candidates = [task for task in tasks if task.task_id not in reworded and wording_of(task.task_id) not in ids]
    answers, usd = await _answers(candidates, answer, params.endpoint.max_in_flight, advance)
    by_id = {task.task_id: wordings for task, wordings in zip(candidates, answers, strict=True)}
    kept: list[Task] = []
    rejections: list[Rejection] = []
    for task in tasks:
        kept.append(task)
        wordings = by_id.get(task.task_id, [])
        if isinstance(wordings, Unusable):
            rejections.append(_rejection(task, origins, f"other wordings: {wordings}", "intent"))
        else:
            kept += paraphrased(task, wordings)
    return Constructed(kept, rejections, usd)


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write tasks as JSONL in the schema of `Task`, which `load_files` reads; published by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    with partial.open("w", encoding="utf-8") as file:
        file.writelines(f"{task.model_dump_json()}\n" for task in tasks)
    publish(partial, path)


def level_counts(tasks: Iterable[Task]) -> dict[str, int]:
    """Numbers of tasks by level of difficulty; `none` counts tasks without facts."""
    counts = Counter[str](level_of(task.difficulty) or "none" for task in tasks)
    return {level: counts[level] for level in (*LEVELS, "none")}


async def _answers(
    questions: Sequence[T], answer: Callable[[T], Awaitable[tuple[V, float]]], workers: int, advance: Advance
) -> tuple[list[V | Unusable], float]:
    """The answer to each question, in order, and the cost of all; `workers` questions are asked at once."""
    results: dict[int, V | Unusable] = {}
    spent = 0.0
    remaining = iter(range(len(questions)))

    async def worker() -> None:
        nonlocal spent
        for index in remaining:
            try:
                results[index], usd = await answer(questions[index])
            except Unusable as error:
                results[index], usd = error, error.usd
            spent += usd
            advance(len(results), len(questions))

    advance(0, len(questions))
    running = [asyncio.create_task(worker()) for _ in range(workers)]
    try:
        await asyncio.gather(*running)
    finally:  # an error in one worker, such as a spent budget, ends all of them
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return [results[index] for index in range(len(questions))], spent


def _rejection(task: Task, origins: Origins, reason: str, field: str = "rubric") -> Rejection:
    file, row, line = origins.get(task.task_id, Origin(task.source, 0))
    return Rejection(file=file, row=row, line=line, field=field, reason=reason, raw=raw_of(task.model_dump()))
