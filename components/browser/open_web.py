"""Pages that are not the pool's own: notices that a site refuses the agent, cannot be reached any more, or that another
page could not be opened (`unopened`).

The first two end an episode as the environment's failure, never as the agent's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import BrowserContext, Request, Response

from components.browser.blocked import PageEvidence, evidence_script, refuse_challenge, refuse_start_page
from components.browser.document_status import DocumentStatuses
from components.browser.playwright_errors import ClosedError, NavigatedError
from components.browser.start_site import StartSite
from components.browser.tabs import EpisodeTabs
from components.browser.unopened import UnopenedPages
from components.records import Observation, start_tabs


class OpenWeb:
    """Follows the requests of one episode, and checks the pages that it observes.

    Args:
        context: the episode's browser context.
        tabs: the episode's tabs.
        refusal: why the egress guard answered instead of the server; None if the server answered.
    """

    def __init__(self, context: BrowserContext, tabs: EpisodeTabs, refusal: Callable[[Response], str | None]) -> None:
        self.requests = 0
        """Number of requests of the episode's pages."""
        self._context = context
        self._tabs = tabs
        self._refusal = refusal
        self._start_site = StartSite()
        self._statuses = DocumentStatuses()
        self._unopened = UnopenedPages(tabs, refusal)
        self._guarded = tabs[0].listener_errors.guarded
        self._listeners: list[tuple[Any, Callable[[Any], Awaitable[None] | None]]] = []
        self._listen("request", self._on_request)
        self._listen("response", self._statuses.on_response)

    async def check_start(self, start_url: str, observation: Observation) -> None:
        """Check the observed start page, and remember its site.

        Raises:
            BlockedError: it is a block page or a CAPTCHA.
            EnvInitError: it is an error page.
        """
        if evidence := await self._evidence(observation):
            refuse_start_page(start_url, evidence)
        self._start_site.opened(*start_tabs(start_url), observation.url)
        self._listen("response", self._unopened.on_response)
        self._listen("requestfailed", self._unopened.on_failure)

    async def check(self, observation: Observation) -> None:
        """Check a page that a step led to.

        Raises:
            BlockedError: it asks whether the visitor is human.
            EnvError: the site on which the episode began cannot be reached any more.
        """
        if evidence := await self._evidence(observation):
            refuse_challenge(observation.url, evidence)
        await self._start_site.require_reachable(self._refusal)

    def detach(self) -> None:
        """Stop following the requests."""
        for event, listener in self._listeners:
            self._context.remove_listener(event, listener)
        self._listeners = []

    def _listen(self, event: Any, listener: Callable[..., None]) -> None:
        guarded = self._guarded(listener)
        self._listeners.append((event, guarded))
        self._context.on(event, guarded)

    async def _evidence(self, observation: Observation) -> PageEvidence | None:
        """What the observed page shows of a block; None if it is being replaced by another page."""
        try:
            answer = await self._tabs.active.evaluate(evidence_script())
        except (ClosedError, NavigatedError):
            return None
        title = observation.tabs[self._tabs.index].title
        return PageEvidence.parse(answer, title, self._statuses.of(observation.url))

    def _on_request(self, request: Request) -> None:
        self.requests += 1
        self._start_site.on_request(request)
