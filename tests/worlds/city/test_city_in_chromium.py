"""The mail and the calendars in a real browser, through the agent's own tools: their widgets can be used."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from components.browser import BrowserPool
from components.interactive.options import task_of
from components.params import BrowserParams
from components.records import StateCheck, Task, ToolCall
from components.worlds.city import instances as instances_module
from components.worlds.city.instances import Instance
from components.worlds.city.site import CitySite
from components.worlds.city.tasks.template import Data, Facts, Template
from components.worlds.effects import Added, Effect
from components.worlds.oracle import Step, choose, click, fill
from components.worlds.playing import play


class Letter(Template):
    """A letter from alice to bruno."""

    name = "letter"
    sites = ("mail",)
    length = "medium"
    logins: ClassVar[Mapping[str, str]] = {"mail": "alice"}
    phrasings = ("Write to Bruno.",)

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return {}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Added("postman_message", {"subject": "Lunch", "body": "At noon?"})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "Write a letter"),
            fill("To.*", "bruno@harbour.test"),
            fill("Subject", "Lunch"),
            fill("Body", "At noon?"),
            click("button", "Send"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return ["Bruno has the letter."]


class Booking(Template):
    """Half an hour of the crane, booked by piet for greta."""

    name = "booking"
    sites = ("calendar",)
    length = "long"
    logins: ClassVar[Mapping[str, str]] = {"calendar": "piet"}
    start = "/calendar/month/crane/"
    phrasings = ("Book the crane for Greta.",)

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        return {}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        times = {"start": "2026-03-19 10:00:00", "end": "2026-03-19 10:30:00"}
        return [Added("schedule_event", {"title": "Lift Gannet", "rule_id": None, **times})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "Book"),
            fill("Title", "Lift Gannet"),
            fill("Starts, day", "2026-03-19"),
            fill("Starts, time", "10:00"),
            fill("Ends, day", "2026-03-19"),
            fill("Ends, time", "10:30"),
            choose("Booked by", "Greta Silva"),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return ["The crane is booked."]


@pytest.mark.parametrize("template", [Letter(), Booking()], ids=lambda template: template.name)
def test_the_widgets_can_be_used_with_the_agents_tools(image, monkeypatch, template):
    monkeypatch.setattr(instances_module, "find", lambda name: template)
    instance = Instance(template, {}, seed=1)

    async def episode() -> StateCheck | None:
        async with BrowserPool(BrowserParams(), CitySite(), "elements") as pool:
            task = Task.model_validate(instance.row("eval"))
            async with pool.session(task) as session:
                await session.start(task)
                await play(session, instance.oracle(random.Random(0)))
                return await session.check_state()

    check = asyncio.run(episode())
    assert check is not None
    assert (check.missing, check.side_effects) == ([], [])
    assert check.reward == 1


@pytest.mark.timeout(120)
def test_a_persons_own_task_has_a_copy_and_no_check(image):
    task = task_of("Look for a tent", "http://shop.test/")

    async def visit() -> tuple[str, list[str], StateCheck | None, float | None]:
        async with BrowserPool(BrowserParams(), CitySite(), "elements") as pool, pool.session(task) as session:
            observation = await session.start(task)
            feedback = (
                await session.step([ToolCall(name="goto_url", arguments={"url": "http://forum.test/"})])
            ).feedback
            return observation.text or "", feedback, await session.check_state(), await session.site_reward()

    text, feedback, check, reward = asyncio.run(visit())
    assert "login or register" in text.lower()
    assert feedback[0].startswith("Succeed")
    assert (check, reward) == (None, None)
