"""A user's own site, as `waymark world new` writes it: its processes, its state, its tasks and their checks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest
import yaml

from components.browser import BrowserPool, SandboxError
from components.params import BrowserParams
from components.records import Task, ToolCall
from components.store import read_table
from components.worlds.own_site import OwnSite, OwnSiteError, read_site
from components.worlds.own_site.application import Application
from components.worlds.own_site.front import COOKIE
from components.worlds.own_site.image import digest, ensure
from components.worlds.own_site.instances import Instance, Templates
from components.worlds.own_site.scaffold import write_package
from components.worlds.own_site.site import OwnEpisode, failure
from components.worlds.own_site.tables import copy_of, differences
from components.worlds.playing import play
from tests.loopback import Handler, Loopback


class Greeting(Handler):
    """Greets, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_body(b"Hello", "text/plain")


Change = Callable[[dict], None]
REPOSITORY = Path(__file__).parents[3]
POOLS = ("train", "validation")
HOLDERS = {"verify": "application", "prepare": "image"}
"""The module with the time limit of each command."""


def changed(package: Path, change: Change) -> Path:
    """The folder of `site.yaml` after a change of it."""
    folder = package / "waymark_notes"
    content = yaml.safe_load((folder / "site.yaml").read_text())
    change(content)
    (folder / "site.yaml").write_text(yaml.safe_dump(content))
    return folder


def opened(folder: Path, cache: Path) -> Application:
    site = read_site(folder)
    return Application(site, folder, ensure(site, folder, cache))


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
    rewards = {task.family: task.rewards for task in found}
    zeros = {"idle": 0, "copied": 0, "stray": 0}
    assert rewards == {
        "add_item": {"oracle": 1, **zeros},
        "finish_item": {"oracle": 1, **zeros},
        "count_open": {"oracle": 1, **zeros, "listed": 0},
    }


def test_the_splits_of_a_template_have_different_parameters(world: OwnSite) -> None:
    tasks = [Task.model_validate(row) for row in asyncio.run(world.tasks(0, (800, 600)))]
    assert len({task.intent.casefold() for task in tasks}) == len(tasks)
    of = {
        split: [task.seed for task in tasks if task.website == "notes/add_item" and task.split == split]
        for split in ("train", "eval")
    }
    assert of == {"eval": [1, 2], "train": [3, 4, 5, 6, 7, 8]}
    assert asyncio.run(world.tasks(1, (1, 1))) == asyncio.run(world.tasks(0, (800, 600)))


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


@pytest.mark.parametrize(
    "reset",
    [
        {},
        {"sqlite": ["todo.db"]},
        {"dump": {"todo.db": "first.sql"}},
        {"command": 'cp "$SITE/first.db" todo.db'},
    ],
)
def test_each_kind_of_reset_gives_the_first_data_back(written: Path, tmp_path: Path, reset: dict) -> None:
    folder = changed(written, lambda site: site.update(reset=reset))
    database = ensure(read_site(folder), folder, tmp_path / "cache") / "todo.db"
    (folder / "first.db").write_bytes(database.read_bytes())
    with contextlib.closing(sqlite3.connect(database)) as opened_database:
        (folder / "first.sql").write_text("\n".join(opened_database.iterdump()))
    application = opened(folder, tmp_path / "cache")
    try:
        application.reset()
        before = application.snapshot()
        application.stray()
        assert len(differences(before, application.snapshot())) == 1
        application.reset()
        assert differences(before, application.snapshot(), ["visit"]) == []
    finally:
        application.close()


def test_a_reset_that_leaves_changes_behind_is_refused(written: Path, tmp_path: Path) -> None:
    folder = changed(written, lambda site: site.update(reset={"command": "true"}))
    application = opened(folder, tmp_path / "cache")
    try:
        application.reset()
        application.stray()
        with pytest.raises(OwnSiteError, match=r"does not give its first data back: changed row 1 of item"):
            application.reset()
    finally:
        application.close()


