"""What happens once a page has ended its task by itself: it no longer reacts, and what the agent still does is counted.

The first ending decides a page's reward, so everything after it would be free, as it is not on a real site. From the
ending on, calls that act are counted and not run, and the feedback says that the page has ended its task. That sign is
the same for every ending: it does not tell the reward.
"""

from __future__ import annotations

from playwright.async_api import Error as PlaywrightError

from components.browser import feedback, tools
from components.browser.errors import SandboxError
from components.browser.playwright_errors import translate
from components.browser.site import Site, SiteEpisode, is_on
from components.browser.tabs import EpisodeTabs
from components.records import ToolCall


class PageEnding:
    """Follows one episode on a site whose pages may end it."""

    def __init__(self, site: Site, episode: SiteEpisode) -> None:
        self._site = site
        self._episode = episode
        self._ended: bool | None = None
        self._late = 0

    def take_late(self) -> int | None:
        """The number of late calls since the last time; None if this site's pages end nothing."""
        late, self._late = self._late, 0
        return None if self._ended is None else late

    async def refuse(self, tabs: EpisodeTabs, call: ToolCall) -> str | None:
        """The feedback of a call that is not run because the page has ended the task; None for all others."""
        if not tools.acts(call) or not await self._look(tabs):
            return None
        self._late += 1
        return feedback.refused(call.name)

    async def note(self, tabs: EpisodeTabs, call: ToolCall) -> str:
        """The sign that a call, or something since the call before it, has ended the task; empty if nothing has."""
        if self._ended or call.name == "done":
            return ""
        return feedback.ENDED if await self._look(tabs) else ""

    async def _look(self, tabs: EpisodeTabs) -> bool:
        for tab in tabs:
            if self._ended:
                break
            if is_on(self._site, tab.page.url) and not tab.page.is_closed():
                try:
                    ended = await self._episode.ended(tab.page)
                except PlaywrightError as error:  # the tab navigates or closes: the next call looks again
                    if isinstance(reason := translate(error), SandboxError):
                        raise reason from error
                    continue
                self._ended = self._ended if ended is None else ended
        return bool(self._ended)


async def read_reward(site: Site, episode: SiteEpisode, tabs: EpisodeTabs, limit_s: float) -> float | None:
    """The site's raw reward, asked of any tab on the site; of a new tab if the agent has left it.

    Args:
        limit_s: of a navigation, in seconds.
    """
    for tab in tabs:
        if is_on(site, tab.page.url) and not tab.page.is_closed():
            reward = await episode.reward(tab.page)
            if reward is not None:
                return reward
    page = tabs[await tabs.open()].page
    await page.goto(f"{site.origins[0]}/waymark/empty", timeout=limit_s * 1000)
    return await episode.reward(page)
