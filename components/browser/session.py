"""One episode's environment: open the start page, run calls, observe.

`start` cleans the context, sets the site's cookies, navigates with retries, recognises block pages, waits until the
page is quiet, and observes. `step` runs the calls in order, with one line of feedback each, and then observes once.
The recipe's limits bound every wait. Dialogs are confirmed and downloads are blocked, and the next line of feedback
says so. The element list shows the composed page: shadow roots, slots and frames (`composed.js`), of any origin
(`foreign_frames`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from playwright.async_api import BrowserContext, Dialog, Page, Response

from components.browser import feedback
from components.browser.actions import execute
from components.browser.axtree import Placed, placed
from components.browser.dialogs import Dialogs
from components.browser.environment import StepResult
from components.browser.errors import EnvError, EnvInitError, HarnessError, SandboxError
from components.browser.har import HarRecording
from components.browser.observing import Observer
from components.browser.open_web import OpenWeb
from components.browser.operation_guard import OperationGuard
from components.browser.page_ending import PageEnding, read_reward
from components.browser.page_limits import NAVIGATION_S
from components.browser.page_state import Mark, PageState, StateExtras
from components.browser.pool_context import PoolContext
from components.browser.reading import read_page, unread
from components.browser.site import SiteEpisode, awaits_requests
from components.browser.site_cleaning import clean_for
from components.browser.start_page import WaitUntil, log_in, open_start
from components.browser.step_state import StepState
from components.browser.tab import Tab
from components.browser.tabs import EpisodeTabs
from components.browser.window import Window
from components.records import Observation, Probe, Reading, StateCheck, Task, ToolCall

LEAST_NAVIGATION_S = 1.0
"""For a server to answer a navigation at the end of a step's time."""


