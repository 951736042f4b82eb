"""The packages in docs/examples: real applications whose tasks pass all checks in a browser (`make sites`)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from components.params import BrowserParams
from components.worlds import world_class
from components.worlds.own_site import OwnSite, OwnSiteError, read_site
from components.worlds.own_site.image import find_programs

EXAMPLES = Path(__file__).parents[3] / "docs/examples"
NAMES = ("fossil", "trac")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_three_tasks_in_at_most_150_lines(name: str) -> None:
    files = [path for path in (EXAMPLES / name).rglob("*") if path.suffix in {".yaml", ".py", ".toml"}]
    assert sum(len(path.read_text().splitlines()) for path in files) <= 150
    site = read_site(EXAMPLES / name / f"waymark_{name}")
    assert len(site.tasks) >= 3
    assert all(template.oracle is not None for template in site.tasks.values())


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", ["fossil", pytest.param("trac", marks=pytest.mark.exhaustive)])
def test_the_tasks_of_an_example_pass_all_checks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = EXAMPLES / name
    try:
        find_programs(read_site(folder / f"waymark_{name}"))
    except OwnSiteError as error:
        pytest.skip(str(error))
    monkeypatch.syspath_prepend(str(folder))
    kind = world_class(f"waymark_{name}:KIND")
    world = kind(kind.Params())
    assert isinstance(world, OwnSite)

    async def checks() -> list:
        return [task async for task in world.check([], BrowserParams(concurrency=1), 1, 1)]

    found = asyncio.run(checks())
    assert {task.task_id: task.problems for task in found if task.problems} == {}
    assert all(task.rewards["oracle"] == 1 and {"idle", "copied", "stray"} <= {*task.rewards} for task in found)
