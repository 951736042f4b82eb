"""Counts the usable controls of a page, independently of the element list, and how many the list's points reach.

Controls are what the browser's accessibility tree calls so (`ROLES`), in all frames, if they are enabled; and elements
that take the focus or listen for clicks, if they neither hold such a control nor lie within one. A control is usable if
a point of it in the window hits it, its content or its label.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

SCRIPT = Path(__file__).with_name("controls.js").read_text()
ROLES = frozenset(
    """
    button link checkbox radio switch textbox searchbox combobox listbox option menuitem menuitemcheckbox menuitemradio
    tab slider spinbutton treeitem DisclosureTriangle ColorWell Date DateTime InputTime PopUpButton
    """.split()
)
CLICKS = frozenset({"click", "dblclick", "mousedown", "mouseup", "pointerdown"})


@dataclass
class Census:
    """Counts over the pages of a journey."""

    controls: int = 0
    reached: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    """Controls that no point reached, with the number of pages on which that was so."""

    @property
    def share(self) -> float:
        """The share of the usable controls that a point reached; 1 without controls."""
        return self.reached / self.controls if self.controls else 1.0

    async def count(self, page: Page, points: list[tuple[float, float]]) -> None:
        """Count the controls of a page. A page that is replaced meanwhile is not counted.

        Args:
            points: the points of the element list, in CSS pixels of the window.
        """
        cdp = await page.context.new_cdp_session(page)
        try:
            records = await _controls(cdp, points)
        except PlaywrightError:
            return
        finally:
            with contextlib.suppress(PlaywrightError):
                await cdp.detach()
        self.controls += len(records)
        self.reached += sum(record["reached"] for record in records)
        self.missing.update(record["name"] for record in records if not record["reached"])


async def _controls(cdp: CDPSession, points: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """The usable controls of all frames: name, place, and whether a point reached it."""
    await cdp.send("DOM.enable")
    trees = [
        await cdp.send("Accessibility.getFullAXTree", {"frameId": frame})
        for frame in _frames((await cdp.send("Page.getFrameTree"))["frameTree"])
    ]
    roles = [node["backendDOMNodeId"] for tree in trees for node in tree["nodes"] if _is_control(node)]
    plain = [node["backendDOMNodeId"] for tree in trees for node in tree["nodes"] if _takes_focus(node)]
    listening = [node for node in dict.fromkeys([*plain, *await _listening(cdp)]) if node not in {*roles}]
    by_context: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for kind, nodes in enumerate((roles, listening)):
        for node in await asyncio.gather(*(_resolve(cdp, node) for node in nodes)):
            if node is not None:  # an object's id is isolate.context.number
                by_context[node.split(".")[1]][kind].append(node)
    records: list[dict[str, Any]] = []
    for with_role, without_role in by_context.values():
        objects = [*with_role, *without_role]
        arguments = [{"value": points}, {"value": len(with_role)}, *({"objectId": node} for node in objects)]
        answer = await cdp.send(
            "Runtime.callFunctionOn",
            {
                "objectId": objects[0],
                "functionDeclaration": f"function (...all) {{ return ({SCRIPT})(...all); }}",
                "arguments": arguments,
                "returnByValue": True,
            },
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        records += [record for record in answer["result"]["value"] if record is not None]
    return records


def _frames(tree: dict[str, Any]) -> list[str]:
    """Ids of a frame and of all frames within it."""
    return [tree["frame"]["id"], *(frame for child in tree.get("childFrames", ()) for frame in _frames(child))]


def _is_control(node: dict[str, Any]) -> bool:
    """Whether a node of the accessibility tree is an enabled control."""
    if node["ignored"] or node["role"]["value"] not in ROLES or "backendDOMNodeId" not in node:
        return False
    states = _states(node)
    return not states.get("disabled") and not states.get("hidden")


def _takes_focus(node: dict[str, Any]) -> bool:
    """Whether a node without such a role takes the focus, as the rows of some lists do."""
    if node["ignored"] or node["role"]["value"] in {*ROLES, "RootWebArea", "Iframe"} or "backendDOMNodeId" not in node:
        return False
    states = _states(node)
    return bool(states.get("focusable")) and not states.get("disabled")


def _states(node: dict[str, Any]) -> dict[str, Any]:
    return {state["name"]: state["value"].get("value") for state in node.get("properties", ())}


async def _listening(cdp: CDPSession) -> list[int]:
    """Nodes of all frames with a listener for clicks."""
    document = await cdp.send("Runtime.evaluate", {"expression": "document"})
    arguments = {"objectId": document["result"]["objectId"], "depth": -1, "pierce": True}
    listeners = (await cdp.send("DOMDebugger.getEventListeners", arguments))["listeners"]
    nodes = {
        entry["backendNodeId"]: None for entry in listeners if entry["type"] in CLICKS and "backendNodeId" in entry
    }
    return [*nodes]


async def _resolve(cdp: CDPSession, node: int) -> str | None:
    """A node's object id; None if the node has gone."""
    try:
        return (await cdp.send("DOM.resolveNode", {"backendNodeId": node}))["object"].get("objectId")
    except PlaywrightError:
        return None