def test_a_start_that_fails_shows_the_output_of_the_command(written: Path, tmp_path: Path) -> None:
    folder = changed(written, lambda site: site.update(start="echo no such database; exit 3"))
    application = opened(folder, tmp_path / "cache")
    with pytest.raises(OwnSiteError, match=r"ended with status 3 after `start`.*\nno such database"):
        application.reset()
    application.close()


@pytest.mark.parametrize("start", ["exec sleep 60", "exit 3"])
def test_a_server_that_has_the_port_already_is_not_taken_for_the_site(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    folder = changed(written, lambda site: site.update(start=start))
    application = opened(folder, tmp_path / "cache")
    another = Loopback(Greeting)
    monkeypatch.setattr("components.worlds.own_site.application.free_port", lambda: another.port)
    message = f"port {another.port}, which notes got.* process {os.getpid()} .*: run again"
    with pytest.raises(OwnSiteError, match=f"{message}|status 3 after `start` with port {another.port};"):
        application.reset()
    assert not application.is_running
    application.close()
    another.close()


@pytest.mark.parametrize("key", ["verify", "prepare"])
def test_a_command_that_takes_too_long_leaves_no_process(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(f"components.worlds.own_site.{HOLDERS[key]}.{key.upper()}_TIMEOUT_S", 2.0)
    pids = tmp_path / "pids"
    command = f"sleep 600 & echo $! > {pids}; sleep 600"
    folder = (
        changed(written, lambda site: site.update(prepare=command)) if key == "prepare" else written / "waymark_notes"
    )

    def run_command() -> None:
        application = opened(folder, tmp_path / "cache")
        application.data.mkdir(parents=True)
        application.verify(command)

    with pytest.raises(OwnSiteError, match=f"{key} did not end within 2 s"):
        run_command()
    left = psutil.Process(int(pids.read_text())) if psutil.pid_exists(int(pids.read_text())) else None
    assert left is None or psutil.wait_procs([left], timeout=10)[1] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda site: site.update(colour="red"), "colour: there is no such key; docs/reference/site-file.md has all"),
        (
            lambda site: site["tasks"]["finish_item"].update(
                parameters={"item": {"sql": "SELECT id, title FROM item WHERE id < 0"}}
            ),
            "finish_item.parameters.item has no values; its SQL finds no row .* let `prepare` make such rows",
        ),
        (lambda site: site["tasks"]["add_item"].update(login="ola"), "no login 'ola' in logins, which has kim"),
        (lambda site: site["tasks"]["add_item"].update(effects=[]), "a task needs a rule"),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"klick": "button Add"}]),
            "is none of `click: button Save`",
        ),
        (
            lambda site: site.update(requires={"no-such-program": "apt-get install it"}),
            "no-such-program is not installed",
        ),
        (lambda site: site["tasks"]["add_item"].update(intent="Add {titel}"), "names 'titel', which is no parameter"),
        (lambda site: site["tasks"]["count_open"].update(answer={"number": {"sql": "SELECT x"}}), "no such column: x"),
        (
            lambda site: site["tasks"]["count_open"].update(answer={"phrase": {"sql": "SELECT NULL"}}),
            "finds a row without a value",
        ),
        (lambda site: site["tasks"]["count_open"].update(answer={"names": ["Ann"]}), "`names` needs `among`"),
        (lambda site: site.update(tasks=["add_item"]), "tasks must be a mapping of names to tasks, not list"),
        (lambda site: site.update(ready="login"), "ready: String should match pattern"),
        (lambda site: site["state"].update(files=["/etc/*.txt"]), "files.0: String should match pattern"),
        (lambda site: site.update(stray={"post": "/add", "as": "ola"}), "no login 'ola' in logins"),
        (lambda site: site.update(stray={"post": "add"}), "add must begin with /"),
        (lambda site: site["tasks"]["add_item"].update(start="add"), "start: String should match pattern"),
        (lambda site: site["tasks"]["add_item"].update(parameters={"title": ["a", True]}), "put it in quotes"),
        (lambda site: site["tasks"]["add_item"].update(intent="Add {title[name]}"), "which is no parameter"),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"scroll": {"direction": "down", "amount": [1]}}]),
            "the step .* float",
        ),
    ],
)
def test_what_is_wrong_in_a_site_file_is_named(written: Path, tmp_path: Path, change: Change, message: str) -> None:
    folder = changed(written, change)

    def read_all() -> None:
        site = read_site(folder)
        templates = Templates(site, copy_of(ensure(site, folder, tmp_path / "cache") / "todo.db"))
        for name in site.tasks:
            templates.instances(name, 1, 1)

    with pytest.raises(OwnSiteError, match=message):
        read_all()


