"""A world of another distribution, installed and named. `test_smoke` runs the whole pipeline on it.

`tests/third_party_world` is the package that `docs/how-to/add-a-world.md` shows and explains part by part.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from components.params import RecipeError, parse
from components.records import Task
from components.worlds import World, world_class, worlds_of
from components.worlds.loopback_site import PageServer
from tests.samples import raw_recipe
from tests.test_smoke import THIRD_PARTY_WORLD, pip_install


def rows_of(world: World) -> list[dict]:
    return asyncio.run(world.tasks(0, (160, 210)))


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
    assert world_class("shelf").name == "shelf"
    assert world_class("shelf") is world_class("waymark_shelf.world:Shelf")


def test_the_plan_counts_the_tasks_that_the_world_makes(importable: Path) -> None:
    kind = world_class("shelf")
    world = kind(kind.Params.model_validate({"train_per_family": 4, "eval_per_family": 2}))
    rows = rows_of(world)
    assert world.planned_tasks(0, 0) == Counter(row["split"] for row in rows) == {"train": 12, "eval": 6}


def test_an_entry_point_has_the_name_of_its_world(
    importable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`waymark evaluate` finds a world by its name, and a recipe by that of the entry point."""
    from components.plugins import UnknownKindError

    metadata = tmp_path / "waymark_library-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: waymark-library\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[waymark.worlds]\nlibrary = waymark_shelf:Shelf\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UnknownKindError, match="'library' is Shelf, whose name is 'shelf': give the entry point"):
        world_class("library")


def test_problems_name_the_key_that_stands_in_the_recipe(importable: Path) -> None:
    section = {"waymark_shelf.world:Shelf": {"families": ["lend"], "train_per_family": 1}}
    by_path = parse(raw_recipe(worlds=section))
    with pytest.raises(RecipeError, match=r"worlds\.waymark_shelf\.world:Shelf\.families: there is no family 'lend'"):
        worlds_of(by_path).require_possible(by_path)


def test_an_evaluation_runs_on_a_world_that_is_named_by_its_path(importable: Path) -> None:
    from components.benchmarks.rollouts import benchmark_worlds

    by_path = parse(raw_recipe(worlds={"waymark_shelf.world:Shelf": {"train_per_family": 1}}))
    tasks = [Task.model_validate({"source": "shelf", **row}) for world in worlds_of(by_path) for row in rows_of(world)]
    assert [world.key for world in benchmark_worlds(by_path, tasks)] == ["waymark_shelf.world:Shelf"]


def test_a_scripted_teacher_is_refused_where_there_is_none(importable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = world_class("shelf")
    taught = parse(raw_recipe(worlds={"shelf": {"train_per_family": 1}}))
    worlds_of(taught).require_possible(taught)
    monkeypatch.delattr(kind, "teacher")
    with pytest.raises(RecipeError, match=r"worlds\.shelf: teacher\.policy = scripted, and this world has no scripted"):
        worlds_of(taught).require_possible(taught)
    without_tasks = parse(raw_recipe(worlds={"miniwob": {}, "shelf": {}}))  # of files, say
    worlds_of(without_tasks).require_possible(without_tasks)
    only_evaluated = parse(raw_recipe(worlds={"shelf": {"eval_per_family": 1}}))
    worlds_of(only_evaluated).require_possible(only_evaluated)


def test_a_site_has_rewards_if_its_class_tells_them(importable: Path) -> None:
    from components.worlds import LoopbackSite

    class Silent(LoopbackSite[PageServer]):
        origins = ("http://silent",)

        def serve(self) -> PageServer:
            raise NotImplementedError

    site = world_class("shelf")(world_class("shelf").Params()).site()
    assert site is not None
    assert site.rewards
    assert not Silent().rewards


@pytest.mark.slow
def test_the_teacher_earns_the_reward_and_a_stray_click_loses_it(importable: Path) -> None:
    """Each family once; then the same again with a second deed after the first."""
    from components.browser import BrowserPool, parse_elements
    from components.params import BrowserParams
    from components.records import ToolCall

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
        tasks = [Task.model_validate({"source": "shelf", **row}) for row in await world.tasks(0, (160, 210))]
        async with BrowserPool(BrowserParams(viewport=(160, 210), concurrency=2), world.site(), "elements") as pool:
            return [await episode(pool, task, strays) for task in tasks]

    assert asyncio.run(rewards(False)) == [1.0, 1.0, 1.0]
    assert asyncio.run(rewards(True)) == [0.0, 0.0, 0.0]
