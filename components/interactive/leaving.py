"""Asks the person before a page of another host is opened; without a terminal, the page stays closed.

A top-level page of a host that the rules do not allow is not requested: the browser keeps the page that it shows, and
after the step the person decides. If the person allows the host, the page is opened in the same tab. A form that was
being sent is not sent again. Redirects are not seen before the egress guard refuses them; the tab then goes back.
Other requests to such hosts (pictures, scripts, frames) are left to the guard, which refuses them, and are counted.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Page, Request, Route
from playwright.async_api import Error as PlaywrightError

from components.browser.playwright_errors import translate
from components.interactive.hosts import HostRules, option_for
from components.params import EgressParams
from components.records import ToolCall

Confirm = Callable[[str], Awaitable[bool]]
"""Asks the person a question; False if there is no person to ask."""
OPEN_TIMEOUT_MS = 30_000
_ERROR = 400


@dataclass(frozen=True)
class Wish:
    """A top-level page of a host that is not allowed, which a page or the agent wanted to open."""

    url: str
    request: Request | None
    """None: the agent named the address in a call."""

    @property
    def page(self) -> Page | None:
        """The tab in which it was to be opened; None if the tab is not known."""
        if self.request is not None:
            with contextlib.suppress(PlaywrightError):  # the tab of a window that closed again
                return self.request.frame.page
        return None


class HostGate:
    """The hosts of one run.

    Args:
        confirm: asks the person.
        use: makes the egress guard use new rules.
    """

    def __init__(self, rules: HostRules, confirm: Confirm, use: Callable[[EgressParams], Awaitable[None]]) -> None:
        self.rules = rules
        self.refused_files: Counter[str] = Counter()
        """Number of refused requests other than top-level pages, by what `--allow` needs."""
        self.denied: set[str] = set()
        """Hosts whose pages the person refused, or about which no person could be asked."""
        self._confirm = confirm
        self._use = use
        self._wishes: list[Wish] = []

    async def watch(self, context: BrowserContext) -> None:
        """Begin to watch the requests of a browser context."""
        context.on("request", self._on_request)
        await context.route(lambda url: not self.rules.allows(url), self._on_foreign)

    async def permitted(self, calls: Sequence[ToolCall], absolute: Callable[[str], str]) -> list[ToolCall]:
        """The calls of a turn. A `goto_url` to a host that the person does not allow has an error and will not run.

        Args:
            absolute: `Session.absolute`.
        """
        checked = []
        for call in calls:
            if call.name == "goto_url" and call.error is None:
                url = absolute(str(call.arguments["url"]))
                try:
                    is_allowed = await self._ask(url)
                except ValueError:  # such as a port that is no number
                    call = call.model_copy(update={"error": f"{url[:200]} is no address"})
                else:
                    if not is_allowed:
                        call = call.model_copy(update={"error": f"{option_for(url)} is outside of this run's hosts"})
            checked.append(call)
        return checked

    async def settle(self, active: Page) -> str:
        """Ask about the pages that were wanted since the last call, and open those that the person allows.

        Args:
            active: the active tab's page, for a page whose tab is not known.

        Returns:
            Sentences for the feedback; empty if no other host was wanted.
        """
        wishes = {option_for(wish.url): wish for wish in self._wishes}
        self._wishes = []
        sentences = []
        for name, wish in wishes.items():
            page = wish.page or active
            if await self._ask(wish.url):
                try:
                    response = await page.goto(wish.url, wait_until="domcontentloaded", timeout=OPEN_TIMEOUT_MS)
                except PlaywrightError as error:
                    outcome = f"but {wish.url} could not be opened: {translate(error)}"
                else:
                    status = response.status if response is not None else 0
                    outcome = f"and {wish.url} {'was opened' if status < _ERROR else f'has status {status}'}"
                sentences.append(f"The user allowed {name}, {outcome}.")
            else:
                if not page.is_closed() and (page.url.startswith("chrome-error:") or not self.rules.allows(page.url)):
                    with contextlib.suppress(PlaywrightError):
                        await page.go_back(wait_until="domcontentloaded", timeout=OPEN_TIMEOUT_MS)
                sentences.append(f"Note: {name} is outside of this run's hosts and was not opened.")
        return " ".join(sentences)

    async def allow_start(self) -> bool:
        """After the first page could not be opened: whether the person allows the host to which it led."""
        wishes, self._wishes = self._wishes, []
        return bool(wishes) and await self._ask(wishes[-1].url)

    async def allow_files(self) -> bool:
        """Ask once about all hosts from which the page wanted files; whether the person allows them."""
        names = list(self.refused_files)
        if not names or not await self._confirm(f"The page also loads files from {', '.join(names)}. Allow?"):
            return False
        await self._admit([name if "://" in name else f"https://{name}" for name in names])
        self.refused_files.clear()
        return True

    async def _ask(self, url: str) -> bool:
        """Whether the person allows an address. A refused host is not asked about again."""
        if self.rules.allows(url):
            return True
        name = option_for(url)
        blocked = not self.rules.with_host_of(url).allows(url)  # by the recipe, which the answer cannot change
        if (
            blocked
            or name in self.denied
            or not await self._confirm(
                f"The agent wants to leave {self.rules.first} and open {url[:200]}. Allow {name} in this run?"
            )
        ):
            self.denied.add(name)
            return False
        await self._admit([url])
        return True

    async def _admit(self, urls: Sequence[str]) -> None:
        self.rules = self.rules.with_host_of(*urls)
        await self._use(self.rules.egress)

    def _on_request(self, request: Request) -> None:
        if self.rules.allows(request.url):
            return
        if _is_top_level(request):
            self._wishes.append(Wish(request.url, request))
        elif urlsplit(request.url).scheme in ("http", "https"):
            self.refused_files[option_for(request.url)] += 1

    async def _on_foreign(self, route: Route, request: Request) -> None:
        with contextlib.suppress(PlaywrightError):  # the page may be closed already
            if _is_top_level(request) and not self.rules.allows(request.url):
                await route.fulfill(status=204)  # an answer without content leaves the page as it is
            else:
                await route.continue_()


def _is_top_level(request: Request) -> bool:
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except PlaywrightError:  # a window that is being opened
        return True
