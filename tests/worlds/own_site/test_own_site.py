"""A user's own site, as `waymark world new` writes it: its tasks, their checks, and the episodes on it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from components.browser import BrowserPool, SandboxError
from components.cli import main
from components.interactive.options import task_of
from components.params import BrowserParams
from components.records import StateCheck, Task, ToolCall
from components.store import read_table
from components.worlds.own_site import OwnSite, OwnSiteError
from components.worlds.own_site.front import COOKIE
from components.worlds.own_site.scaffold import write_package
from components.worlds.own_site.site import OwnEpisode
from components.worlds.playing import play

REPOSITORY = Path(__file__).parents[3]
POOLS = ("train", "validation")


def test_the_sources_of_a_site_are_its_package_and_the_machinery(world: OwnSite) -> None:
    sources = {path.relative_to(path.parents[1]).as_posix() for path in world.sources()}
    assert {"waymark_notes/site.yaml", "waymark_notes/app.py", "own_site/tables.py"} <= sources


@pytest.mark.parametrize("names", [{}, {"train": ["finish_item"]}, {"heldout": ["add_item"]}])
def test_a_plan_counts_the_tasks_that_the_site_gives(world: OwnSite, names: dict) -> None:
    world.params = world.params.model_copy(update=names)
    rows = asyncio.run(world.tasks(0, (1280, 720)))
    assert rows
    assert world.planned_tasks(0, 0) == Counter(row["split"] for row in rows)


def test_a_plan_needs_no_data_of_the_site(world: OwnSite, tmp_path: Path) -> None:
    assert world.planned_tasks(0, 0)["train"] == 6 + 6 + 3  # finish_item is not known; count_open has three tasks
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_new_package_passes_its_own_checks(world: OwnSite) -> None:
    async def checks() -> list:
        return [task async for task in world.check([], BrowserParams(concurrency=1), 1, 1)]

    found = asyncio.run(checks())
    assert [task.problems for task in found] == [[], [], []]
    assert [len(task.notes) for task in found] == [0, 0, 1]
    assert found[2].notes[0].startswith('no page that the oracle saw shows the answer "'), "the page counts nothing"
    rewards = {task.family: task.rewards for task in found}
    zeros = {"idle": 0, "copied": 0, "other": 0, "stray": 0}
    assert rewards == {
        "add_item": {"oracle": 1, **zeros},
        "finish_item": {"oracle": 1, **zeros},
        "count_open": {"oracle": 1, **zeros, "listed": 0},
    }


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_check_finds_a_rule_that_does_not_name_a_parameter(world: OwnSite) -> None:
    effect = world.definition.tasks["finish_item"].effects[0]
    effect.where.clear()

    async def checks() -> list:
        return [task async for task in world.check(["finish_item"], BrowserParams(concurrency=1), 1, 1)]

    (found,) = asyncio.run(checks())
    assert (found.rewards["oracle"], found.rewards["other"]) == (1, 1)
    (problem,) = found.problems
    assert problem.startswith("other gets 1.0: the oracle of the same task with item = {")
    assert problem.endswith("satisfies the rule, too: name the parameter item in the rule")


@pytest.mark.parametrize("first", ["0", "13"])
def test_a_check_that_would_begin_with_no_task_is_refused(
    world: OwnSite, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    assert main.main(["world", "check", "waymark_notes:KIND", "add_item", "--first-seed", first]) == 1
    message = f"add_item has the tasks 1 to 12: name one of them with --first-seed, not {first}"
    assert message in capsys.readouterr().err


def test_the_splits_of_a_template_have_different_parameters(world: OwnSite) -> None:
    tasks = [Task.model_validate(row) for row in asyncio.run(world.tasks(0, (800, 600)))]
    assert len({task.intent.casefold() for task in tasks}) == len(tasks)
    of = {
        split: [task.seed for task in tasks if task.website == "notes/add_item" and task.split == split]
        for split in ("train", "eval")
    }
    assert of == {"eval": [1, 2], "train": [3, 4, 5, 6, 7, 8]}
    assert asyncio.run(world.tasks(1, (1, 1))) == asyncio.run(world.tasks(0, (800, 600)))


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_two_episodes_at_once_have_processes_and_data_of_their_own(world: OwnSite) -> None:
    instance = world.templates().instances("add_item", 1, 1)[0]
    task = Task.model_validate(instance.row("eval"))

    async def episodes() -> tuple:
        async with (
            BrowserPool(BrowserParams(concurrency=2), world.site(), "elements") as pool,
            pool.session(task) as one,
            pool.session(task) as two,
        ):
            await one.start(task)
            await two.start(task)
            await play(one, instance.oracle(random.Random(0)))
            await two.step([ToolCall(name="goto_url", arguments={"url": "http://notes.test/"})])
            text = await two.page.inner_text("body")
            ports = {session.site_episode.application.port for session in (one, two)}  # type: ignore[union-attr]
            return (await one.check_state()), (await two.check_state()), text, ports

    assert world.independent_episodes
    first, second, text, ports = asyncio.run(episodes())
    assert (first.reward, second.reward, len(ports)) == (1, 0, 2)
    assert [change.table for change in first.changes] == ["item"]
    assert second.changes == []
    assert instance.facts["title"] not in text


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_request_that_an_episode_leaves_behind_changes_no_other(written: Path, world: OwnSite) -> None:
    app, add = written / "waymark_notes/app.py", '        if self.path == "/add":\n'
    text = app.read_text()
    assert text.count(add) == 1
    app.write_text(text.replace(add, f"{add}            __import__('time').sleep(2)\n"))
    task = Task.model_validate(world.templates().instances("add_item", 1, 1)[0].row("eval"))
    send = "() => { fetch('/add', {method: 'POST', body: new URLSearchParams({title: 'late'})}); }"

    async def episodes() -> StateCheck | None:
        async with BrowserPool(BrowserParams(concurrency=1), world.site(), "elements") as pool:
            async with pool.session(task) as one:
                await one.start(task)
                await one.page.evaluate(send)
                await asyncio.sleep(0.5)
            async with pool.session(task) as two:
                await two.start(task)
                await asyncio.sleep(3)
                return await two.check_state()

    check = asyncio.run(episodes())
    assert check is not None
    assert check.changes == []


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_an_episode_on_a_dead_process_is_lost_and_the_next_one_runs(world: OwnSite) -> None:
    task = Task.model_validate(world.templates().instances("finish_item", 1, 1)[0].row("eval"))

    async def episodes() -> str:
        async with BrowserPool(BrowserParams(concurrency=1), world.site(), "elements") as pool:
            async with pool.session(task) as session:
                await session.start(task)
                episode = session.site_episode
                assert isinstance(episode, OwnEpisode)
                process = episode.application._process
                assert process is not None
                started.extend(psutil.Process(process.pid).children(recursive=True))
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                with pytest.raises(SandboxError, match="ended during the episode"):
                    await session.step([ToolCall(name="wait", arguments={"seconds": 0})])
            async with pool.session(task) as session:
                return (await session.start(task)).text or ""

    started: list[psutil.Process] = []
    assert "Done with" in asyncio.run(episodes())
    assert started
    assert psutil.wait_procs(started, timeout=10)[1] == [], "what the killed process had started lives on"


def test_the_front_leads_by_the_cookie_of_an_episode_alone(world: OwnSite) -> None:
    task = Task.model_validate(world.templates().instances("finish_item", 1, 1)[0].row("eval"))

    async def statuses() -> list[int]:
        pages = world.site()
        await pages.start()
        try:
            episode = await pages.begin(task)
            address = f"http://127.0.0.1:{pages.addresses()['notes.test']}/"
            key = next(cookie.value for cookie in episode.cookies if cookie.name == COOKIE)

            async def status(cookie: str) -> int:
                async with httpx.AsyncClient(trust_env=False) as client:
                    return (await client.get(address, headers={"Cookie": cookie})).status_code

            own = f"{COOKIE}={key}"
            found = [await status(cookie) for cookie in (f"person=kim; {own}", f"{COOKIE}=another", "person=kim")]
            await episode.end()
            return [*found, await status(own)]
        finally:
            await pages.stop()

    assert asyncio.run(statuses()) == [200, 403, 403, 403]


@pytest.mark.slow
def test_an_episode_that_is_cancelled_while_it_begins_leaves_no_process(world: OwnSite) -> None:
    task = Task.model_validate(world.templates().instances("add_item", 1, 1)[0].row("eval"))

    async def cancel_and_play() -> tuple[int, int]:
        site = world.site()
        await site.start()
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(site.begin(task), 0.01)
        for _ in range(200):
            if len(site._free) == len(site._all):
                break
            await asyncio.sleep(0.1)
        started = len(site._all)
        episode = await site.begin(task)
        await episode.end()
        counts = started, len(site._free)
        await site.stop()
        return counts

    started, free = asyncio.run(cancel_and_play())
    assert started <= 3
    assert free == started


@pytest.mark.parametrize("part", ["copy", "start"])
def test_pages_that_stop_while_an_episode_begins_leave_nothing(
    world: OwnSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    task = Task.model_validate(world.templates().instances("add_item", 1, 1)[0].row("eval"))
    folder, copying, copy = tmp_path / "own", threading.Event(), shutil.copytree

    def copy_later(*values: Any, **options: Any) -> Any:
        copying.set()
        time.sleep(0.5 if part == "copy" else 0)
        return copy(*values, **options)

    async def begin_and_stop() -> None:
        pages = world.site()
        await pages.start()
        await pages.begin(task)  # it has the process that was started
        monkeypatch.setattr(shutil, "copytree", copy_later)
        world.definition.__dict__["start"] = "exec sleep 600"
        beginning = asyncio.ensure_future(pages.begin(task))
        await asyncio.to_thread(copying.wait)
        await asyncio.sleep(0.2 if part == "copy" else 1)
        beginning.cancel()
        await asyncio.gather(beginning, return_exceptions=True)
        await pages.stop()

    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before, began = {*psutil.Process().children(recursive=True)}, time.monotonic()
    asyncio.run(begin_and_stop())
    assert list(folder.iterdir()) == []
    assert {*psutil.Process().children(recursive=True)} <= before
    assert time.monotonic() - began < 30, "a start that is given up lasts until its time limit"


def test_a_new_package_is_not_written_over_files(written: Path) -> None:
    with pytest.raises(OwnSiteError, match="is there already"):
        write_package("notes", written)
    with pytest.raises(OwnSiteError, match="cannot be a world's name"):
        write_package("My site", written / "other")
    with pytest.raises(OwnSiteError, match="city is a world of Waymark itself"):
        write_package("city", written / "other")


@pytest.mark.slow
def test_the_written_recipe_leaves_tasks_to_train_on(written: Path, tmp_path: Path) -> None:
    metadata = written / "waymark_notes-0.1.dist-info"  # as if the package were installed
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: waymark-notes\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text("[waymark.worlds]\nnotes = waymark_notes\n")
    (tmp_path / "recipes").symlink_to(REPOSITORY / "recipes")
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}:{written}"}
    for command in (
        ["components.cli.main", "use", str(written / "notes.yaml")],
        ["components.stages.collect_tasks"],
        ["components.stages.filter_tasks"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
    pools = {name: len(read_table(tmp_path / "data" / "pools" / f"{name}.parquet", Task)) for name in POOLS}
    assert pools["train"] > pools["validation"] > 0, pools


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_persons_own_task_has_a_process_and_no_check(world: OwnSite) -> None:
    task = task_of("Look at the items", "http://notes.test/")

    async def visit() -> tuple[str, StateCheck | None, float | None]:
        pool = BrowserPool(BrowserParams(concurrency=1), world.site(), "elements")
        async with pool, pool.session(task) as session:
            observation = await session.start(task)
            return observation.url, await session.check_state(), await session.site_reward()

    assert asyncio.run(visit()) == ("http://notes.test/", None, None)
