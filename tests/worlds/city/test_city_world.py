"""The world city: tasks by template and seed, copies per episode, verdicts, and a server that is killed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading

import pytest

from components.agent import EpisodeSettings, EpisodeSpec, Renderer, run_episode
from components.browser import BrowserPool, SandboxError, check_call
from components.params import BrowserParams
from components.policies.scripted import scripted_policy
from components.records import Task, Termination
from components.worlds import WorldError, Worlds
from components.worlds.city import City
from components.worlds.city.instances import Instance
from components.worlds.city.params import CityParams
from components.worlds.city.site import CityEpisode
from components.worlds.playing import play
from tests.samples import recipe
from tests.worlds.city.reaching import answer_to_page, hits_by_page

BROWSER = BrowserParams(concurrency=2, start_timeout_s=60, step_timeout_s=60, settle_ms=20_000)
PARAMS = CityParams(train=["shop_add_to_basket"], train_per_template=2, eval_per_template=1)


@pytest.fixture(scope="module")
def tasks(image) -> list[Task]:
    rows = asyncio.run(City(PARAMS).tasks(0, (1280, 720)))
    return [Task.model_validate(row) for row in rows]


def in_browser(scenario):
    """Runs `await scenario(pool, site)` with the city served."""

    async def run():
        world = City(PARAMS)
        site = world.site()
        async with BrowserPool(BROWSER, site, "elements") as pool:
            return await scenario(pool, site, world)

    return asyncio.run(run())


def test_tasks_are_the_same_for_the_same_seeds(tasks):
    again = asyncio.run(City(PARAMS).tasks(7, (1280, 720)))
    assert [Task.model_validate(row) for row in again] == tasks
    assert [(task.split, task.seed) for task in tasks] == [("train", 1), ("train", 2), ("eval", 100_000)]
    assert tasks[0].website == "city/shop_add_to_basket"
    assert tasks[0].difficulty == len(tasks[0].rubric) == 2


def test_the_oracle_teaches_and_the_record_holds_the_changes(tasks):
    async def scenario(pool, site, world):
        params = recipe()
        renderer = Renderer(params.agent, params.observation)
        settings = EpisodeSettings(
            renderer, params.agent, params.evaluation.sampling, max_steps=12, max_response_tokens=400
        )
        spec = EpisodeSpec(tasks[0], 0, "scripted", 0)
        async with pool.session(spec.task) as session:
            return await run_episode(spec, session, scripted_policy(Worlds([world]))(spec, session), settings)

    trajectory = in_browser(scenario)
    assert trajectory.termination is Termination.DONE
    assert trajectory.site_reward == 1
    assert [change.table for change in trajectory.state_check.changes] == ["basket_line"]
    assert trajectory.state_check.side_effects == []


def test_episodes_at_once_do_not_see_one_another(tasks):
    async def episode(pool, task):
        async with pool.session(task) as session:
            await session.start(task)
            await play(session, Instance.of(task).oracle(random.Random(0)))
            return await session.check_state()

    async def scenario(pool, site, world):
        checks = await asyncio.gather(*(episode(pool, task) for task in [*tasks, *tasks]))
        return checks, site.server.count()

    checks, left = in_browser(scenario)
    assert [check.reward for check in checks] == [1.0] * 6
    assert left == (0, 0), "no copy and no snapshot is left behind"


def test_pages_reach_neither_the_key_nor_the_control_interface(tasks):
    async def scenario(pool, site, world):
        async with pool.session(tasks[0]) as session:
            await session.start(tasks[0])
            episode = session.site_episode
            assert isinstance(episode, CityEpisode)
            cookies = await session.page.evaluate("document.cookie")
            hits = await hits_by_page(session.page)
            answers = [
                await answer_to_page(session.page, f"http://{host}:{site.server.control_port}/count")
                for host in ("127.0.0.1", "localhost", "shop.test")
            ]
            await session.step([check_call("done", {"answer": "the article is in the cart"})])
            return episode.key, cookies, hits, answers, await session.check_state()

    key, cookies, hits, answers, check = in_browser(scenario)
    assert key not in cookies
    assert hits == 0, "a page reaches another port of the machine"
    assert all(answer.startswith("the egress guard refused it") for answer in answers), answers
    assert check.reward == 0


def test_a_killed_server_ends_its_episodes_as_lost(tasks):
    async def scenario(pool, site, world):
        async with pool.session(tasks[0]) as session:
            await session.start(tasks[0])
            os.kill(site.server.pid, signal.SIGKILL)
            with pytest.raises(SandboxError, match="the city's server"):
                await session.step([check_call("goto_url", {"url": "http://shop.test/basket/"})])
        async with pool.session(tasks[0]) as session:
            await session.start(tasks[0])
            await play(session, Instance.of(tasks[0]).oracle(random.Random(0)))
            return await session.check_state(), site.server.generation

    check, generation = in_browser(scenario)
    assert (check.reward, generation) == (1.0, 1)


def test_a_server_killed_before_the_start_page_ends_its_episode_as_lost(tasks, monkeypatch):
    async def scenario(pool, site, world):
        begin = site.begin

        async def begun_and_killed(task):
            episode = await begin(task)
            os.kill(site.server.pid, signal.SIGKILL)
            return episode

        monkeypatch.setattr(site, "begin", begun_and_killed)
        async with pool.session(tasks[0]) as session:
            with pytest.raises(SandboxError, match="the city's server died during the episode"):
                await session.start(tasks[0])

    in_browser(scenario)


def test_an_episode_cancelled_while_its_copy_is_made_leaves_none(tasks, monkeypatch):
    reached, released = threading.Event(), threading.Event()

    async def scenario(pool, site, world):
        snapshot = site.server.snapshot

        def held(key: str) -> str:
            reached.set()
            released.wait(30)
            return snapshot(key)

        monkeypatch.setattr(site.server, "snapshot", held)
        beginning = asyncio.create_task(site.begin(tasks[0]))
        await asyncio.to_thread(reached.wait, 30)
        beginning.cancel()
        released.set()
        with pytest.raises(asyncio.CancelledError):
            await beginning
        return site.server.count()

    assert in_browser(scenario) == (0, 0)


def test_states_are_reset_snapshotted_forked_and_compared(image):
    async def scenario(pool, site, world):
        first = await world.reset(1)
        before = await world.snapshot(first)
        fork = await world.fork(first)
        site.server.execute(fork.key, "UPDATE partner_stockrecord SET num_in_stock = 77 WHERE product_id = 3")
        return await world.diff(before, first), await world.diff(before, fork)

    same, different = in_browser(scenario)
    assert same.changes == []
    (row,) = different.changed
    assert row.after["num_in_stock"] == "77"


STOCK = "SELECT num_in_stock FROM partner_stockrecord WHERE product_id = ?"


def test_a_states_rows_are_read_and_a_statement_that_writes_is_refused(image):
    async def scenario(pool, site, world):
        copy = await world.reset(1)
        before = await world.snapshot(copy)
        site.server.execute(copy.key, "UPDATE partner_stockrecord SET num_in_stock = 77 WHERE product_id = 3")
        rows = [await world.query(state, STOCK, 3) for state in (before, copy)]
        for statement in ("DELETE FROM catalogue_product", "UPDATE partner_stockrecord SET num_in_stock = 0"):
            for state in (copy, before):
                with pytest.raises(WorldError, match=r"refused query: .*readonly"):
                    await world.query(state, statement)
        with pytest.raises(WorldError, match=r"refused query: .*no such table"):
            await world.query(copy, "SELECT * FROM goods")
        return rows, await world.diff(before, copy)

    ([first], [changed]), difference = in_browser(scenario)
    assert (first["num_in_stock"] != 77, changed) == (True, {"num_in_stock": 77})
    assert len(difference.changes) == 1, "what was refused has changed nothing"


def test_states_that_are_dropped_leave_nothing_behind(image):
    async def scenario(pool, site, world):
        copy = await world.reset(1)
        snapshot, fork = await world.snapshot(copy), await world.fork(copy)
        held = site.server.count()
        for state in (copy, fork):
            await world.drop(state)
        assert (await world.diff(snapshot, snapshot)).changes == [], "a snapshot outlives its copy"
        await world.drop(snapshot)
        for use in (world.snapshot(copy), world.query(snapshot, "SELECT 1"), world.drop(fork)):
            with pytest.raises(WorldError, match="no copy has this key"):
                await use
        return held, site.server.count()

    assert in_browser(scenario) == ((2, 1), (0, 0))


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (
            {"train": ["shop_add_to_baskets"]},
            "train: there is no template or site 'shop_add_to_baskets'; near it: shop_add_to_basket",
        ),
        (
            {"heldout_modifiers": ["pop-up"]},
            "heldout_modifiers: there is no modifier 'pop-up'; near it: popup",
        ),
    ],
)
def test_a_wrong_name_is_refused_before_the_run(keys, problem):
    (reported,) = City(CityParams(**keys)).problems(recipe())
    assert reported.startswith(problem)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"train_per_template": 30, "eval_seed_start": 100}, r"train_seed_start \+ 4 \* train_per_template = 121"),
        (
            {"heldout_modifiers": ["theme", "popup"], "validation_seed_start": 100_059},  # (5 + 2 * 5) * 4 seeds
            "validation_seed_start = 100059 must be at least 100060",
        ),
        ({"train": ["shop"], "heldout": ["shop"]}, r"\['shop'\] are both trained on and held out"),
        ({"modifiers": ["slow"], "heldout_modifiers": ["slow"]}, r"modifiers \['slow'\] are both"),
    ],
)
def test_splits_that_overlap_are_refused(keys, problem):
    with pytest.raises(ValueError, match=problem):
        CityParams(**keys)
