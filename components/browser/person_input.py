"""What a person does in a tab, as typed events: clicks, texts, choices, keys and scrolling, each with the element list
as it was before the page reacted. `person_input.js` tells them; `waymark world record` writes them down as steps.

Only trusted events count, so a script of the page cannot invent one. Frames of another origin are not heard.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from playwright.async_api import CDPSession
from pydantic import BaseModel, ConfigDict, ValidationError

from components.browser.clipboard import WORLD
from components.browser.elements import Listed, list_sources, parse_elements
from components.browser.listeners import hear

BINDING = "waymarkPersonDid"
_SCRIPT = Path(__file__).with_name("person_input.js")


class PersonEvent(BaseModel):
    """One event. Which fields are set depends on `kind`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: Literal["click", "double", "drag", "scroll", "press", "write", "choose", "file"]
    lines: str | None = None
    """The element list before the event; None for keys, and for a further event of the same field."""
    line: int = -1
    """The line that the event is about; -1: none is."""
    counts: dict[str, int] = {}
    """How many elements of the whole page, in view or not, have a role and name: `{"button Save": 1}`."""
    tag: str = ""
    """The HTML tag of the event's target."""
    button: Literal["left", "middle", "right"] = "left"
    modifiers: list[str] = []
    key: str = ""
    """In Playwright's names, such as `Control+Enter`."""
    text: str = ""
    """What the field holds now, or the labels of the chosen options, one per line."""
    secret: bool = False
    """Whether it is a password field."""
    direction: Literal["up", "down", "left", "right"] = "down"
    amount: float = 0.0
    """Of the viewport, or of the area that scrolled."""
    page: bool = True
    """Whether the page scrolled, and no area in it."""

    @property
    def listed(self) -> list[Listed]:
        """The element list before the event."""
        return parse_elements(self.lines or "")


async def hear_person(cdp: CDPSession, tell: Callable[[PersonEvent], None]) -> Callable[[], Awaitable[None]]:
    """Call `tell` for each event in a tab, in its present document and all later ones.

    Args:
        cdp: a DevTools session of the tab.

    Returns:
        a function that asks which elements are controls only because they listen (`listeners.py`), to be called now and
        then: an event on an element that listens since the last call has no line. It raises Playwright's errors.
    """
    contexts: dict[int, str] = {}
    """Our JavaScript contexts by their ids, with their frames, the newest last."""

    def on_context(event: dict) -> None:
        context = event["context"]
        if context["name"] == WORLD:
            contexts[context["id"]] = context["auxData"]["frameId"]

    def on_context_gone(context: int) -> None:
        contexts.pop(context, None)

    def on_call(call: dict) -> None:
        if call.get("name") != BINDING:
            return
        try:
            tell(PersonEvent.model_validate_json(call.get("payload", "")))
        except ValidationError as error:
            raise AssertionError(f"person_input.js and PersonEvent differ: {error}") from error

    cdp.on("Runtime.bindingCalled", on_call)
    cdp.on("Runtime.executionContextCreated", on_context)
    cdp.on("Runtime.executionContextDestroyed", lambda event: on_context_gone(event["executionContextId"]))
    cdp.on("Runtime.executionContextsCleared", lambda _: contexts.clear())
    await cdp.send("Runtime.enable")
    await cdp.send("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD})
    say = f"const say = (message) => globalThis[{json.dumps(BINDING)}]?.(JSON.stringify(message));"
    once = "if (globalThis.waymarkHears) return; globalThis.waymarkHears = true;"
    source = f"(() => {{{once}\n{list_sources()}\n{say}\n{_SCRIPT.read_text()}}})();"
    arguments = {"source": source, "worldName": WORLD, "runImmediately": True}
    await cdp.send("Page.enable")
    await cdp.send("Page.addScriptToEvaluateOnNewDocument", arguments)
    top = (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]

    async def hear_controls() -> None:
        context = next((context for context, frame in reversed(contexts.items()) if frame == top), None)
        if context is None:
            return
        collect = {"expression": "globalThis.waymarkPerson?.collect()", "contextId": context, "returnByValue": True}
        if (await cdp.send("Runtime.evaluate", collect))["result"].get("value"):
            await hear(cdp.send, context, "waymarkPerson")

    return hear_controls
