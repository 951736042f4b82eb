"""One tab: a Playwright page and its DevTools session. Reading its state and a screenshot cost one round trip each."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeVar

from playwright.async_api import CDPSession, ConsoleMessage, Page
from playwright.async_api import Error as PlaywrightError

from components.browser.axtree import ElementIds, simplify
from components.browser.axtree_view import Snapshot, take_snapshot
from components.browser.clipboard import Clipboard, isolate_clipboard
from components.browser.devtools import PROBE_TIMEOUT_S, DevTools
from components.browser.errors import EnvError, SandboxError
from components.browser.foreign_frames import ForeignFrames, FrameWorld
from components.browser.frame_sessions import FrameSessions, enable_events
from components.browser.isolated_world import IsolatedWorld
from components.browser.navigation import Navigation
from components.browser.network import NetworkActivity
from components.browser.opaque import OpaqueParts
from components.browser.page_state import NOTHING_ELSE, AnyAnswer, Mark, PageState, StateExtras
from components.browser.playwright_errors import NavigatedError, translate
from components.browser.window import Window

TITLE_TIMEOUT_S = 1.0
MAX_MESSAGES = 2000
"""Console messages of a tab after which it no longer listens to them; each costs a message from the browser."""
_SERVICE_WORKER = "Service Worker registration blocked by Playwright"
"""What a page's console says when the context blocks the registration of a service worker."""
AnyValue = TypeVar("AnyValue")


