"""A user's application as a site: a process and data of its own for each episode, behind one address."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from components.browser import SandboxError, SiteCookie
from components.records import RowChange, StateCheck, Task
from components.worlds.effects import is_equal
from components.worlds.own_site.application import Application, at_place, json_text
from components.worlds.own_site.front import COOKIE, Front
from components.worlds.own_site.image import ensure
from components.worlds.own_site.instances import Instance, expected_value
from components.worlds.own_site.site_file import OwnSiteError, SiteFile
from components.worlds.own_site.tables import Snapshot, columns_of, differences
from components.worlds.own_site.task_file import RequestRule
from components.worlds.own_site.texts import address, command, formatted, is_at

if TYPE_CHECKING:
    from playwright.async_api import Page

    from components.params import ContextParams


_Result = TypeVar("_Result")


class OwnPages:
    """The `browser.Site` of a user's application. One pool at a time may use it.

    There are as many processes as episodes at the same time. A process serves one episode after the other.
    """

    rewards = True
    instruction: str | None = None
    names_options = True
    keeps_cache = False
    keeps_page = False
    lists_details = True
    awaits_requests = True
    context: ContextParams | None = None

    def __init__(self, site: SiteFile, folder: Path) -> None:
        self.origins = (site.address,)
        self._site = site
        self._folder = folder
        self._front = Front()
        self._free: list[Application] = []
        self._all: list[Application] = []
        self._image: Path | None = None
        self._resets: set[asyncio.Future[Any]] = set()
        """Threads that start or reset an application. They go on after a cancellation of what waits for them."""

    async def start(self) -> None:
        """Make the first data if they do not exist, and start and reset one process.

        Raises:
            OwnSiteError: the application cannot be prepared, started or reset.
        """
        if self._image is not None:
            return
        self._image = await asyncio.to_thread(ensure, self._site, self._folder)
        application = self._take()
        try:
            await asyncio.shield(self._in_thread(_reset, application, 0))
        except BaseException:
            await self.stop()
            raise
        self._free.append(application)
        await self._front.start()

    async def stop(self) -> None:
        """Stop all processes and remove their data.

        Raises:
            OwnSiteError: the data of one cannot be removed.
        """
        await self._front.stop()
        applications, self._all, self._free, self._image = self._all, [], [], None
        for application in applications:
            application.give_up()
        await asyncio.gather(*self._resets, return_exceptions=True)
        closed = (asyncio.to_thread(application.close) for application in applications)
        for result in await asyncio.gather(*closed, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def columns(self) -> dict[str, list[str] | None]:
        """The columns of each table of the state before an episode (`tables.columns_of`). Starts the pages.

        Raises:
            OwnSiteError: as `start`, or a database or response cannot be read.
        """
        await self.start()
        application = self._take()
        try:
            return columns_of(await asyncio.to_thread(application.snapshot))
        finally:
            self._free.append(application)

    def addresses(self) -> dict[str, int]:
        """The port of the front for the site's host."""
        return {urlsplit(self._site.address).hostname or "": self._front.port}

    async def begin(self, task: Task) -> OwnEpisode:
        """A process with its first data, and the task's person logged in. A task without a template, such as one of
        `waymark run`, has seed 0 if it names none, no person and no check.

        Raises:
            SandboxError: the application does not start, reset or log in.
        """
        instance = Instance.of(self._site, task) if "template" in task.evaluator else None
        application = self._take()
        user = instance.template.login if instance is not None else ""
        work = self._in_thread(_begun, application, task.seed or 0, user)
        try:
            before, cookies = await asyncio.shield(work)
        except BaseException as error:  # after a cancellation, the thread goes on until the application has started
            work.add_done_callback(lambda done: self._give_back(application, done))
            if isinstance(error, OwnSiteError):
                raise SandboxError(str(error)) from error
            raise
        key = secrets.token_urlsafe(24)
        self._front.routes[key] = application.port
        return OwnEpisode(self, instance, application, before, key, cookies)

    def is_writing(self, key: str) -> bool:
        """Whether an episode has a request under way that may change data."""
        return self._front.is_writing(key)

    def free(self, application: Application, key: str) -> None:
        """Take back the process of an episode that has ended."""
        self._front.close(key)
        self._give_back(application)

    def differences(self, before: Snapshot, after: Snapshot) -> list[RowChange]:
        """The changes between two moments, without the site's noise."""
        return differences(before, after, self._site.state.noise, self._site.state.keys)

    def _in_thread(self, function: Callable[..., _Result], *values: object) -> asyncio.Future[_Result]:
        work = asyncio.ensure_future(asyncio.to_thread(function, *values))
        self._resets.add(work)
        work.add_done_callback(self._resets.discard)
        return work

    def _take(self) -> Application:
        """A process that no episode has, or a new one that has not started yet."""
        if self._free:
            return self._free.pop()
        assert self._image is not None
        application = Application(self._site, self._folder, self._image)
        self._all.append(application)
        return application

    def _give_back(self, application: Application, work: asyncio.Future[Any] | None = None) -> None:
        """Keep a process for the next episode, unless the pages were stopped."""
        if work is not None and not work.cancelled():
            work.exception()
        if application in self._all:
            self._free.append(application)


