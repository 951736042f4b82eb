"""No attack wins a task of the city that asks for an answer: all templates, with the data of real seeds.

The bars are the figures of docs/how-to/calibrate-a-judge.md, of the same seeds.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from components.judge.attack import attack_rules
from components.records import Task
from components.worlds.answers import Refusal
from components.worlds.city import City
from components.worlds.city.params import CityParams
from components.worlds.city.site import SITES

FIRST_SEED, PER_TEMPLATE = 5000, 3
CONSTANTS = 7
"""Tasks that the best constant wins, "2": right numbers of bookings, orders, replies, letters and reviews. Such a task
also wants a page opened that shows the number (`Template.evidence`)."""


@pytest.fixture(scope="module")
def answered(image) -> list[Task]:
    """The tasks that ask for an answer, of all templates."""
    section = CityParams(
        train=[*SITES], train_per_template=PER_TEMPLATE, eval_per_template=0, train_seed_start=FIRST_SEED
    )
    world = City(section)
    tasks = [Task.model_validate(row) for row in asyncio.run(world.tasks(0, (1280, 720)))]
    return [task for task in tasks if world.expected_answer(task) is not None]


def test_the_tasks_are_of_all_sites_and_of_all_kinds_of_answers(answered):
    templates = Counter(task.website for task in answered)
    assert len(templates) >= 50
    assert set(templates.values()) == {PER_TEMPLATE}
    assert {task.domain.partition("+")[0] for task in answered} == {*SITES}
    world = City(CityParams())
    kinds = Counter(type(world.expected_answer(task)) for task in answered)
    assert len(kinds) >= 3
    assert kinds[Refusal] >= 10


def test_no_attack_wins_a_task_and_constants_hardly_any(answered):
    found = attack_rules(answered)
    assert (found.tasks, found.answered, found.unread, len(found.results)) == (len(answered), len(answered), 0, 9)
    wins = {result.attack: result.wins for result in found.results if result.wins}
    assert wins.keys() <= {"constant"}
    assert wins.get("constant", 0) <= CONSTANTS
