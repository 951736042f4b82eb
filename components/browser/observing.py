"""What the agent sees: the active tab's page as text and as a screenshot, and the list of tabs.

A page is observed once it is quiet. A tab that is closed meanwhile is replaced by the one that becomes active.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from components.browser.axtree import Node, NotShown
from components.browser.axtree_rendering import as_html, as_tree
from components.browser.errors import EnvError
from components.browser.page_state import Mark, PageState, StateExtras
from components.browser.pool_context import PoolContext
from components.browser.step_state import StepState
from components.browser.tab import Tab
from components.browser.tabs import EpisodeTabs
from components.params import ELEMENT_LISTS, TextKind
from components.records import Image, Observation
from components.records import Tab as TabRecord

TREES: dict[TextKind, Callable[[list[Node], NotShown], str]] = {"axtree": as_tree, "html": as_html}
"""What writes an accessibility tree, by the kind of text."""


class Observer:
    """Observes one episode.

    Args:
        tabs: the episode's tabs.
        step: the state of the episode's steps.
    """

    def __init__(self, tabs: EpisodeTabs, step: StepState, pool: PoolContext) -> None:
        self.last: Observation | None = None
        """The last observation of a page."""
        self.instruction = pool.site.instruction if pool.site is not None else None
        """CSS selector of the part of a page that element lists leave out."""
        self.shows_owners = pool.text == "elements_with_owners"
        self.has_details = pool.site is None or pool.site.lists_details
        self._tabs = tabs
        self._step = step
        self._params = pool.params
        self._text = pool.text
        self._site = pool.site

    async def look(self, tab: Tab, before: Mark | None = None, since: int = 0, hovered: bool = False) -> PageState:
        """Wait until a tab is quiet and read its state. The observation reuses the state that the last call read.

        Args:
            before: the tab's mark before the call whose effect is wanted.
            since: its number of requests at that time.
            hovered: whether the call only moved the cursor.
        """
        extras = StateExtras(
            elements=self._step.is_last_call and self._text in ELEMENT_LISTS,
            instruction=self.instruction,
            details=self.has_details,
            owners=self.shows_owners,
            listeners=self.has_details,
            tree=self._step.is_last_call and self._text in TREES,
        )
        quiet_ms = self._params.quiet_ms
        state = await tab.look(self._params.settle_ms, before, extras, quiet_ms=quiet_ms, since=since, hovered=hovered)
        self._step.keep(tab, state)
        return state

    async def observe(self, shows_windows: bool = True) -> tuple[Observation, str]:
        """Observe the active tab, or another one if it is closed meanwhile.

        Args:
            shows_windows: whether a window that the active tab opened becomes active.

        Returns:
            the observation, and what happened to the tabs after the last call, in sentences.
        """
        notices: list[str] = []
        while True:
            changes = await self._tabs.update(shows_windows)
            notices += changes.notices
            tab = self._tabs.active
            label = f"{self._tabs.index} ({tab.page.url})"
            if changes.closed_active:
                notices.append(f"The tab was closed. Tab {label} is active.")
            if changes.shown is not None:
                notices.append(f"New tab {label} opened and is active.")
            try:
                return await self._observe_tab(tab), " ".join(notices)
            except EnvError as error:
                if not await self._tabs.lost(tab, error):
                    raise

    async def _observe_tab(self, tab: Tab) -> Observation:
        self._step.is_last_call = True
        async with self._step.operation("look"):
            state = self._step.current(tab)
            if state is None:
                state = await self.look(tab, since=self._step.requests_before.get(tab, 0))
            text = state.elements
            if self._text in TREES:
                page = await tab.accessible(tab.viewport, state.editors)
                above, below = state.beyond if self.has_details else (0.0, 0.0)
                not_shown = replace(page.not_shown, above=above, below=below)
                text = TREES[self._text](page.nodes, not_shown)
        async with self._step.operation("screenshot"):
            data = await tab.screenshot(self._params.screenshot_timeout_s)
        records = []
        for index, other in enumerate(self._tabs):
            active = index == self._tabs.index
            title = state.title if active else await other.title()
            records.append(
                TabRecord(index=index, title=title, url=state.url if active else other.page.url, active=active)
            )
        self.last = Observation(
            url=state.url,
            tabs=records,
            viewport=tab.viewport,
            screenshot=Image.of(data),
            text=text,
        )
        return self.last
