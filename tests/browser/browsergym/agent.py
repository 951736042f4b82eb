"""An agent that names elements by points or by ids, and so plays each case twice."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest

from components.browser import ALL_TOOLS, Session, check_call, parse_elements
from components.records import Observation

POINT, ID = "point", "id"
WAYS = pytest.mark.parametrize("way", [POINT, ID])


class Agent:
    """Acts on elements by their names, with points or with ids."""

    def __init__(self, session: Session, observation: Observation, way: str) -> None:
        self.session = session
        self.observation = observation
        self.way = way
        self.lines: list[str] = []

    @property
    def text(self) -> str:
        """The accessibility tree as the last observation shows it."""
        return self.observation.text or ""

    async def call(self, *calls: tuple[str, dict]) -> list[str]:
        """Run a turn and return its feedback."""
        result = await self.session.step([check_call(name, arguments, ALL_TOOLS) for name, arguments in calls])
        self.observation, self.lines = result.observation, result.feedback
        return result.feedback

    async def place(self, name: str) -> dict:
        """Arguments that name an element: its point of the element list, or its id."""
        if self.way == ID:
            match = re.search(rf'\[(\d+)\] \w+ "{re.escape(name)}"', self.text)
            assert match, f"no id for {name!r} in\n{self.text}"
            return {"element": match[1]}
        listing = await self.session.oracle()
        items = [item for item in parse_elements(listing) if item.name == name]
        assert items, f"no line for {name!r} in\n{listing}"
        return {"x": items[0].x, "y": items[0].y}

    def tool(self, name: str) -> str:
        """The name of a tool for the agent's way to point."""
        return name if self.way == POINT else f"{name}_element"

    async def click(self, name: str, **options: object) -> str:
        """Click an element."""
        return (await self.call((self.tool("click"), {**await self.place(name), **options})))[0]

    async def hover(self, name: str) -> str:
        """Move the mouse over an element."""
        return (await self.call((self.tool("hover"), await self.place(name))))[0]

    async def write(self, name: str, text: str) -> str:
        """Write into a field."""
        if self.way == ID:
            return (await self.call(("write_element", {**await self.place(name), "text": text})))[0]
        return (await self.call(("click", await self.place(name)), ("write", {"text": text})))[1]

    async def choose(self, name: str, option: str) -> str:
        """Choose an option of a select."""
        if self.way == ID:
            return (await self.call(("select_option", {**await self.place(name), "option": option})))[0]
        return (await self.call(("click", await self.place(name)), ("write", {"text": option})))[1]

    async def press(self, *keys: str) -> str:
        """Press keys, one call."""
        return (await self.call(("press_keys", {"keys": list(keys)})))[0]

    async def js(self, expression: str, frame: int = 0) -> object:
        """The value of an expression in a frame of the page."""
        return await self.session.page.frames[frame].evaluate(expression)


Run = Callable[[str, str, Callable[[Agent], Awaitable[None]]], None]
"""What the fixture `run` gives."""