class Session:
    """One episode on one browser context. Made by `BrowserPool.session`."""

    def __init__(self, context: BrowserContext, first: Tab, pool: PoolContext) -> None:
        self.params = pool.params
        self.answer: str | None = None
        """The answer of the first `done`; None before."""
        self._pool = pool
        self._context = context
        self._site = site = pool.site
        self._guard = OperationGuard(context.browser, pool.health, lambda: self.tabs.crashed, self._loss)
        settle_ms, on_crash = pool.params.settle_ms, self._guard.on_crash
        self.tabs = EpisodeTabs(context, first, awaits_requests(site), settle_ms, on_crash, pool.uploads)
        self._step = StepState(pool.queues, self._guard)
        self._observer = Observer(self.tabs, self._step, pool)
        dismisses = pool.params.dialogs == "ask_or_dismiss"
        self._dialogs = Dialogs(pool.params.dialog_wait_s, dismisses) if pool.params.dialogs != "accept" else None
        if dismisses:
            self.tabs.dismiss_dialogs()
        self._episode: SiteEpisode | None = None
        """The episode on the pool's own site, from `start` to `end_episode`."""
        self._state_check: StateCheck | None = None
        self._ending: PageEnding | None = None
        self._har: HarRecording | None = None
        """The recording of the episode's requests, until a rule reads it."""
        self._open_web = OpenWeb(context, self.tabs, self.refusal) if site is None else None

    @property
    def page(self) -> Page:
        """The active tab's page, for tests. Operations on it raise Playwright's own errors."""
        return self.tabs.active.page

    @property
    def requests(self) -> int:
        """Number of requests of the episode's pages; 0 on the pool's own site, where they are not counted."""
        return self._open_web.requests if self._open_web is not None else 0

    @property
    def timings(self) -> dict[str, float]:
        """Seconds per kind of operation of the last `start` or `step`."""
        return self._step.timings

    @property
    def health(self) -> dict[str, float]:
        """The browser's state after the last failure; empty before."""
        return self._guard.health

    @property
    def broken(self) -> bool:
        """True once an error made the context unfit for another episode."""
        return self._guard.broken

    async def oracle(self) -> str:
        """The element list of the active tab as it is now, whatever the agent's observation is. Only for the teacher.

        Raises:
            EnvError: the page did not answer within `step_timeout_s`.
            SandboxError: the browser died.
        """
        await self.settle_dialogs()  # the teacher answers none
        return await self._listed()

    async def shown(self) -> str:
        """The element list for a person who acts: an open dialog stays open, and the list has its buttons. Empty if the
        page has closed the active tab, which the next call says. Raises as `oracle`."""
        if self._dialogs is not None and self._dialogs.open is not None:
            return self._dialogs.open.box.text("elements") or ""
        return "" if self.tabs.active.page.is_closed() else await self._listed()

    async def _listed(self) -> str:
        async with self._guard.operation(EnvError, self.params.step_timeout_s, "the teacher's look at the page"):
            observer = self._observer
            extras = StateExtras(
                elements=True,
                instruction=observer.instruction,
                owners=observer.shows_owners,
                listeners=observer.has_details,
            )
            state = await self.tabs.active.look(0, extras=extras)
            return state.elements or ""

    async def oracle_elements(self) -> list[Placed]:
        """The accessible elements of the active tab, with the ids that `axtree` and `html` show. Raises as `oracle`."""
        await self.settle_dialogs()  # the teacher answers none
        async with self._guard.operation(EnvError, self.params.step_timeout_s, "the teacher's look at the page"):
            tab = self.tabs.active
            return placed((await tab.accessible(tab.viewport)).nodes, tab.viewport)

    async def start(self, task: Task) -> Observation:
        """Open the task's start page.

        Raises:
            EnvInitError: it could not be opened, after `navigation_retries`.
            BlockedError: the site answered with a block page or a CAPTCHA.
            SandboxError: the browser or the site's server died.
        """
        async with self._guard.operation(EnvInitError, self.params.start_timeout_s, f"opening {task.start_url}"):
            if self._site is not None:
                await self.end_episode()
                self._episode = await self._site.begin(task)
                self._ending = PageEnding(self._site, self._episode)
                await clean_for(self._episode, self._site, self.tabs[0])
            else:
                await log_in(self._context, task, self.params.logins)
            if task.evaluator.get("har") is True:
                self._har = HarRecording(self._context)
                await self._har.start()
            self.tabs[0].notices.begin_episode()
            self.tabs[0].listener_errors.forget()
            self.tabs[0].limits.navigation_s = NAVIGATION_S
            self._step.begin()
            async with self._step.operation("navigate"):
                wait_until: WaitUntil = "load" if self._site is not None else "domcontentloaded"
                response = await open_start(self, task.start_url, wait_until)
            for tab in self.tabs:
                await tab.reset_history()  # `go_back` leads to no page before the start page
            if self._episode is not None:
                self._require_site()
                wrong = await self._episode.ready(self.tabs[0].page)
                if wrong:
                    raise EnvInitError(f"{task.start_url}: {wrong}")
            observation = (await self._observer.observe(shows_windows=False))[0]
            if self._open_web is not None:
                await self._open_web.check_start(task.start_url, observation)
            elif response is not None and response.status >= 400:
                raise EnvInitError(f"{task.start_url} was answered with status {response.status}")
            return observation

    async def step(self, calls: Sequence[ToolCall]) -> StepResult:
        """Run a turn's calls in order and observe. `done` ends the episode at any position; the calls after it still
        run.

        Raises:
            EnvError: the page does not answer any more, the site on which the episode began cannot be reached any more,
                or the turn took longer than `step_timeout_s`.
            BlockedError: the calls led to a page that asks whether the visitor is human.
            HarnessError: a listener to the events of the episode's tabs raised an unexpected exception.
            SandboxError: the browser died.
        """
        async with self._guard.operation(EnvError, self.params.step_timeout_s, "a step"):
            self._step.begin(self.tabs, self.params.step_timeout_s, self.params.settle_ms / 1000)
            async with self._step.operation("act"):
                lines = []
                for index, call in enumerate(calls):
                    self._step.is_last_call = index + 1 == len(calls)
                    lines.append(await self._run_in_time(call))
            self._limit_navigations()
            observation, notices = await self._observe_dialog_or_page()
            self.tabs.raise_listener_error()
            if lines and notices:
                lines[-1] = f"{lines[-1]} {notices}"
            self._require_site()
            late = self._ending.take_late() if self._ending is not None else None
            return StepResult(lines, observation, self.answer, self.answer is not None, late)

    async def site_reward(self) -> float | None:
        """The site's raw reward of this episode; None if the site has no rewards, or the pages are not the pool's own.

        Raises:
            EnvError: the page did not answer.
            SandboxError: the browser died.
        """
        if self._site is None or self._episode is None or not self._site.rewards:
            return None
        await self.settle_dialogs()
        check = await self.check_state()
        if check is not None:
            return check.reward
        async with self._guard.operation(EnvError, self.params.step_timeout_s, "reading the reward"):
            return await read_reward(self._site, self._episode, self.tabs, self.params.step_timeout_s / 2)

    async def check_state(self) -> StateCheck | None:
        """What the episode changed, compared with what its task asks for; None if the site has no state.

        Raises:
            EnvError: the site did not answer.
            SandboxError: the browser or the site's server died.
        """
        if self._episode is not None and self._state_check is None:
            await self.settle_dialogs()
            async with self._guard.operation(EnvError, self.params.step_timeout_s, "comparing the state"):
                self._require_site()
                self._state_check = await self._episode.check_state(self.answer)
        return self._state_check

    async def read(self, probe: Probe) -> Reading:
        """Read a page for the task's rule at the end of an episode. A page that cannot be read gives a reading with
        an error.

        Raises:
            HarnessError: the read raised an unexpected exception.
            SandboxError: the browser died.
        """
        await self.settle_dialogs()
        try:
            async with self._guard.operation(
                EnvError, self.params.start_timeout_s, f"reading {probe.address or probe.url}"
            ):
                return await (self._read_har(probe) if probe.reads_har else read_page(self, probe))
        except (HarnessError, SandboxError):
            raise
        except EnvError as error:
            return unread(probe, str(error))

    async def settle_dialogs(self) -> None:
        """Close the dialog that is still open, because the episode ends and a page with a dialog cannot be read."""
        if self._dialogs is not None:
            self.tabs.holds = None
            await self._dialogs.settle()

    @property
    def site_episode(self) -> SiteEpisode | None:
        """The episode on the pool's own site; None on other pages, before `start` and after the end."""
        return self._episode

    async def end_episode(self) -> None:
        """Free what the site holds for this episode."""
        har, self._har = self._har, None
        if har is not None:
            har.discard()
        episode, self._episode, self._state_check = self._episode, None, None
        if episode is not None:
            await episode.end()

    async def detach(self) -> Tab:
        """End the episode: close every tab but the first, which the next episode may use."""
        if self._open_web is not None:
            self._open_web.detach()
        return await self.tabs.detach()

    # ---- for actions (`effects.ActingSession`) ----------------------------------------------------------------------

    @property
    def calls_left_s(self) -> float:
        """Seconds until no further call of the step begins."""
        return self._step.calls_left_s

    @property
    def names_options(self) -> bool:
        """Whether feedback names the options of a `<select>`."""
        return self._site is None or self._site.names_options

    async def look(self, tab: Tab, before: Mark | None = None, since: int = 0, hovered: bool = False) -> PageState:
        """See `Observer.look`."""
        return await self._observer.look(tab, before, since, hovered)

    def absolute(self, url: str) -> str:
        """A URL with a scheme: typed addresses often have none."""
        url = url.strip()
        if re.match(r"^[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)", url):
            return url
        scheme = "http" if self._site is not None else "https"
        return f"{scheme}://{url.lstrip('/')}"

    def refusal(self, response: Response) -> str | None:
        """Why the egress guard answered instead of the server; None if the server answered."""
        header = self._pool.refusal_header
        return response.headers.get(header.lower()) if header else None

    # ---- private ----------------------------------------------------------------------------------------------------

    async def _read_har(self, probe: Probe) -> Reading:
        """The requests of the episode so far, which are recorded no longer."""
        har, self._har = self._har, None
        if har is None:
            raise EnvError("the requests of the episode were not recorded, or were read before")
        return Reading(url=probe.url, locator=probe.locator, address=self.page.url, text=await har.stop())

    def _loss(self) -> str | None:
        """Why the browser's program or the episode's copy of the site is gone; None if both are there."""
        return self._pool.missing_browser() or (self._episode.loss if self._episode is not None else None)

    def _require_site(self) -> None:
        if self._episode is not None and self._episode.loss is not None:
            raise SandboxError(self._episode.loss)

    async def _run_in_time(self, call: ToolCall) -> str:
        """Run one call, unless the time that the step has for calls is over. `done` needs none."""
        if not self._step.calls_left_s and call.name != "done":
            return feedback.failed(call.name or "tool call", feedback.TOO_LATE)
        self._limit_navigations()
        return await self._run(call)

    def _limit_navigations(self) -> None:
        """Let no server that does not answer take more time than the step has."""
        for tab in self.tabs:
            tab.limits.navigation_s = min(NAVIGATION_S, max(LEAST_NAVIGATION_S, self._step.calls_left_s))

    async def _run(self, call: ToolCall) -> str:
        """Run one call, unless the page has ended its task and the call acts on it."""
        if self._ending is None or self._has_dialog:
            return await self._execute(call)
        refusal = await self._ending.refuse(self.tabs, call)
        if refusal is not None:
            return refusal
        line = await self._execute(call)
        sign = "" if self._has_dialog else await self._ending.note(self.tabs, call)
        return f"{line} {sign}" if sign else line

    async def _execute(self, call: ToolCall) -> str:
        """Run one call, or let it answer the dialog that is open."""
        if self._dialogs is None:
            return await execute(self, call)
        self.tabs.holds = self._hold
        return await self._dialogs.run(call, partial(execute, self))

    def _hold(self, dialog: Dialog, window: Window) -> bool:
        """Keep a dialog open for the agent if it opens where the agent looks."""
        if self._dialogs is None or not self.tabs.is_shown(window):
            return False
        viewport = window.viewport if self._observer.last is None else self._observer.last.viewport
        return self._dialogs.hold(dialog, window, [window.limits, *(tab.limits for tab in self.tabs)], viewport)

    @property
    def _has_dialog(self) -> bool:
        return self._dialogs is not None and self._dialogs.open is not None

    async def _observe_dialog_or_page(self) -> tuple[Observation, str]:
        """What `Observer.observe` returns, or the open dialog drawn on the last observation."""
        if self._dialogs is None or self._observer.last is None:
            return await self._observe_page()
        return await self._dialogs.observe(self._observe_page, self._observer.last, self._pool.text)

    async def _observe_page(self) -> tuple[Observation, str]:
        """What `Observer.observe` returns, if the page is one on which the episode goes on."""
        observation, notices = await self._observer.observe()
        self.tabs.raise_listener_error()
        if self._open_web is not None and self.answer is None:
            await self._open_web.check(observation)
        return observation, notices
