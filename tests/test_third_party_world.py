"""A world of another distribution: installed, named in a recipe, and the whole pipeline runs on it unchanged.

`tests/third_party_world` is the package that `docs/how-to/add-a-world.md` explains line by line.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from components.records import Outcome, Task, Trajectory, Verdict
from components.store import read_table
from tests.samples import shipped
from tests.test_smoke import ROOT, STAGES, copy_project, run

PACKAGE = ROOT / "tests/third_party_world"
SHELF = {"train_per_family": 8, "eval_per_family": 3}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip installs it, its entry point included."""
    source, target = tmp_path_factory.mktemp("source") / "shelf", tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True)
    return target


@pytest.fixture
def importable(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(installed))
    return installed


def test_an_installed_world_is_found_by_its_entry_point(importable: Path) -> None:
    from components.worlds import world_class

    assert world_class("shelf").name == "shelf"
    assert world_class("shelf") is world_class("waymark_shelf.world:Shelf")


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


@pytest.mark.slow
@pytest.mark.timeout(1600)
def test_the_smoke_pipeline_runs_on_it_beside_another_world(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run with tasks of two worlds: each episode is on its own world's pages."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")]))
    copy_project(tmp_path)
    raw = shipped("smoke") | {"name": "shelf-and-pages"}
    raw["worlds"]["miniwob"] |= {"train": ["click-button"], "heldout": [], "train_per_family": 4, "eval_per_family": 2}
    (tmp_path / "recipes/two.yaml").write_text(yaml.safe_dump(raw | {"worlds": raw["worlds"] | {"shelf": SHELF}}))
    run(tmp_path, "-m", "flows.demo", "--recipe", "recipes/two.yaml")

    report = json.loads((tmp_path / "reports/shelf-and-pages.json").read_text())
    assert set(report["stages"]) == STAGES
    assert report["tasks"]["collected"] == 3 * (8 + 3) + 4 + 2 + 3, "three pages of MiniWoB++ are for validation"
    trajectories = read_table(tmp_path / "data/teacher/trajectories.parquet", Trajectory)
    outcomes = {v.trajectory_id: v.outcome for v in read_table(tmp_path / "data/teacher/verdicts.parquet", Verdict)}
    worlds = {trajectory.task.source for trajectory in trajectories}
    assert worlds == {"shelf", "miniwob"}
    for trajectory in trajectories:
        host = f"http://{trajectory.task.source}/"
        assert all(turn.observation.url.startswith(host) for turn in trajectory.turns)
    of_shelf = [outcomes[one.trajectory_id] for one in trajectories if one.task.source == "shelf"]
    assert Outcome.SUCCESS in of_shelf
    families = {Path(one.task.website).name for one in trajectories if one.task.source == "shelf"}
    assert families == {"borrow", "search", "rate"}