def test_a_file_of_steps_that_is_no_yaml_is_named(written: Path) -> None:
    folder = changed(written, lambda site: site["tasks"]["add_item"].pop("oracle"))
    (folder / "oracles").mkdir(exist_ok=True)
    (folder / "oracles/add_item.yaml").write_text("- click: [")
    with pytest.raises(OwnSiteError, match=r"oracles/add_item.yaml cannot be read"):
        read_site(folder)


def test_tasks_may_stand_beside_an_empty_section(written: Path) -> None:
    folder = changed(written, lambda site: None)
    content = yaml.safe_load((folder / "site.yaml").read_text())
    (folder / "tasks.yaml").write_text(yaml.safe_dump(content["tasks"]))
    (folder / "site.yaml").write_text(yaml.safe_dump(content | {"tasks": None}))
    assert read_site(folder).tasks.keys() == content["tasks"].keys()


def test_equal_values_of_a_parameter_are_one_task(written: Path, tmp_path: Path) -> None:
    titles = {"title": ["One", "Two", "One", "Three", "Two"]}
    folder = changed(written, lambda site: site["tasks"]["add_item"].update(parameters=titles))
    site = read_site(folder)
    templates = Templates(site, copy_of(ensure(site, folder, tmp_path / "cache") / "todo.db"))
    found = templates.instances("add_item", 1, 9)
    assert sorted(instance.facts["title"] for instance in found) == ["One", "Three", "Two"]


def test_numbers_of_the_instruction_may_be_repeated(written: Path, tmp_path: Path) -> None:
    task = {"intent": "How many items are open since 2024?"}
    folder = changed(written, lambda site: site["tasks"]["count_open"].update(task))
    site = read_site(folder)
    templates = Templates(site, copy_of(ensure(site, folder, tmp_path / "cache") / "todo.db"))
    (instance,) = templates.instances("count_open", 1, 1)
    right = instance.answer["number"]
    assert instance.expected.accepts(f"{right} items are open since 2024.")
    assert not instance.expected.accepts("2024")


def test_the_first_data_do_not_depend_on_compiled_files(written: Path) -> None:
    folder = written / "waymark_notes"
    before = digest(read_site(folder), folder)
    (folder / "inner/__pycache__").mkdir(parents=True)
    (folder / "inner/__pycache__/app.pyc").write_bytes(b"compiled")
    assert digest(read_site(folder), folder) == before


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


def test_rules_by_request_and_page_decide_with_the_others(written: Path, tmp_path: Path) -> None:
    """A task without effects: the response of the list must have the item, and no page of the agent's is needed."""
    rule = {"get": "/", "as": "kim", "contains": "{title}"}
    folder = changed(written, lambda site: site["tasks"]["add_item"].update(requests=[rule], effects=[]))
    site = read_site(folder)
    application = opened(folder, tmp_path / "cache")
    try:
        application.reset()
        instance = Instance(site, "add_item", 1, {"title": "Buy bread"}, {})
        rule = instance.template.requests[0]
        assert failure(rule, application, instance.facts) == "/ does not contain 'Buy bread'"
        client = application.client("kim")
        client._send("POST", "/add", {}, data={"title": "Buy bread"})
        assert failure(rule, application, instance.facts) is None
    finally:
        application.close()


def test_a_new_package_is_not_written_over_files(written: Path) -> None:
    with pytest.raises(OwnSiteError, match="is there already"):
        write_package("notes", written)
    with pytest.raises(OwnSiteError, match="cannot be a world's name"):
        write_package("My site", written / "other")


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
