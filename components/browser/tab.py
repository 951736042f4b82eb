"""One tab: a Playwright page and its DevTools session, asked and photographed with one round trip each.

Navigation is followed through DevTools events. They come on the same channel as the answers, in order: when a probe
after a click is answered, a navigation that the click requested has been announced already, so nobody has to sleep to
find out.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession, Dialog, Download, Frame, Page, Request
from playwright.async_api import Error as PlaywrightError

from components.browser.axtree import ElementIds, Node, mask, parse, simplify
from components.browser.elements import question, script
from components.browser.errors import EnvError, SandboxError

PROBE_TIMEOUT_S = 10.0
MOST_ASIDES = 3
"""A page may open dialogs without end; more than these of one kind are answered, and not told, until the next call."""
_AWAITED = frozenset({"document", "stylesheet", "image", "font", "script", "xhr", "fetch"})
"""What a page waits for itself. Sockets, event streams, pings and films are not what it looks like."""
_GONE = ("closed", "crashed", "detached", "target not found", "connection")
_NAVIGATED = (
    "context was destroyed",
    "navigated or closed",
    "cannot find context",
    "cannot find default",
    "promise was collected",
)


@dataclass
class _World:
    """Our JavaScript world in a document: the document's number, and whether it can answer questions already."""

    document: int
    context: int
    asked: bool = False


