"""Plays a journey by element ids, as an agent does that reads the accessibility tree after each call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from components.browser import ALL_TOOLS, BrowserPool, Session, check_call
from components.records import Task
from tests.applications.journey import PARAMS, PATIENCE
from tests.applications.server import Application, serve


class Reader:
    """Reads the accessibility tree and names elements by the ids that it shows."""

    def __init__(self, session: Session) -> None:
        self.text = ""
        self._session = session

    async def start(self, url: str) -> None:
        """Open a page."""
        task = Task(task_id="ids", intent="ids", start_url=url, website="application", source="application")
        self.text = (await self._session.start(task)).text or ""

    async def call(self, tool: str, role: str, name: str, *, after: str = "", **arguments: Any) -> None:
        """Run a call on the first element with a role and a name behind a text, scroll down to it, and wait for it.

        Name and text may be empty.
        """
        waits = 0
        line = rf"{re.escape(after)}[\s\S]*?\[(\d+)\] {role}" + (f' "{re.escape(name)}"' if name else r"(?! \")")
        while not (match := re.search(line, self.text)):
            if "(more below:" in self.text:
                await self._step("scroll", {"direction": "down"})
                continue
            waits += 1
            assert waits <= PATIENCE, f'no {role} "{name}" in\n{self.text}'
            await self._step("wait", {"seconds": 1})
        await self._step(tool, {"element": match[1], **arguments})

    async def _step(self, tool: str, arguments: dict[str, Any]) -> None:
        result = await self._session.step([check_call(tool, arguments, ALL_TOOLS)])
        self.text = result.observation.text or ""
        assert result.feedback[0].startswith("Succeed:"), f"{result.feedback[0]}\n{self.text}"


def play_by_ids(
    application: Application, folder: Path, path: str, journey: Callable[[Reader], Awaitable[None]]
) -> None:
    """Play a journey by element ids through an application."""

    async def visit(url: str) -> None:
        async with BrowserPool(PARAMS, text="axtree") as pool, pool.session() as session:
            reader = Reader(session)
            await reader.start(url)
            await journey(reader)

    with serve(application, folder) as running:
        asyncio.run(visit(running.origin + path))
