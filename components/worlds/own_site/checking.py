"""Checks of a site's tasks in a real browser: what the oracle, an idle agent and cheating agents get.

- The oracle gets 1, twice, and changes the same columns of the same tables both times.
- An agent that only says `done` gets 0, and so does one whose answer is the task's own words.
- The oracle of another task gets 0. Of each parameter there is a run of a task that differs in this parameter only.
- The oracle's run with the write of `stray` gets 0.
- The oracle's run with an answer that lists all candidates gets 0.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.browser import BrowserPool
from components.params import BrowserParams
from components.records import StateCheck, Task
from components.worlds.own_site.doubts import notes_on
from components.worlds.own_site.instances import Instance
from components.worlds.own_site.schema import require_names
from components.worlds.own_site.site import OwnEpisode
from components.worlds.own_site.site_file import OwnSiteError
from components.worlds.playing import answer_only, play
from components.worlds.task_check import TaskCheck

if TYPE_CHECKING:
    from components.worlds.own_site.own_world import OwnSite


@dataclass(frozen=True)
class _Run:
    check: StateCheck
    actions: int
    stray: StateCheck | None
    listed: StateCheck | None
    pages: Sequence[str]
    """The texts of what the oracle saw; none if the task asks for no answer."""


async def check_tasks(
    world: OwnSite, names: Sequence[str], params: BrowserParams, first: int, count: int
) -> AsyncIterator[TaskCheck]:
    """Check the tasks `first` to `first + count - 1` of each template, one after the other.

    Raises:
        OwnSiteError: a template has no task `first`, or a rule names a table or column that the state does not have.
    """
    templates = world.templates()
    for name in names:
        templates.require(name, first, "--first-seed")
    pages = world.site()
    try:
        require_names(world.definition, names, await pages.columns())
    except OwnSiteError:
        await pages.stop()
        raise
    async with BrowserPool(params, pages, "elements") as pool:
        for name in names:
            for instance in templates.instances(name, first, count):
                yield await check_instance(instance, templates.variants(instance), pool)


async def check_instance(instance: Instance, variants: Mapping[str, Instance], pool: BrowserPool) -> TaskCheck:
    """All checks of one task.

    Args:
        variants: other tasks of the template, by the parameter in which they differ.
    """
    began = time.monotonic()
    task = Task.model_validate(instance.row("eval"))
    report = TaskCheck(task.task_id, instance.name)
    try:
        await _fill(report, instance, task, pool)
        await _add_variants(report, variants, task, pool)
    except Exception as error:  # the table names it and goes on with the next task
        report.problems.append(f"{type(error).__name__}: {error}")
    report.seconds = round(time.monotonic() - began, 1)
    return report


async def _fill(report: TaskCheck, instance: Instance, task: Task, pool: BrowserPool) -> None:
    problems = report.problems
    stray = listed = None
    if instance.template.oracle is not None:
        first, second = [await _run_oracle(instance, task, pool) for _ in range(2)]
        report.add_oracle(first.check, first.actions)
        report.notes += notes_on(instance, first.pages)
        stray, listed = first.stray, first.listed
        report.is_repeatable = _shape(first.check) == _shape(second.check)
        problems += [] if report.is_repeatable else ["two runs of the oracle change different columns"]
        problems += (
            [] if stray is not None else ["site.yaml declares no `stray` write, so side effects are not checked"]
        )
    else:
        name = instance.name
        problems.append(f"{name} has no oracle: write its steps in the site's file")
    idle, copied = [await answer_only(task, answer, pool) for answer in ("", task.intent)]
    report.add_cheats({"idle": idle, "copied": copied, "stray": stray, "listed": listed})
    if stray is not None and not stray.side_effects:
        problems.append("the stray write is not noticed: is its table in state, and not in state.noise?")


async def _add_variants(report: TaskCheck, variants: Mapping[str, Instance], task: Task, pool: BrowserPool) -> None:
    """Plays the oracles of other tasks, each from its own start page, and notes which of them satisfy the task's rule.
    An oracle that cannot be played on the task's data is no run."""
    for name, variant in variants.items():
        with contextlib.suppress(RuntimeError):
            check = await _play_other(variant, task, pool)
            report.rewards["other"] = max(check.reward, report.rewards.get("other", 0.0))
            if check.reward:
                report.problems.append(
                    f"other gets {check.reward}: the oracle of the same task with {name} = {variant.facts[name]!r} "
                    f"satisfies the rule, too: name the parameter {name} in the rule"
                )


async def _play_other(variant: Instance, task: Task, pool: BrowserPool) -> StateCheck:
    other = task.model_copy(update={"start_url": variant.start_url})
    async with pool.session(other) as session:
        await session.start(other)
        await play(session, variant.oracle(random.Random(0)))
        check = await session.check_state()
        assert check is not None
        return check


async def _run_oracle(instance: Instance, task: Task, pool: BrowserPool) -> _Run:
    async with pool.session(task) as session:
        await session.start(task)
        pages: list[str] | None = [] if instance.answer else None
        actions = await play(session, instance.oracle(random.Random(0)), pages)
        check = await session.check_state()
        episode = session.site_episode
        assert check is not None
        assert isinstance(episode, OwnEpisode)
        expected = instance.expected
        listed = await episode.check_state(expected.listed) if expected is not None and expected.listed else None
        stray = None
        if instance.site.stray is not None:
            episode.application.stray()
            stray = await episode.check_state(session.answer)
        return _Run(check, actions, stray, listed, pages or [])


def _shape(check: StateCheck) -> list[tuple[str, list[str]]]:
    """The tables and the changed columns, without values: identifiers and times differ from run to run."""
    shape = []
    for change in check.changes:
        before, after = change.before or {}, change.after or {}
        names = sorted({*before, *after})
        shape.append((change.table, [name for name in names if before.get(name) != after.get(name)]))
    return sorted(shape)
