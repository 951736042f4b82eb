"""A world of another distribution, installed and named. `test_smoke` runs the whole pipeline on it.

`tests/third_party_world` is the package that `docs/how-to/add-a-world.md` shows and explains part by part.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from components.records import Task
from tests.test_smoke import THIRD_PARTY_WORLD, pip_install


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip installs it, its entry point included."""
    target = tmp_path_factory.mktemp("site")
    pip_install(THIRD_PARTY_WORLD, target)
    return target


@pytest.fixture
def importable(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(installed))
    return installed


def test_an_installed_world_is_found_by_its_entry_point(importable: Path) -> None:
    from components.worlds import world_class

    assert world_class("shelf").name == "shelf"
    assert world_class("shelf") is world_class("waymark_shelf.world:Shelf")


def test_the_plan_counts_the_tasks_that_the_world_makes(importable: Path) -> None:
    from components.worlds import world_class

    kind = world_class("shelf")
    world = kind(kind.Params.model_validate({"train_per_family": 4, "eval_per_family": 2}))
    rows = asyncio.run(world.tasks(0, (160, 210)))
    assert world.planned_tasks(0, 0) == Counter(row["split"] for row in rows) == {"train": 12, "eval": 6}


@pytest.mark.slow
def test_the_teacher_earns_the_reward_and_a_stray_click_loses_it(importable: Path) -> None:
    """Each family once; then the same again with a second deed after the first."""
    from components.browser import BrowserPool, parse_elements
    from components.params import BrowserParams
    from components.records import ToolCall
    from components.worlds import world_class

    kind = world_class("shelf")
    world = kind(kind.Params.model_validate({"train_per_family": 1}))

    async def episode(pool: BrowserPool, task: Task, strays: bool) -> float | None:
        async with pool.session(task) as session:
            await session.start(task)
            teacher, is_done = world.teacher(task), False
            while not is_done:
                calls = teacher.next(parse_elements(await session.oracle())).calls
                is_done = (await session.step(calls)).done
            if strays:
                await session.step([ToolCall(name="goto_url", arguments={"url": "http://shelf/borrow?title=Emma"})])
            return await session.site_reward()

    async def rewards(strays: bool) -> list[float | None]:
        tasks = [Task.model_validate(row) for row in await world.tasks(0, (160, 210))]
        async with BrowserPool(BrowserParams(viewport=(160, 210), concurrency=2), world.site(), "elements") as pool:
            return [await episode(pool, task, strays) for task in tasks]

    assert asyncio.run(rewards(False)) == [1.0, 1.0, 1.0]
    assert asyncio.run(rewards(True)) == [0.0, 0.0, 0.0]
