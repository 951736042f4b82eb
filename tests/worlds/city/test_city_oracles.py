"""Every template's oracle does its task in Chromium. `waymark world check city` adds the agents that cheat."""

from __future__ import annotations

import asyncio
import random

import pytest

from components.browser import BrowserPool
from components.params import BrowserParams
from components.records import Task
from components.worlds.city.checking import LENGTHS
from components.worlds.city.instances import Instance, instances
from components.worlds.city.site import CitySite
from components.worlds.city.tasks.registry import templates
from components.worlds.playing import play

pytestmark = pytest.mark.timeout(900)  # the longest file, so that it runs first

AT_ONCE = 4
BROWSER = BrowserParams(concurrency=AT_ONCE, start_timeout_s=60, step_timeout_s=60, settle_ms=20_000)


@pytest.mark.parametrize("site_name", sorted({template.sites[0] for template in templates().values()}))
def test_each_oracle_does_its_task_and_nothing_else(site_name, image):
    kinds = [template for template in templates().values() if template.sites[0] == site_name]

    async def episode(pool: BrowserPool, instance: Instance) -> list[str]:
        task = Task.model_validate(instance.row("eval"))
        try:
            async with pool.session(task) as session:
                await session.start(task)
                actions = await play(session, instance.oracle(random.Random(0)))
                check = await session.check_state()
        except Exception as error:
            return [f"{task.task_id}: {type(error).__name__}: {error}"]
        assert check is not None
        problems = [*check.missing, *check.side_effects, *(["the answer is wrong"] if check.answer_ok is False else [])]
        problems += [] if actions in LENGTHS[instance.template.length] else [f"{actions} actions"]
        return [f"{task.task_id}: {problem}" for problem in problems]

    async def scenario() -> list[str]:
        site = CitySite()
        async with BrowserPool(BROWSER, site, "elements") as pool:
            plays = [episode(pool, instances(site.server, kind, 1, 1)[0]) for kind in kinds]
            return [problem for problems in await asyncio.gather(*plays) for problem in problems]

    assert asyncio.run(scenario()) == []
