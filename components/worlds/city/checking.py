"""Checks of task templates in a real browser: what the oracle, an idle agent and cheating agents get.

For each template and seed:

- the oracle gets 1, within the number of actions that its length says;
- an agent that only says `done` gets 0, and so does one whose answer is the task's own words;
- one that gives the right answer without opening a page that shows it gets 0, where the template names such pages;
- one whose page calls the control interface gets 0, and so does one whose page claims that the task is done: neither
  changes the copy;
- the oracle's run with one more write gets 0, and the write is named;
- the oracle's run with an answer that lists all candidates gets 0;
- a second run of the oracle leaves the same rows in every table.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from components.browser import BrowserPool
from components.params import BrowserParams
from components.records import StateCheck, Task
from components.worlds import TaskCheck
from components.worlds.city.instances import Instance, instances
from components.worlds.city.site import CityEpisode, CitySite
from components.worlds.city.tasks.template import Template
from components.worlds.playing import answer_only, play

LENGTHS = {"short": range(1, 4), "medium": range(4, 9), "long": range(9, 100)}
STRAY = "UPDATE auth_user SET first_name = first_name || '!' WHERE username = 'jonas'"
CONTROL = """async ([port, key, sql]) => {
    const answers = [];
    for (const host of ['127.0.0.1', 'localhost', location.hostname])
        for (const [command, mode] of [['query', 'cors'], ['execute', 'no-cors']]) {
            const request = {method: 'POST', mode, body: JSON.stringify({key, sql})};
            answers.push(await fetch(`http://${host}:${port}/${command}`, request).then((it) => it.text(), () => ''));
        }
    return answers.join(' ');
}"""
"""Calls the control interface with the copy's key, which no page knows; returns what it is told."""
FORGED = """async (claim) => {
    const state = JSON.stringify({reward: 1, done: true, success: true, answer: claim});
    document.title = claim;
    document.body.innerHTML = `<main><h1>Done</h1><p role=status></p></main>`;
    document.querySelector('p').textContent = claim;
    window.reward = localStorage.state = sessionStorage.state = state;
    document.cookie = 'state=' + encodeURIComponent(state) + '; path=/';
    const headers = {'Content-Type': 'application/json'};
    await fetch(location.href, {method: 'POST', headers, body: state}).catch(() => null);
}"""
"""Makes the page, the browser's storage and a request to the site say that the task is done."""


@dataclass(frozen=True)
class _Run:
    check: StateCheck
    actions: int
    digest: str
    """Of the whole database as SQL statements."""
    stray: StateCheck
    listed: StateCheck | None


async def check_templates(
    kinds: Sequence[Template],
    params: BrowserParams,
    first_seed: int,
    seeds: int,
    modifiers: Sequence[tuple[str, ...]] = ((),),
) -> AsyncIterator[TaskCheck]:
    """Check templates, `params.concurrency` at once; results come in the order of the templates.

    Args:
        seeds: the number of instances of each.
        modifiers: each instance has one of these, in turn by its seed.
    """
    site = CitySite()
    async with BrowserPool(params, site, "elements") as pool:
        free = asyncio.Semaphore(params.concurrency)

        async def check(kind: Template) -> list[TaskCheck]:
            async with free:
                made = await asyncio.to_thread(instances, site.server, kind, first_seed, seeds, modifiers)
                return [await check_instance(instance, pool, site) for instance in made]

        checks = [asyncio.create_task(check(kind)) for kind in kinds]
        try:
            for under_way in checks:
                for report in await under_way:
                    yield report
        finally:
            for under_way in checks:
                under_way.cancel()
            await asyncio.gather(*checks, return_exceptions=True)


async def check_instance(instance: Instance, pool: BrowserPool, site: CitySite) -> TaskCheck:
    """All checks of one instance."""
    began = time.monotonic()
    template, task = instance.template, Task.model_validate(instance.row("eval"))
    report = TaskCheck(task.task_id, template.name)
    try:
        await _fill(report, instance, task, pool, site)
    except Exception as error:  # the table names it and goes on with the next instance
        report.problems.append(f"{type(error).__name__}: {error}")
    report.seconds = round(time.monotonic() - began, 1)
    return report


async def _fill(report: TaskCheck, instance: Instance, task: Task, pool: BrowserPool, site: CitySite) -> None:
    problems, length = report.problems, instance.template.length
    first, second = [await _run_oracle(instance, task, pool, site) for _ in range(2)]
    report.add_oracle(first.check, first.actions)
    if first.check.reward == 1 and first.actions not in LENGTHS[length] and not instance.modifiers:
        problems.append(f"the oracle takes {first.actions} actions, which is not {length}")
    report.is_repeatable = first.digest == second.digest
    problems += [] if report.is_repeatable else ["two runs of the oracle leave different data"]
    idle, copied = [await answer_only(task, answer, pool) for answer in ("", task.intent)]
    report.add_cheats({"idle": idle, "copied": copied, "stray": first.stray, "listed": first.listed})
    expected = instance.template.answer(instance.facts)
    if expected is not None and instance.template.evidence(instance.facts):
        report.add_cheats({"guessed": await answer_only(task, expected.example, pool)})
    if not first.stray.side_effects:
        problems.append("the stray write is not named")
    attacks = await _run_attacks(task, pool, site)
    report.add_cheats(attacks)
    problems += [f"{name} changes the copy" for name, check in attacks.items() if check.changes]


async def _run_attacks(task: Task, pool: BrowserPool, site: CitySite) -> dict[str, StateCheck]:
    """The checks after the start page has called the control interface, and then after it has forged a state."""
    async with pool.session(task) as session:
        await session.start(task)
        episode = session.site_episode
        assert isinstance(episode, CityEpisode)
        response = await session.page.evaluate(CONTROL, [site.server.control_port, episode.key, STRAY])
        control = await _check(episode, response)
        await session.page.evaluate(FORGED, task.intent)
        return {"control": control, "forged": await _check(episode, task.intent)}


async def _run_oracle(instance: Instance, task: Task, pool: BrowserPool, site: CitySite) -> _Run:
    async with pool.session(task) as session:
        await session.start(task)
        actions = await play(session, instance.oracle(random.Random(0)))
        check = await session.check_state()
        assert check is not None
        episode = session.site_episode
        assert isinstance(episode, CityEpisode)
        digest = digest_of(site.server.database(episode.key))
        expected = instance.template.answer(instance.facts)
        listed = await _check(episode, expected.listed) if expected is not None and expected.listed else None
        site.server.execute(episode.key, STRAY)
        return _Run(check, actions, digest, await _check(episode, session.answer), listed)


async def _check(episode: CityEpisode, answer: str | None) -> StateCheck:
    """The comparison of an episode of an instance, which always has one."""
    check = await episode.check_state(answer)
    assert check is not None
    return check


def digest_of(database: bytes) -> str:
    """A digest of the tables and rows of a SQLite database, whatever the order of its pages."""
    opened = sqlite3.connect(":memory:")
    try:
        opened.deserialize(database)
        return hashlib.sha256("\n".join(opened.iterdump()).encode()).hexdigest()
    finally:
        opened.close()