class Tab:
    """A page with `mark`, `look`, `screenshot` and the state of its navigation."""

    def __init__(self, page: Page, cdp: CDPSession, frame_id: str) -> None:
        self.page = page
        self.cdp = cdp
        self.documents = 0
        """Documents committed in the main frame so far."""
        self.popups = 0
        """Windows that the page asked to open so far."""
        self.crashed = False
        self.on_crash: Callable[[], None] = lambda: None
        self.asides: list[tuple[str, str]] = []
        """What the browser did for the page unseen, kind and sentence, until somebody has said it: dialogs that were
        answered, downloads that were blocked, files that were asked for."""
        self.element_ids = ElementIds()
        self._frame_id = frame_id
        self._world: _World | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self.requests = 0
        """Requests so far, where they are watched."""
        self._loading: dict[Request, int] = {}
        self._loaded = asyncio.Event()

    @classmethod
    async def of(cls, page: Page, watches_network: bool) -> Tab:
        """Attach to a page. Its requests are watched where pages load something after they have loaded."""
        cdp = await page.context.new_cdp_session(page)
        tree, *_ = await asyncio.gather(
            cdp.send("Page.getFrameTree"),
            cdp.send("Page.enable"),
            cdp.send("Page.setInterceptFileChooserDialog", {"enabled": True}),
        )
        tab = cls(page, cdp, tree["frameTree"]["frame"]["id"])
        cdp.on("Page.frameRequestedNavigation", tab._on_requested)
        cdp.on("Page.frameStartedNavigating", tab._on_requested)
        cdp.on("Page.frameNavigated", tab._on_committed)
        cdp.on("Page.navigatedWithinDocument", tab._on_stopped)
        cdp.on("Page.frameStoppedLoading", tab._on_stopped)
        cdp.on("Page.windowOpen", tab._on_window)
        cdp.on("Page.fileChooserOpened", tab._on_file_chooser)
        page.on("crash", tab._on_crash)
        page.on("dialog", tab._on_dialog)
        page.on("download", tab._on_download)
        if watches_network:
            page.on("request", tab._on_request)
            page.on("requestfinished", tab._on_request_ended)
            page.on("requestfailed", tab._on_request_ended)
        return tab

    async def evaluate(self, expression: str, timeout_s: float = PROBE_TIMEOUT_S) -> Any:
        """The JSON value of an expression (or promise) in the main frame, in a world of our own: the page's document
        with built-ins that no script of the page has touched.

        Raises:
            EnvError: the page threw, or did not answer in time.
            SandboxError: the renderer or the browser died.
            NavigatedError: the document went away while it was asked.
        """
        return await self._evaluate(await self._own_world(), expression, timeout_s)

    async def _evaluate(self, world: _World, expression: str, timeout_s: float) -> Any:
        arguments = {"expression": expression, "returnByValue": True, "awaitPromise": True, "contextId": world.context}
        try:
            answer = await self._send("Runtime.evaluate", arguments, timeout_s)
        except NavigatedError:
            self._world = None
            raise
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise EnvError(f"the page threw: {detail.get('exception', {}).get('description', detail['text'])}")
        return answer["result"].get("value")

    async def _own_world(self) -> _World:
        """Our world in the current document, made if there is none yet."""
        if self._world is None or self._world.document != self.documents:
            arguments = {"frameId": self._frame_id, "worldName": "waymark"}
            document = self.documents
            answer = await self._send("Page.createIsolatedWorld", arguments, PROBE_TIMEOUT_S)
            self._world = _World(document, answer["executionContextId"])
        return self._world

    async def _put(self, request: dict, timeout_s: float) -> dict:
        """A request of `probe.js`. Its source is sent to each document once: sending and compiling it costs more than
        most answers."""
        world = await self._own_world()
        if world.asked:
            return await self._evaluate(world, question(request), timeout_s)
        answer = await self._evaluate(world, script(request, keep=True), timeout_s)
        world.asked = True
        return answer

    async def mark(self, at: tuple[float, float] | None = None) -> dict:
        """The state before a call: url, and the element at a point in CSS pixels."""
        return await self._ask({"op": "mark", "at": at}, PROBE_TIMEOUT_S)

    async def ask(self, **request: object) -> dict:
        """One of the page's own actions (`clear`, `choose`, `scroll`)."""
        return await self._ask(request, PROBE_TIMEOUT_S)

    async def focused_frame(self) -> Frame:
        """The frame that has the focus, of another origin too; the main frame if none has."""
        frame = self.page.main_frame
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                while inner := await _focused_child(frame):
                    frame = inner
        except TimeoutError as error:
            raise EnvError(f"a frame of the page did not answer within {PROBE_TIMEOUT_S:.0f} s") from error
        return frame

    async def ask_frame(self, frame: Frame, **request: object) -> dict:
        """`ask` of a frame's document."""
        if frame is self.page.main_frame:
            return await self.ask(**request)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                return await frame.evaluate(script(request))
        except TimeoutError as error:
            raise EnvError(f"a frame of the page did not answer within {PROBE_TIMEOUT_S:.0f} s") from error

    async def look(
        self,
        settle_ms: int,
        before: dict | None = None,
        elements: bool = False,
        instruction: str | None = None,
        quiet_ms: int = 0,
        since: int = 0,
    ) -> dict:
        """The state once the page is quiet, at the latest after `settle_ms`: url, title, focus, toggled,
        field (it got the focus), changed (visibly, since the mark `before`), elements.

        Quiet: it has navigated, has loaded what it asked for after its request number `since`, and has not changed for
        `quiet_ms`.
        """
        end = time.monotonic() + settle_ms / 1000
        request = {
            "op": "look", "changes": before and before["changes"], "effects": before and before["effects"],
            "still": quiet_ms, "elements": elements, "instruction": instruction,
        }  # fmt: skip
        while True:
            left_ms = max(0, round((end - time.monotonic()) * 1000))
            try:
                state = await self._put({**request, "settle": left_ms}, PROBE_TIMEOUT_S + left_ms / 1000)
            except NavigatedError:
                state = None
            if self._idle.is_set() and not self.loads_since(since) and state is not None:
                return state
            left_s = end - time.monotonic()
            if left_s <= 0:
                if state is not None:
                    return state
                return await self._ask({**request, "settle": 0}, PROBE_TIMEOUT_S)
            try:
                async with asyncio.timeout(left_s):
                    await self._idle.wait()
                    while self.loads_since(since):
                        self._loaded.clear()
                        await self._loaded.wait()
            except TimeoutError:
                self._idle.set()  # slow, or it became a download: look at what is there
            request["changes"] = None

    async def accessible(self, viewport: tuple[int, int]) -> list[Node]:
        """The accessible elements in the viewport, with ids that `element_ids` knows.

        Raises:
            EnvError: the page did not answer in time. SandboxError: the renderer or the browser died.
        """
        for attempt in range(3):
            try:
                async with asyncio.timeout(PROBE_TIMEOUT_S):
                    nodes = parse(await self.page.aria_snapshot(mode="ai", boxes=True, timeout=PROBE_TIMEOUT_S * 1000))
                    if any(node.role == "textbox" and node.text for root in nodes for node in root.walk()):
                        mask(nodes, await self._passwords())
                return self.element_ids.number(simplify(nodes, viewport), self.documents)
            except TimeoutError as error:
                raise EnvError(f"the page gave no accessibility tree within {PROBE_TIMEOUT_S:.0f} s") from error
            except PlaywrightError as error:
                reason = SandboxError("the page's renderer died") if self.crashed else translate(error)
                if attempt == 2 or not isinstance(reason, NavigatedError):
                    raise reason from error
                await asyncio.sleep(0.02)
        raise AssertionError("unreachable")

    async def _passwords(self) -> set[str]:
        """What password fields hold, in all frames."""
        fields = [frame.locator("input[type=password]") for frame in self.page.frames]
        found = await asyncio.gather(*(one.evaluate_all("all => all.map(el => el.value)") for one in fields))
        return {value for values in found for value in values if value}

    async def screenshot(self, timeout_s: float) -> bytes:
        """The viewport as PNG."""
        arguments = {"format": "png", "optimizeForSpeed": True, "captureBeyondViewport": False}
        for attempt in range(2):
            try:
                answer = await self._send("Page.captureScreenshot", arguments, timeout_s / 2)
                return base64.b64decode(answer["data"])
            except SandboxError:
                raise
            except EnvError:
                if attempt:
                    raise
        raise AssertionError("unreachable")

    @property
    def navigates(self) -> bool:
        """Whether another document was asked for and has not come yet."""
        return not self._idle.is_set()

    def loads_since(self, since: int) -> bool:
        """Whether something is loading that the page asked for after its request number `since`."""
        return any(number > since for number in self._loading.values())

    async def history(self) -> tuple[int, int]:
        """Index of the current entry and number of entries."""
        answer = await self._send("Page.getNavigationHistory", {}, PROBE_TIMEOUT_S)
        return answer["currentIndex"], len(answer["entries"])

    async def command(self, method: str, arguments: dict | None = None) -> dict:
        """A DevTools command, bounded."""
        return await self._send(method, arguments or {}, PROBE_TIMEOUT_S)

    async def _ask(self, request: dict, timeout_s: float) -> dict:
        for _ in range(3):  # the document may go away under the question, more than once on a chain of redirects
            try:
                return await self._put(request, timeout_s)
            except NavigatedError:
                await asyncio.sleep(0.02)
        raise EnvError("the page kept navigating while it was read")

    async def _send(self, method: str, arguments: dict, timeout_s: float) -> dict:
        if self.crashed:
            raise SandboxError("the page's renderer died")
        try:
            async with asyncio.timeout(timeout_s):
                return await self.cdp.send(method, arguments)
        except TimeoutError as error:
            if self.crashed:
                raise SandboxError("the page's renderer died") from error
            raise EnvError(f"the page did not answer {method} within {timeout_s:.0f} s") from error
        except PlaywrightError as error:
            raise translate(error) from error

    def _on_requested(self, event: dict) -> None:
        if event["frameId"] == self._frame_id and event.get("navigationType") not in (
            "sameDocument",
            "historySameDocument",
        ):
            self._idle.clear()

    def _on_committed(self, event: dict) -> None:
        if event["frame"]["id"] == self._frame_id:
            self.documents += 1
            self._loading = {one: number for one, number in self._loading.items() if one.is_navigation_request()}
            self._loaded.set()

    def _on_stopped(self, event: dict) -> None:
        if event["frameId"] == self._frame_id:
            self._idle.set()

    def _on_request(self, request: Request) -> None:
        self.requests += 1
        if request.resource_type in _AWAITED:
            self._loading[request] = self.requests

    def _on_request_ended(self, request: Request) -> None:
        if self._loading.pop(request, None) is not None:
            self._loaded.set()

    def _on_window(self, event: dict) -> None:
        self.popups += 1

    def _on_crash(self, page: Page) -> None:
        self.crashed = True
        self._idle.set()
        self.on_crash()

    async def _on_dialog(self, dialog: Dialog) -> None:
        """Say yes: no screenshot shows a dialog, and a page waits for its answer. A prompt gets its default."""
        if dialog.type != "beforeunload":
            answer = f'answered "{_short(dialog.default_value)}"' if dialog.type == "prompt" else "confirmed"
            self._tell("dialog", f'A dialog ({dialog.type}) said "{_short(dialog.message)}" and was {answer}.')
        with contextlib.suppress(PlaywrightError):  # the page may be gone
            await (dialog.accept(dialog.default_value) if dialog.type == "prompt" else dialog.accept())

    def _on_download(self, download: Download) -> None:
        self._tell("download", f'A download of "{_short(download.suggested_filename)}" was blocked.')

    def _on_file_chooser(self, event: dict) -> None:
        self._tell("file", "The page asked for a file; there are none to choose.")

    def _tell(self, kind: str, aside: str) -> None:
        if sum(known == kind for known, _ in self.asides) < MOST_ASIDES:
            self.asides.append((kind, aside))


async def _focused_child(frame: Frame) -> Frame | None:
    """The child frame that has the focus."""
    for child in frame.child_frames:
        element = await child.frame_element()
        if await element.evaluate("el => el === el.getRootNode().activeElement"):
            return child
    return None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:77] + "..."


class NavigatedError(EnvError):
    """The document was replaced while a question was in flight; ask again."""


def translate(error: PlaywrightError) -> EnvError:
    """A Playwright error in our terms: a dead browser is not a failing page."""
    message = str(error)
    low = message.lower()
    if any(sign in low for sign in _NAVIGATED):
        return NavigatedError(message)
    if any(sign in low for sign in _GONE) and "net::" not in low:
        return SandboxError(f"the browser died: {message.splitlines()[0]}")
    return EnvError(message.splitlines()[0])
