"""Plays a journey through a session, as an agent does that reads the element list after each call."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin

from components.browser import BrowserPool, Listed, Session, check_call, parse_elements
from components.browser.feedback import NO_EFFECT
from components.params import BrowserParams, EgressParams
from components.records import Observation, Task
from tests.applications.server import Application, Running
from tests.applications.steps import Line, Step

UPLOADS = Path(__file__).with_name("uploads")
"""The files that a journey may give to an application."""
PARAMS = BrowserParams(
    uploads=str(UPLOADS), concurrency=1, egress=EgressParams(allowed_hosts=["127.0.0.1"], private_hosts=["127.0.0.1"])
)
PATIENCE = 10
"""Seconds for which a user waits for something that is not there yet, a call of `wait` each."""
REPEATS = 12
"""Number of calls with which a user looks for something by scrolling."""

Watch = Callable[[Session, Observation], Awaitable[None]]


class JourneyError(AssertionError):
    """A step could not be done as a user would do it."""


@dataclass
class Played:
    """What a journey took."""

    calls: int = 0
    """Without the waits."""
    waits: int = 0
    """Calls of `wait` because something was not there yet."""
    step_ms: list[float] = field(default_factory=list)
    """Of each call but the waits."""
    feedback: list[str] = field(default_factory=list)
    answer: str | None = None


class Player:
    """Plays steps one after the other.

    Args:
        watch: is called with each new observation, such as to measure it.
    """

    def __init__(self, session: Session, origin: str, watch: Watch | None = None) -> None:
        self.played = Played()
        self.observation: Observation | None = None
        self._session = session
        self._origin = origin
        self._watch = watch

    async def start(self, path: str) -> None:
        """Open the application."""
        url = urljoin(self._origin, path)
        task = Task(task_id="journey", intent="journey", start_url=url, website="application", source="application")
        await self._observe(await self._session.start(task))

    async def play(self, step: Step) -> None:
        """Do a step and check what it promises.

        Raises:
            JourneyError: a line is missing, the call failed, or the feedback is wrong.
        """
        if step.until is None:
            await self._call(step)
        else:
            for _ in range(REPEATS):
                if step.until.find(self.lines):
                    break
                await self._call(step)
            else:
                raise JourneyError(f"{step.until} did not come into view\n{self.text}")
        if step.sees is not None:
            await self._line(step.sees)

    @property
    def text(self) -> str:
        """The element list as the agent sees it now."""
        return (self.observation and self.observation.text) or ""

    @property
    def lines(self) -> list[Listed]:
        """The lines of the element list as it is now."""
        return parse_elements(self.text)

    async def _call(self, step: Step) -> None:
        arguments = dict(step.arguments)
        if step.tool == "goto_url":
            arguments["url"] = urljoin(self._origin, arguments["url"])
        if step.to is not None and step.at is not None:
            start, end = await self._line(step.at), await self._line(step.to)
            arguments |= {"x1": start.x, "y1": start.y, "x2": end.x, "y2": end.y}
        elif step.at is not None:
            line = await self._line(step.at)
            arguments |= {"x": line.x, "y": line.y}
        feedback = await self._step(step.tool, arguments)
        self.played.calls += 1
        denied = step.is_visible and NO_EFFECT in feedback and "the list is not drawn" not in feedback
        if not feedback.startswith("Succeed:") or denied or not _contains(step.feedback, feedback):
            raise JourneyError(f"{step}\nhad the feedback: {feedback}\n{self.text}")

    async def _line(self, line: Line) -> Listed:
        """Wait for a line, as long as a user's patience lasts."""
        for _ in range(PATIENCE):
            if listed := line.find(self.lines):
                return listed
            self.played.waits += 1
            await self._step("wait", {"seconds": 1})
        if listed := line.find(self.lines):
            return listed
        raise JourneyError(f"no such line: {line}\nafter {self.played.feedback[-3:]}\n{self.text}")

    async def _step(self, tool: str, arguments: dict) -> str:
        began = time.monotonic()
        result = await self._session.step([check_call(tool, arguments)])
        if tool != "wait":
            self.played.step_ms.append((time.monotonic() - began) * 1000)
        self.played.feedback += result.feedback
        self.played.answer = result.answer
        await self._observe(result.observation)
        return result.feedback[0]

    async def _observe(self, observation: Observation) -> None:
        self.observation = observation
        if self._watch is not None:
            await self._watch(self._session, observation)


async def play(application: Application, running: Running, params: BrowserParams = PARAMS) -> Played:
    """Play an application's journey; where it fails, the last picture is in the application's folder."""
    async with BrowserPool(params, text="elements") as pool, pool.session() as session:
        player = Player(session, running.origin)
        try:
            await player.start(application.start)
            for step in application.journey:
                await player.play(step)
        except Exception:
            if player.observation is not None:
                (running.folder / "last.png").write_bytes(player.observation.screenshot.data)
            raise
        return player.played


def _contains(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None
