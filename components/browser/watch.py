"""What a call does to the active tab: the state before it, and the state once the page is quiet again."""

from __future__ import annotations

from typing import Protocol

from playwright.async_api import Response

from components.browser import feedback, tools
from components.browser.errors import EnvError
from components.browser.feedback import Effect, Element
from components.browser.tab import Tab
from components.params import BrowserParams


class Tabs(Protocol):
    """The tabs of an episode, as actions need them."""

    params: BrowserParams
    tabs: list[Tab]
    active: int
    answer: str | None

    @property
    def step_left_s(self) -> float: ...
    async def look(self, tab: Tab, before: dict, since: int) -> dict: ...
    async def open_tab(self) -> int: ...
    async def activate(self, index: int) -> None: ...
    async def close_active(self) -> None: ...
    async def adopt_popups(self, expected: int) -> int | None: ...
    def absolute(self, url: str) -> str: ...
    def refusal(self, response: Response) -> str | None: ...


class Watch:
    """What a call did to the active tab: entered before it acts, left when the page is quiet."""

    def __init__(self, tabs: Tabs, pixels: tuple[float, float] | None = None) -> None:
        self.tabs = tabs
        self.tab = tabs.tabs[tabs.active]
        self.pixels = pixels
        self.target: Element | None = None
        self.effect = Effect()
        self.state = ""
        """Of what a click was on: checked, unchecked, or that it gave a field the focus."""
        self.focus: dict | None = None
        self.url = ""

    async def __aenter__(self) -> Watch:
        before = await self.tab.mark(self.pixels)
        self.target = element_of(before["target"]) if before["target"] else None
        self._url, self._before = before["url"], before
        self._documents, self._popups, self._requests = self.tab.documents, self.tab.popups, self.tab.requests
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            return
        try:
            after = await self.tabs.look(self.tab, self._before, self._requests)
        except EnvError:
            if not self.tab.page.is_closed():
                raise
            await self.tabs.close_active()  # the page closed itself
            self.effect = Effect(tab_closed=True, asides=self._asides())
            return
        moved = after["url"] != self._url or self.tab.documents != self._documents
        opened = (
            await self.tabs.adopt_popups(self.tab.popups - self._popups) if self.tab.popups != self._popups else None
        )
        self.effect = Effect(
            navigated_to=after["url"] if moved else None,
            new_tab=opened,
            new_tab_url=self.tabs.tabs[opened].page.url if opened is not None else "",
            changed=after["changed"],
            asides=self._asides(),
        )
        self.focus, self.url = after["focus"], after["url"]
        self.state = after["toggled"] or (feedback.FOCUSED if after["field"] else "")

    def _asides(self) -> tuple[str, ...]:
        """What is still to be said of the tab, those things included that happened between calls."""
        said, self.tab.asides = tuple(aside for _, aside in self.tab.asides), []
        return said


def place(tabs: Tabs, x: float, y: float) -> tuple[tuple[int, int], tuple[float, float], bool]:
    """A point of the 0-1000 scale: rounded and clamped, in CSS pixels of the viewport, and whether it was outside."""
    width, height = tabs.params.viewport
    inside = (min(max(x, 0), tools.SCALE), min(max(y, 0), tools.SCALE))
    pixels = (min(inside[0] / tools.SCALE * width, width - 1), min(inside[1] / tools.SCALE * height, height - 1))
    return (round(inside[0]), round(inside[1])), pixels, inside != (x, y)


def element_of(described: dict) -> Element:
    return Element(described["tag"], described["role"], described["name"])


def navigation_ms(tabs: Tabs) -> float:
    return tabs.params.step_timeout_s * 500
