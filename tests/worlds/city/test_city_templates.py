"""Task templates: each has many instances on the data of the seeds, and what it says of them is whole."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator

import pytest

from components.worlds.city.instances import CopyData, Instance
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.registry import templates
from components.worlds.city.tasks.template import Unsuitable

pytestmark = pytest.mark.timeout(700)
SEEDS = range(1, 37)
FEWEST = 20
"""Instances with different facts that a template must have, however they are worded. They are checked."""


@pytest.fixture(scope="module")
def copies(image) -> Iterator[dict[int, CopyData]]:
    server = CityServer(image)
    try:
        yield {seed: CopyData(server, server.reset(seed)["key"]) for seed in SEEDS}
    finally:
        server.stop()


def instances(name: str, copies: dict[int, CopyData]) -> Iterator[Instance]:
    template = templates()[name]
    for seed, data in copies.items():
        try:
            facts = template.facts(data, random.Random(f"{name} {seed}"))
        except Unsuitable:
            continue
        yield Instance(template, facts, seed)


@pytest.mark.parametrize("name", templates())
def test_a_template_has_many_different_instances(name, copies):
    different: dict[tuple[str, str], Instance] = {}
    for instance in instances(name, copies):
        different.setdefault(instance.key, instance)
        if len(different) == FEWEST:
            break
    assert len(different) == FEWEST
    suitable = list(different.values())
    tasks = [instance.row("eval") for instance in suitable]
    assert all(task["difficulty"] >= 1 and all(fact["description"] for fact in task["rubric"]) for task in tasks)
    for instance in suitable:
        template, facts = instance.template, instance.facts
        assert template.effects(facts) or template.answer(facts), "a task asks for something"
        assert template.oracle(facts)
        assert instance.check([], "").reward == 0
        assert instance.check([], instance.row("eval")["intent"]).reward == 0


@pytest.mark.parametrize("name", templates())
def test_every_phrasing_can_be_filled_in(name, copies):
    template = templates()[name]
    assert len(template.phrasings) >= 3
    fields = {field for _, field, _, _ in string.Formatter().parse(template.start) if field}
    for user in template.logins.values():
        fields |= {field for _, field, _, _ in string.Formatter().parse(user) if field}
    few = {seed: data for seed, data in copies.items() if seed <= 6}
    for instance in instances(name, few):
        assert fields <= {*instance.facts}
        for phrasing in template.phrasings:
            text = phrasing.format(**instance.facts)
            assert not re.search(r"[{}]|\bNone\b", text)


def test_the_same_seed_gives_the_same_task(copies):
    for name in templates():
        first, second = instances(name, {1: copies[1]}), instances(name, {1: copies[1]})
        assert [instance.row("eval") for instance in first] == [instance.row("eval") for instance in second]
