"""Our JavaScript in the document of a page's main frame: it sees the document, with built-ins that no script of the
page can change, and shares no variables with the page's scripts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from components.browser.clipboard import WORLD
from components.browser.closed_roots import MAX_ROUNDS, adopt_closed_roots
from components.browser.devtools import PROBE_TIMEOUT_S, DevTools
from components.browser.elements import question, script
from components.browser.errors import EnvError
from components.browser.listeners import hear
from components.browser.navigation import Navigation
from components.browser.page_state import Discoveries
from components.browser.playwright_errors import NavigatedError


@dataclass
class _Context:
    """Our JavaScript context in one document."""

    document: int
    """Number of the document."""
    id: int
    """DevTools' id of the context."""
    has_probe: bool = False
    """Whether `probe.js` is loaded."""


class IsolatedWorld:
    """Runs our JavaScript in the document that the main frame shows. Each document gets a context at its first use.

    Args:
        frame_id: DevTools' id of the main frame.
        navigation: of the main frame.
    """

    def __init__(self, devtools: DevTools, frame_id: str, navigation: Navigation) -> None:
        self._devtools = devtools
        self._frame_id = frame_id
        self._navigation = navigation
        self._context: _Context | None = None

    @property
    def context(self) -> int | None:
        """DevTools' id of the context that was used last; None before the first, and once its document is gone."""
        return self._context.id if self._context is not None else None

    async def evaluate(self, expression: str, timeout_s: float) -> Any:
        """The JSON value of an expression or promise. Raises as `Tab.evaluate`."""
        return await self._evaluate(await self._current(), expression, timeout_s)

    async def probe(self, request: dict, timeout_s: float) -> dict:
        """The answer of `probe.js` to a request. Its source is sent to each document once, because sending and
        compiling it costs more than most answers. Raises as `Tab.evaluate`."""
        context = await self._current()
        answer = await self._ask(context, request, timeout_s)
        for _ in range(MAX_ROUNDS if request["op"] in ("mark", "look") else 0):
            if not Discoveries.model_validate(answer).suspects:
                break
            answer |= await self._with_closed_roots(context, request, timeout_s)
        is_list = request.get("elements") and request.get("listeners")
        if is_list and Discoveries.model_validate(answer).drawn and await hear(self._send, context.id):
            answer |= await self._relisted(context, request, timeout_s)
        return answer

    async def _with_closed_roots(self, context: _Context, request: dict, timeout_s: float) -> dict:
        """What changes in an answer once the probe knows the closed roots of the elements that it suspects."""
        adopted = await adopt_closed_roots(self._send, context.id)
        if not adopted.is_more:
            return {"suspects": 0}
        if request["op"] == "mark":
            return await self._ask(context, request, timeout_s)
        changed = {"changed": True} if adopted.roots > 0 and request["effects"] is not None else {}
        if not request["elements"]:
            return {"suspects": 0, **changed}
        return {**await self._relisted(context, request, timeout_s), **changed}

    async def _relisted(self, context: _Context, request: dict, timeout_s: float) -> dict:
        again = {"op": "relist", **{key: request[key] for key in ("instruction", "details", "owners", "listeners")}}
        return await self._ask(context, again, timeout_s)

    async def _send(self, method: str, arguments: dict) -> dict:
        return await self._devtools.send(method, arguments, PROBE_TIMEOUT_S)

    async def _ask(self, context: _Context, request: dict, timeout_s: float) -> dict:
        source = question(request) if context.has_probe else script(request, keep=True)
        answer = await self._evaluate(context, source, timeout_s)
        context.has_probe = True
        return answer

    async def _current(self) -> _Context:
        """Our context in the current document."""
        if self._context is None or self._context.document != self._navigation.documents:
            arguments = {"frameId": self._frame_id, "worldName": WORLD}
            document = self._navigation.documents
            answer = await self._devtools.send("Page.createIsolatedWorld", arguments, PROBE_TIMEOUT_S)
            self._context = _Context(document, answer["executionContextId"])
        return self._context

    async def _evaluate(self, context: _Context, expression: str, timeout_s: float) -> Any:
        arguments = {"expression": expression, "returnByValue": True, "awaitPromise": True, "contextId": context.id}
        try:
            answer = await self._devtools.send("Runtime.evaluate", arguments, timeout_s)
        except NavigatedError:
            self._context = None
            raise
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise EnvError(f"the page threw: {detail.get('exception', {}).get('description', detail['text'])}")
        return answer["result"].get("value")
