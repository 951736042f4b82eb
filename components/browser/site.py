"""What a browser pool needs to know about pages that are served for a run. `World.site()` makes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from components.params import ContextParams
from components.records import StateCheck, Task, start_tabs

if TYPE_CHECKING:
    from playwright.async_api import Page


@dataclass(frozen=True)
class SiteCookie:
    """A cookie that is set before the start page is opened."""

    origin: str
    name: str
    value: str
    http_only: bool = False
    """Whether scripts of pages cannot read it."""


class SiteEpisode(Protocol):
    """One episode on a site, from before its start page is opened until its browser is free for the next one."""

    @property
    def cookies(self) -> Sequence[SiteCookie]:
        """Cookies that are set before the start page is opened."""
        ...

    @property
    def loss(self) -> str | None:
        """Why the site cannot serve this episode any more, such as a server that died; None if it can."""
        ...

    async def ready(self, page: Page) -> str | None:
        """None if the opened page is ready for the episode, else what is wrong."""

    async def reward(self, page: Page) -> float | None:
        """The site's raw reward of the episode, asked of any page of its origins. 0: the episode did not end. None:
        this page cannot tell.
        """

    async def ended(self, page: Page) -> bool | None:
        """Whether the page has ended the task by itself, after which it should react no more (`page_ending`), asked of
        any page of its origins. None: this page cannot tell, or no page of the site ends a task.
        """

    async def check_state(self, answer: str | None) -> StateCheck | None:
        """What the episode changed, compared with what its task asks for; None if the site has no state.

        Args:
            answer: of `done`; None if the agent did not call it.
        """

    async def end(self) -> None:
        """Free what belongs to this episode."""


class Site(Protocol):
    """Pages served on loopback. A browser context serves one episode after the other: cookies and storage of the
    site's origins are cleared between two."""

    @property
    def origins(self) -> Sequence[str]:
        """Scheme and host of its pages, without ports: `("http://shop.test", "http://desk.test")`. A page that does not
        exist may be opened under the first to read the episode's reward."""
        ...

    @property
    def rewards(self) -> bool:
        """Whether its pages know of an episode's reward. If not, `reward` is never asked for."""
        ...

    @property
    def instruction(self) -> str | None:
        """CSS selector of the part of a page that tells the task. The element list leaves it out."""
        ...

    @property
    def names_options(self) -> bool:
        """Whether feedback names the options of a `<select>` that was clicked. False keeps the feedback of a site on
        which models were trained without them."""
        ...

    @property
    def lists_details(self) -> bool:
        """Whether element lists have details (`element_list`), and accessibility trees say how far the page continues.
        False keeps the observations of a site on which models were trained without them."""
        ...

    @property
    def keeps_cache(self) -> bool:
        """Whether the browser's HTTP cache is kept from one episode to the next, which saves loading files again. False
        for a site that lets browsers cache what depends on an episode's data."""
        ...

    @property
    def keeps_page(self) -> bool:
        """Whether the last episode's page stays open until the start page replaces it, which saves about 50 ms of CPU.
        Only for pages that neither send nor store anything when they are left, and start pages whose addresses differ
        in more than `#…`: the browser does not load a page again for that alone."""
        ...

    @property
    def awaits_requests(self) -> bool:
        """Whether a call waits for the answers to what its page requests by scripts. False for pages that request
        nothing after their load event: the browser then need not tell of any request."""
        ...

    @property
    def context(self) -> ContextParams | None:
        """What its pages learn of the browser, such as the locale; None for what `browser.context` says."""
        ...

    async def start(self) -> None:
        """Begin to serve."""

    async def stop(self) -> None:
        """Stop serving."""

    def addresses(self) -> Mapping[str, int]:
        """The loopback port that each of its hosts leads to."""
        ...

    async def begin(self, task: Task) -> SiteEpisode:
        """Prepare an episode of this task."""
        ...


def awaits_requests(site: Site | None) -> bool:
    """Whether the tabs of a pool follow the requests of their pages; on the web they do."""
    return site is None or site.awaits_requests


def is_on(site: Site, url: str) -> bool:
    """Whether a page is on one of the site's origins."""
    return any(f"{url}/".startswith(f"{origin}/") for origin in site.origins)


def sites_of(sites: Sequence[Site | None], task: Task) -> list[int]:
    """The indices of the sites that serve a task's first start page; those of None if no site does.

    They are several if a world serves the same origins by several servers (`World.sites`).

    Raises:
        ValueError: no site serves it, and there is no None.
    """
    start = start_tabs(task.start_url)[0]
    first = next((site for site in sites if site is not None and is_on(site, start)), None)
    if first is None and None not in sites:
        raise ValueError(f"{task.task_id} begins at {start}, which no site of this run serves")
    return [index for index, site in enumerate(sites) if has_origins_of(site, first)]


def has_origins_of(site: Site | None, other: Site | None) -> bool:
    """Whether both serve the same origins, or both are None."""
    if site is None or other is None:
        return site is other
    return tuple(site.origins) == tuple(other.origins)
