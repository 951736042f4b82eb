"""One episode's environment: open the start page, run calls, observe.

Steps of `start`: clean the slot, set the site's cookies, navigate with retries, recognise block pages, wait until the
page is quiet, observe. Steps of `step`: run the calls in order, one line of feedback each, then observe once. Every
wait is bounded by the recipe's limits. Dialogs are confirmed and downloads blocked, and the next line of feedback says
so. Accepted trade-off: frames are in the screenshot and in the accessibility tree, but not in the element list.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Sequence

from playwright.async_api import BrowserContext, Page, Request, Response
from playwright.async_api import Error as PlaywrightError

from components.browser import axtree
from components.browser.actions import execute
from components.browser.arrival import log_in, open_start
from components.browser.axtree import Placed
from components.browser.blocked import refuse_challenge, refuse_start_page
from components.browser.bounds import Limit, bounded
from components.browser.environment import StepResult
from components.browser.errors import BlockedError, EnvError, EnvInitError, SandboxError
from components.browser.outage import Home
from components.browser.reading import read_page, unread
from components.browser.shared import Shared
from components.browser.site import Site
from components.browser.tab import Tab, translate
from components.records import TABS, Image, Observation, Probe, Reading, Task, ToolCall
from components.records import Tab as TabRecord

DEATH_NOTICE_S = 0.1


class Session:
    """One episode on one browser context. Made by `BrowserPool.session`."""

    def __init__(self, context: BrowserContext, first: Tab, shared: Shared) -> None:
        self.params = shared.params
        self.tabs: list[Tab] = [self._take(first)]
        self.active = 0
        self.answer: str | None = None
        self.broken = False
        """True once an error made the context unfit for another episode."""
        self.health: dict[str, float] = {}
        self._shared = shared
        self._context = context
        self._site = site = shared.site
        self._text = shared.text
        self.timings: dict[str, float] = {}
        self.requests = 0
        self._opened: asyncio.Queue[Page] = asyncio.Queue()
        self._own_tab = False
        self._step_ends = 0.0
        self._last_call = False
        self._seen: tuple[Tab, int, dict] | None = None
        self._before: dict[Tab, int] = {}
        self._instruction = site.instruction if site is not None else None
        self._limit: Limit | None = None
        self._home = Home()
        context.on("page", self._on_page)
        if site is None:
            context.on("request", self._on_request)

    @property
    def page(self) -> Page:
        """The active tab's page, as it is: for tests. What fails on it are Playwright's own errors."""
        return self.tabs[self.active].page

    async def oracle(self) -> str:
        """The element list of the active tab as it is now, whatever the agent is shown: for the scripted teacher only.

        Raises:
            EnvError: the page did not answer within `step_timeout_s`.
            SandboxError: the browser died.
        """
        async with self._guarded(EnvError, self.params.step_timeout_s, "the teacher's look at the page"):
            tab = self.tabs[self.active]
            return (await tab.look(0, elements=True, instruction=self._instruction))["elements"]

    async def oracle_elements(self) -> list[Placed]:
        """The same by accessible element, with the ids that `axtree` and `html` show; raises as `oracle`."""
        async with self._guarded(EnvError, self.params.step_timeout_s, "the teacher's look at the page"):
            nodes = await self.tabs[self.active].accessible(self.params.viewport)
            return axtree.placed(nodes, self.params.viewport)

    async def start(self, task: Task) -> Observation:
        """Open the task's start page.

        Raises:
            EnvInitError: it could not be opened, after `navigation_retries`.
            BlockedError: the site answered with a block page or a CAPTCHA.
            SandboxError: the browser died.
        """
        async with self._guarded(EnvInitError, self.params.start_timeout_s, f"opening {task.start_url}"):
            if self._site is not None:
                await self._clean(self._site, task)
            else:
                await log_in(self._context, task, self.params.logins)
            self.tabs[0].asides = []
            self.timings, self._seen = {}, None
            async with self._operation("navigate"):
                wait_until = "load" if self._site is not None else "domcontentloaded"
                response = await open_start(self, task.start_url, wait_until)
            tab = self.tabs[0]
            if self._site is not None:
                await tab.command("Page.resetNavigationHistory")
                wrong = await self._site.ready(tab.page)
                if wrong:
                    raise EnvInitError(f"{task.start_url}: {wrong}")
            observation = await self._observe()
            status = response.status if response is not None else 200
            refuse_start_page(task.start_url, status, observation.tabs[self.active].title)
            self._home.began(*task.start_url.split(TABS), observation.url)
            return observation

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        """Run a turn's calls in order and observe. `done` counts wherever it stands, the other calls still run.

        Raises:
            EnvError: the page answers nothing any more, the site on which the episode began cannot be reached any more,
                or the turn took longer than `step_timeout_s`.
            BlockedError: the calls led to a page that asks whether one is human.
            SandboxError: the browser died.
        """
        async with self._guarded(EnvError, self.params.step_timeout_s, "a step"):
            self._step_ends = time.monotonic() + self.params.step_timeout_s
            self.timings = {}
            self._seen, self._before = None, {tab: tab.requests for tab in self.tabs}
            async with self._operation("act"):
                lines = []
                for index, call in enumerate(calls):
                    self._last_call = index + 1 == len(calls)
                    lines.append(await execute(self, call))
            observation = await self._observe()
            if self._site is None and self.answer is None:
                refuse_challenge(observation.url, observation.tabs[self.active].title)
                await self._home.require(self.refusal)
            return StepResult(lines, observation, self.answer, self.answer is not None)

    async def site_reward(self) -> float | None:
        """The site's raw reward of this episode; None where the pages are nobody's.

        Raises:
            EnvError, SandboxError: the page could not be asked.
        """
        if self._site is None or not self._site.rewards:
            return None
        async with self._guarded(EnvError, self.params.step_timeout_s, "reading the reward"):
            for tab in self.tabs:
                if tab.page.url.startswith(self._site.origin + "/"):
                    reward = await self._site.reward(tab.page)
                    if reward is not None:
                        return reward
            index = await self.open_tab()  # the agent left the site: its storage is asked in a tab of its own
            await self.tabs[index].page.goto(
                f"{self._site.origin}/waymark/empty", timeout=self.params.step_timeout_s * 500
            )
            return await self._site.reward(self.tabs[index].page)

    async def read(self, probe: Probe) -> Reading:
        """Answer a rule's question about a page at the end of an episode; that it cannot be read is a reading, too.

        Raises:
            SandboxError: the browser died.
        """
        try:
            async with self._guarded(EnvError, self.params.start_timeout_s, f"reading {probe.address or probe.url}"):
                return await read_page(self, probe)
        except SandboxError:
            raise
        except EnvError as error:
            return unread(probe, str(error))

    async def detach(self) -> Tab:
        """End the episode: close every tab but the first and give that back for the next episode."""
        self._context.remove_listener("page", self._on_page)
        if self._site is None:
            self._context.remove_listener("request", self._on_request)
        while not self._opened.empty():
            await self._opened.get_nowait().close()
        for tab in self.tabs[1:]:
            await tab.page.close()
        return self.tabs[0]

    # ---- what actions need (`watch.Tabs`) -------------------------------------------------------------------------

    @property
    def step_left_s(self) -> float:
        """Seconds until the step's limit."""
        return max(0.0, self._step_ends - time.monotonic())

    async def look(self, tab: Tab, before: dict | None = None, since: int = 0) -> dict:
        """A tab once it is quiet. What the turn's last call saw is what the agent sees: nobody looks twice.

        Args:
            before, since: its mark and its number of requests before the call that is to show its effect.
        """
        whole = self._last_call and self._text == "elements"
        state = await tab.look(
            self.params.settle_ms,
            before,
            elements=whole,
            instruction=self._instruction,
            quiet_ms=self.params.quiet_ms,
            since=since,
        )
        self._seen = (tab, tab.documents, state) if self._last_call else None
        return state

    async def open_tab(self) -> int:
        """Open a blank tab and make it the active one."""
        self._own_tab = True
        try:
            page = await self._context.new_page()
        finally:
            self._own_tab = False
        self.tabs.append(self._take(await Tab.of(page, self._site is None)))
        await self.activate(len(self.tabs) - 1)
        return self.active

    async def activate(self, index: int) -> None:
        """Bring a tab to the front."""
        self.active = index
        await self.tabs[index].page.bring_to_front()

    async def close_active(self) -> None:
        """Close the active tab; its left neighbour becomes active."""
        tab = self.tabs.pop(self.active)
        if not tab.page.is_closed():
            await tab.page.close()
        if not self.tabs:
            await self.open_tab()
        await self.activate(max(0, self.active - 1))

    async def adopt_popups(self, expected: int) -> int | None:
        """Wait for the windows that a page asked to open; the last one becomes active. None if none came."""
        opened = None
        for _ in range(expected):
            try:
                async with asyncio.timeout(self.params.settle_ms / 1000):
                    page = await self._opened.get()
            except TimeoutError:
                break
            self.tabs.append(self._take(await Tab.of(page, self._site is None)))
            with contextlib.suppress(PlaywrightError):
                await page.wait_for_load_state("domcontentloaded", timeout=max(1, self.params.settle_ms))
            opened = len(self.tabs) - 1
        if opened is not None:
            await self.activate(opened)
        return opened

    def absolute(self, url: str) -> str:
        """A URL as a person types it, with a scheme."""
        url = url.strip()
        if re.match(r"^[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)", url):
            return url
        scheme = "http" if self._site is not None else "https"
        return f"{scheme}://{url.lstrip('/')}"

    def refusal(self, response: Response) -> str | None:
        """Why the egress guard answered in the place of the server, which it may not or cannot ask; None if it did
        not."""
        header = self._shared.refusal_header
        return response.headers.get(header.lower()) if header else None

    # ---- inside -----------------------------------------------------------------------------------------------------

    async def _clean(self, site: Site, task: Task) -> None:
        tab = self.tabs[0]
        await asyncio.gather(
            tab.command("Storage.clearDataForOrigin", {"origin": site.origin, "storageTypes": "all"}),
            tab.command("Network.clearBrowserCookies"),
            tab.command("Page.resetNavigationHistory"),  # a page sees how long it is
        )
        if tab.page.url.startswith(site.origin):
            await tab.evaluate("(() => { sessionStorage.clear(); localStorage.clear(); window.name = ''; })()")
        cookies = [{"name": name, "value": value, "url": site.origin} for name, value in site.cookies(task).items()]
        if cookies:
            await tab.command("Network.setCookies", {"cookies": cookies})

    async def _observe(self) -> Observation:
        tab, self._last_call = self.tabs[self.active], True
        async with self._operation("look"):
            if self._seen is None or self._seen[:2] != (tab, tab.documents) or tab.navigates:
                await self.look(tab, since=self._before.get(tab, 0))
            assert self._seen is not None
            state = self._seen[2]
            text = state["elements"]
            if self._text in ("axtree", "html"):
                nodes = await tab.accessible(self.params.viewport)
                text = axtree.as_tree(nodes) if self._text == "axtree" else axtree.as_html(nodes)
        async with self._operation("screenshot"):
            data = await tab.screenshot(self.params.screenshot_timeout_s)
        records = []
        for index, other in enumerate(self.tabs):
            active = index == self.active
            title = state["title"] if active else await other.page.title()
            records.append(
                TabRecord(index=index, title=title, url=state["url"] if active else other.page.url, active=active)
            )
        return Observation(
            url=state["url"],
            tabs=records,
            viewport=self.params.viewport,
            screenshot=Image.of(data),
            text=text,
        )

    @contextlib.asynccontextmanager
    async def _operation(self, kind: str) -> AsyncIterator[None]:
        """Wait for one's turn in the queue, and time what follows."""
        async with self._shared.queues.turn(kind, self._limit) as waited_s:
            if waited_s:
                self.timings["queue"] = round(self.timings.get("queue", 0.0) + waited_s, 4)
                self._step_ends += waited_s
            began = time.monotonic()
            try:
                yield
            finally:
                self.timings[kind] = round(time.monotonic() - began, 4)

    def _on_request(self, request: Request) -> None:
        self.requests += 1
        self._home.hear(request)

    def _on_page(self, page: Page) -> None:
        if not self._own_tab:
            self._opened.put_nowait(page)

    @contextlib.asynccontextmanager
    async def _guarded(self, kind: type[EnvError], limit_s: float, what: str) -> AsyncIterator[None]:
        """Bound a piece of work and turn what it raises into our errors; after one the context is not used again."""
        try:
            async with bounded(limit_s, self._context.browser) as self._limit:
                yield
        except TimeoutError as error:
            self.broken = True
            raise await self._dead_or(kind(f"{what} took longer than {limit_s:.0f} s")) from error
        except PlaywrightError as error:
            self.broken = True
            reason = translate(error)
            raise await self._dead_or(
                reason if isinstance(reason, SandboxError) else kind(f"{what}: {reason}")
            ) from error
        except BlockedError:
            self.broken = True
            raise  # a page said so: nothing died
        except EnvError as error:
            self.broken = True
            known = isinstance(error, kind | SandboxError)
            raise await self._dead_or(error if known else kind(f"{what}: {error}")) from error
        except Exception as error:
            self.broken = True
            if self._dead:  # whatever stumbled over a browser that was dying
                raise SandboxError(f"the browser died: {error!r}") from error
            raise
        except BaseException:
            self.broken = True
            raise
        finally:
            self._limit = None
            if self.broken:
                self.health = self._shared.health()

    def _take(self, tab: Tab) -> Tab:
        """Make a tab the episode's. When its renderer dies, what waits for it waits no longer."""
        tab.on_crash = self._on_crash
        return tab

    def _on_crash(self) -> None:
        if self._limit is not None:
            self._limit.expire()

    @property
    def _dead(self) -> bool:
        browser = self._context.browser
        return any(tab.crashed for tab in self.tabs) or (browser is not None and not browser.is_connected())

    async def _dead_or(self, error: EnvError) -> EnvError:
        """The error, or that the browser died. What a death breaks may be heard of before the death itself."""
        if not self._dead:
            await asyncio.sleep(DEATH_NOTICE_S)
        return (
            SandboxError(f"the browser died: {error}") if self._dead and not isinstance(error, SandboxError) else error
        )