class Tab:
    """A page with `mark`, `look`, `screenshot` and the state of its navigation. Made by `attach`."""

    def __init__(self, window: Window, cdp: CDPSession, frame_id: str) -> None:
        self.window = window
        self.page = page = window.page
        self.cdp = cdp
        self.on_crash: Callable[[], None] = lambda: None
        self.on_window: Callable[[], None] = lambda: None
        """Called when the page asks to open a window."""
        self.notices = window.notices
        self.clipboard = Clipboard()
        """The clipboard of the episode; its tabs share one."""
        self.element_ids = ElementIds()
        self.listener_errors = window.listener_errors
        self.limits = window.limits
        self._network = NetworkActivity()
        self._devtools = DevTools(cdp, self.limits)
        self._navigation = Navigation(frame_id, self._on_new_document)
        self._world = IsolatedWorld(self._devtools, frame_id, self._navigation)
        self._messages = 0
        self._console_listener = self.listener_errors.guarded(self._on_console)
        self._service_worker_document = -1
        """Number of the document that last tried to register a service worker."""
        self._frame_sessions = FrameSessions(page, self._listen)
        self._foreign_frames = ForeignFrames(self._frame_sessions)
        self._opaque = OpaqueParts(cdp, self._foreign_frames, self.limits, lambda copied: self.clipboard.keep(copied))

    @classmethod
    async def attach(cls, window: Window, watches_network: bool) -> Tab:
        """Attach to the page of a window.

        Args:
            watches_network: count its requests and wait for those that a call causes (`Site.awaits_requests`).
        """
        page = window.page
        cdp = await page.context.new_cdp_session(page)
        answers = await asyncio.gather(cdp.send("Page.getFrameTree"), enable_events(cdp), isolate_clipboard(cdp))
        tab = cls(window, cdp, answers[0]["frameTree"]["frame"]["id"])
        guarded = tab.listener_errors.guarded
        tab._navigation.follow(cdp, tab.listener_errors)
        tab._listen(cdp)
        page.on("crash", guarded(tab._on_crash))
        page.on("download", guarded(tab.notices.on_download))
        if watches_network:
            tab._network.watch(page, tab.listener_errors)
            page.on("console", tab._console_listener)
        return tab

    @property
    def documents(self) -> int:
        """Number of documents that the main frame has shown so far."""
        return self._navigation.documents

    @property
    def crashed(self) -> bool:
        """Whether the renderer died."""
        return self._devtools.crashed

    @property
    def requests(self) -> int:
        """Number of requests so far; 0 if the network is not watched."""
        return self._network.requests

    @property
    def viewport(self) -> tuple[int, int]:
        """Width and height in CSS pixels; see `Window.viewport`."""
        return self.window.viewport

    @property
    def is_navigating(self) -> bool:
        """Whether another document was requested and is not shown yet."""
        return self._navigation.is_under_way

    async def evaluate(self, expression: str, timeout_s: float = PROBE_TIMEOUT_S) -> Any:
        """The JSON value of an expression (or promise) in the main frame, evaluated in our isolated world: it sees the
        page's document, with built-ins that no script of the page can change.

        Raises:
            EnvError: the expression threw, or the page did not answer in time.
            SandboxError: the renderer or the browser died.
            NavigatedError: the document was replaced meanwhile.
        """
        return await self._freed(self._world.evaluate(expression, timeout_s), self.limits.navigation_s)

    async def mark(self, at: tuple[float, float] | None = None, live: bool = False) -> Mark:
        """The state before a call, with the element at a point in CSS pixels.

        Args:
            live: remember also what changes without a change of the document: values of fields, scroll positions,
                styles, and what is drawn at a grid of points.
        """
        self._network.begin_call()
        mark = await self.ask(Mark, op="mark", at=at, live=live)
        if mark.opaque_frames or mark.canvases:
            context = self._world.context
            await self._opaque.mark(mark, None if context is None else FrameWorld(self.cdp, context))
        return mark

    async def ask(self, answer: type[AnyAnswer], **request: object) -> AnyAnswer:
        """Run one of `probe.js`'s actions (`clear`, `choose`, `aim`, `focus`).

        Args:
            answer: the record that the action's answer is parsed into.
        """
        return answer.model_validate(await self._probe_again(request, PROBE_TIMEOUT_S))

    async def frame_sessions(self) -> list[CDPSession]:
        """The sessions of the documents of this tab: its own, and those of frames in renderers of their own."""
        return [self.cdp, *await self._frame_sessions.all()]

    async def world_in(self, around: FrameWorld | None, frame: str) -> FrameWorld:
        """Our world in a frame; see `ForeignFrames.world_in`. `around` is None for the main frame's world."""
        if around is None:
            context = self._world.context
            if context is None:
                raise NavigatedError("the document was replaced while it was read")
            around = FrameWorld(self.cdp, context)
        return await self._foreign_frames.world_in(around, frame)

    async def look(
        self,
        settle_ms: int,
        before: Mark | None = None,
        extras: StateExtras = NOTHING_ELSE,
        *,
        quiet_ms: int = 0,
        since: int = 0,
        hovered: bool = False,
    ) -> PageState:
        """Wait until the page is quiet, for at most `settle_ms`, and read its state.

        A page is quiet when it has navigated, has loaded what it awaits of the requests after request number `since`,
        and has not changed for `quiet_ms`, or longer where a reaction is expected (`waiting.js`). When a dialog of the
        page is answered meanwhile, the wait begins again: an answer has effects as any call has.

        Args:
            extras: what the state tells besides, such as the element list.
            hovered: a change of the style of the marked element counts as a change.
        """
        request = {
            "op": "look", "changes": before and before.changes, "effects": before and before.effects,
            "still": quiet_ms, "hovered": hovered, **asdict(extras),
        }  # fmt: skip
        documents, wheel = self.documents, None
        try:
            while True:
                thaws = self.limits.thaws
                state = await self._look_once(settle_ms / 1000, before, request, since)
                wheel = state.wheel or wheel  # the page tells it once
                if self.limits.thaws == thaws:
                    return state.model_copy(update={"wheel": wheel if self.documents == documents else None})
        finally:
            self._network.end_call()

    async def _look_once(self, settle_s: float, before: Mark | None, request: dict, since: int) -> PageState:
        """`look`, with one wait."""
        end = time.monotonic() + settle_s
        documents = self.documents
        state = await self._look_until(end, request, since)
        is_same = documents == self.documents and self._world.context is not None
        if before and is_same and before.has_opaque_parts:
            request["settle"] = max(0, round((end - time.monotonic()) * 1000))
            state = await self._opaque.look(before, state, request)
        state = state.model_copy(update={"loading": self._network.unanswered(since)})
        if state.frames and (context := self._world.context) is not None:
            return await self._foreign_frames.complete(state, FrameWorld(self.cdp, context), request)
        return state

    async def _look_until(self, end: float, request: dict, since: int) -> PageState:
        began = time.monotonic()
        documents, wheel = self.documents, None
        while True:
            now = time.monotonic()
            request["waited"] = (now - began) * 1000
            left_ms = max(0, round((end - now) * 1000))
            answered = self._network.answered(since)
            request["answered"] = None if answered is None else (now - answered) * 1000
            request["thawed"] = self.limits.since_thaw_ms
            try:
                answer = await self._probe({**request, "settle": left_ms}, PROBE_TIMEOUT_S + left_ms / 1000)
                state = PageState.model_validate(answer)
                wheel = state.wheel or wheel  # the page tells it once
                if wheel is not None and self.documents == documents:
                    state = state.model_copy(update={"wheel": wheel})
            except NavigatedError:
                state = None
            if not self._navigation.is_under_way and not self._network.is_loading(since) and state is not None:
                if self._network.answered(since) == answered or not request["still"] or time.monotonic() >= end:
                    return state
                continue  # a response came while the page was read: its effect is awaited
            left_s = end - time.monotonic()
            if left_s <= 0:
                if state is not None:
                    return state
                return await self.ask(PageState, **{**request, "settle": 0})
            try:
                async with self.limits.limit(left_s):
                    await self._navigation.ended()
                    await self._network.loaded(since)
            except TimeoutError:
                self._navigation.give_up()  # the page is slow, or the navigation became a download: read what is there
            request["changes"] = None

    async def accessible(self, viewport: tuple[int, int], editors: bool = True) -> Snapshot:
        """The accessible elements in the viewport (width, height), with ids that `element_ids` resolves.

        Args:
            editors: whether the document may have editors (`PageState.editors`).

        Raises:
            EnvError: the page did not answer in time.
            SandboxError: the renderer or the browser died.
        """
        for attempt in range(3):
            try:
                async with self.limits.limit(PROBE_TIMEOUT_S):
                    snapshot = await take_snapshot(self.page, PROBE_TIMEOUT_S, editors or attempt > 0)
                nodes = self.element_ids.number(simplify(snapshot.nodes, viewport), self.documents)
                return replace(snapshot, nodes=nodes)
            except TimeoutError as error:
                raise EnvError(f"the page gave no accessibility tree within {PROBE_TIMEOUT_S:.0f} s") from error
            except (PlaywrightError, NavigatedError) as error:
                reason = error if isinstance(error, NavigatedError) else translate(error)
                if self.crashed:
                    reason = SandboxError("the page's renderer died")
                if attempt == 2 or not isinstance(reason, NavigatedError):
                    raise reason from error
                await asyncio.sleep(0.02)
        raise AssertionError("unreachable")

    async def screenshot(self, timeout_s: float) -> bytes:
        """The viewport as PNG."""
        arguments = {"format": "png", "optimizeForSpeed": True, "captureBeyondViewport": False}
        for attempt in range(2):
            try:
                answer = await self._devtools.send("Page.captureScreenshot", arguments, timeout_s / 2)
                return base64.b64decode(answer["data"])
            except SandboxError:
                raise
            except EnvError:
                if attempt:
                    raise
        raise AssertionError("unreachable")

    async def title(self) -> str:
        """The page's title; empty if the page is closed or does not answer at once."""
        try:
            async with asyncio.timeout(TITLE_TIMEOUT_S):
                return await self.page.title()
        except (PlaywrightError, TimeoutError):
            return ""

    async def history(self) -> tuple[int, int]:
        """Index of the current entry and number of entries."""
        answer = await self._history_command("Page.getNavigationHistory")
        return answer["currentIndex"], len(answer["entries"])

    async def reset_history(self) -> None:
        """Forget all entries but the current one."""
        await self._history_command("Page.resetNavigationHistory")

    async def _history_command(self, method: str) -> dict:
        """The answer to a command about the history, which the browser refuses while it swaps renderers."""
        deadline = time.monotonic() + PROBE_TIMEOUT_S
        while True:
            try:
                return await self.command(method)
            except NavigatedError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.02)

    async def command(self, method: str, arguments: dict | None = None) -> dict:
        """Send a DevTools command, which may take `PROBE_TIMEOUT_S`."""
        return await self._devtools.send(method, arguments or {}, PROBE_TIMEOUT_S)

    async def stop_navigation(self) -> str | None:
        """Stop the navigation whose server has not answered, so that the page answers again. Raises as `command`.

        Returns:
            the address that was requested; None if no server is awaited.
        """
        url = self._navigation.unanswered
        if url is not None:
            await self.command("Page.stopLoading")
        return url

    async def _freed(self, question: Coroutine[Any, Any, AnyValue], limit_s: float) -> AnyValue:
        """The answer to a question. A navigation that keeps the page from answering is stopped after `limit_s`."""
        task = asyncio.create_task(question)
        try:
            with contextlib.suppress(TimeoutError):
                async with self.limits.limit(limit_s):
                    await asyncio.wait({task})
            if not task.done() and (url := await self.stop_navigation()) is not None:
                reason = f"its server did not answer within {limit_s:.0f} s"
                self.notices.note("navigation", f"The navigation to {url} was stopped, because {reason}.")
            return await task
        finally:
            task.cancel()

    async def _probe(self, request: dict, timeout_s: float) -> dict:
        """The answer of `probe.js` to a request. What the document copied goes to the episode's clipboard."""
        navigation_s = self.limits.navigation_s + request.get("settle", 0) / 1000
        answer = await self._freed(self._world.probe(request, timeout_s), navigation_s)
        self.clipboard.keep(answer.pop("copied", None))
        return answer

    async def _probe_again(self, request: dict, timeout_s: float) -> dict:
        """`_probe`, repeated if the document is replaced meanwhile, which a chain of redirects does more than once."""
        for _ in range(3):
            try:
                return await self._probe(request, timeout_s)
            except NavigatedError:
                await asyncio.sleep(0.02)
        raise EnvError("the page kept navigating while it was read")

    def _on_new_document(self) -> None:
        self._network.on_new_document()
        self.notices.on_new_document()

    def _listen(self, cdp: CDPSession) -> None:
        """Handle the windows and file choosers that the documents of a session open."""
        guarded = self.listener_errors.guarded
        cdp.on("Page.windowOpen", guarded(self._on_window))
        cdp.on("Page.fileChooserOpened", guarded(partial(self._on_file_chooser, cdp)))

    def _on_file_chooser(self, cdp: CDPSession, event: dict) -> Awaitable[None] | None:
        self.notices.on_file_chooser(event, cdp)
        chooser = self.notices.chooser
        return chooser.hold() if chooser is not None else None

    def _on_window(self, event: dict) -> None:
        self.on_window()

    def _on_console(self, message: ConsoleMessage) -> None:
        self._messages += 1
        if self._messages > MAX_MESSAGES:
            self.page.remove_listener("console", self._console_listener)
        elif message.text == _SERVICE_WORKER and self._service_worker_document != self.documents:
            self._service_worker_document = self.documents
            self.notices.on_service_worker()

    def _on_crash(self, page: Page) -> None:
        self._devtools.crashed = True
        self._navigation.give_up()
        self.on_crash()