def _reset(application: Application, seed: int) -> None:
    try:
        application.reset(seed)
    except OwnSiteError:
        application.stop()  # the next reset starts it anew
        raise


def _begun(application: Application, seed: int, user: str) -> tuple[Snapshot, list[SiteCookie]]:
    """The state before an episode, and the cookies of the person who is logged in."""
    _reset(application, seed)
    cookies = application.client(user).browser_cookies if user else []
    return application.snapshot(), cookies


class OwnEpisode:
    """One episode: its process, and the state from before it.

    Args:
        instance: of the task; None if the task has no template.
        key: of the episode, in the browser's cookie.
        cookies: of the person who is logged in.
    """

    def __init__(
        self,
        pages: OwnPages,
        instance: Instance | None,
        application: Application,
        before: Snapshot,
        key: str,
        cookies: list[SiteCookie],
    ) -> None:
        self.application = application
        self.instance = instance
        self._pages = pages
        self._before = before
        self._key = key
        self._page: Page | None = None
        origin = pages.origins[0]
        self.cookies = [
            SiteCookie(origin, COOKIE, key, http_only=True),
            *cookies,
        ]

    @property
    def loss(self) -> str | None:
        """The reason if the application's process has ended; else None."""
        return None if self.application.is_running else "the application ended during the episode"

    async def ready(self, page: Page) -> str | None:
        """None, because the session itself refuses a start page with an error status."""
        self._page = page
        return None

    async def ended(self, page: Page) -> bool | None:
        """None, because a page of an application does not end a task."""
        return None

    async def reward(self, page: Page) -> float | None:
        """None, because the pages do not compute a reward. `check_state` does."""
        return None

    async def check_state(self, answer: str | None) -> StateCheck | None:
        """Compare the state with the one before the episode, and check the rules; None if the task has no template.

        Raises:
            SandboxError: the application does not answer.
        """
        instance = self.instance
        if instance is None:
            return None
        try:
            after = await asyncio.to_thread(self.application.snapshot)
            changes = await asyncio.to_thread(self._pages.differences, self._before, after)
            missing = await asyncio.to_thread(self._failed_requests, instance)
        except OwnSiteError as error:
            raise SandboxError(str(error)) from error
        missing += await self._missing_page(instance)
        check = instance.check(changes, answer)
        template = instance.template
        rules = len(template.requests) + (template.page is not None) + bool(template.verify)
        others = len(template.effects) + (template.answer is not None)
        credit = (check.credit * others + rules - len(missing)) / (others + rules)
        return check.model_copy(
            update={
                "reward": 0.0 if missing else check.reward,
                "credit": credit,
                "missing": [*check.missing, *missing],
            }
        )

    async def end(self) -> None:
        """Give the process back. One that still works for this episode is stopped, because what it writes would be in
        the next episode's data; the next reset starts it."""
        if self._pages.is_writing(self._key):
            await asyncio.to_thread(self.application.stop)
        self._pages.free(self.application, self._key)

    def _failed_requests(self, instance: Instance) -> list[str]:
        facts = instance.facts
        failures = [failure(rule, self.application, facts) for rule in instance.template.requests]
        if instance.template.verify:
            failures.append(self.application.verify(command(instance.template.verify, facts)))
        return [sentence for sentence in failures if sentence is not None]

    async def _missing_page(self, instance: Instance) -> list[str]:
        rule = instance.template.page
        if rule is None or self._page is None:
            return []
        url, text = formatted(rule.url, instance.facts), formatted(rule.contains, instance.facts)
        for page in self._page.context.pages:
            with contextlib.suppress(PlaywrightError):
                shown = await page.inner_text("body", timeout=5000)
                if is_at(page.url, rule.url, instance.facts) and text.casefold() in shown.casefold():
                    return []
        return [f"no open page has the address {url}" + (f" and the text {text!r}" if text else "")]


def failure(rule: RequestRule, application: Application, facts: object) -> str | None:
    """What is wrong with a response; None if it is as the rule wants it."""
    assert isinstance(facts, dict)
    path = address(rule.get, facts)
    response = application.client(rule.user).get(path)
    if response.status_code != rule.status:
        return f"{path} has the status {response.status_code}, not {rule.status}"
    if rule.contains and formatted(rule.contains, facts).casefold() not in response.text.casefold():
        return f"{path} does not contain {formatted(rule.contains, facts)!r}"
    if rule.lacks and formatted(rule.lacks, facts).casefold() in response.text.casefold():
        return f"{path} contains {formatted(rule.lacks, facts)!r}"
    for place, expected in rule.values.items():
        try:
            value = at_place(response.json(), place)
        except (KeyError, TypeError, ValueError, IndexError):
            return f"{path} has no {place}"
        text = json_text(value)
        if not is_equal(text, expected_value(expected, facts, {})):
            return f"{path} has {place} = {text}"
    return None
