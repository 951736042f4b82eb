"""Reads Playwright's snapshot of the accessibility tree."""

from __future__ import annotations

import json
import re

from components.browser.axtree import ACTIONABLE, Node

_LINE = re.compile(r"^(?P<indent> *)- (?P<rest>.*)$")
_KEY = re.compile(
    r'^(?P<role>[a-z][\w-]*)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<marks>(?: \[[^\]]*\])*)(?:: ?(?P<text>.*))?$'
)
_MARK = re.compile(r"\[([^\]=]*)(?:=([^\]]*))?\]")
_HIDDEN_MARKS = {"ref", "box", "cursor", "active", "level"}


def parse(snapshot: str) -> list[Node]:
    """The elements of a snapshot in Playwright's `ai` mode with boxes. A line that is no element is static text."""
    roots: list[Node] = []
    open_nodes: list[tuple[int, Node]] = []
    for line in snapshot.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        depth, rest = len(match["indent"]), _unquoted(match["rest"])
        while open_nodes and open_nodes[-1][0] >= depth:
            open_nodes.pop()
        above = open_nodes[-1][1] if open_nodes else None
        if rest.startswith("/"):  # a property of the element above: /url, /placeholder
            key, _, value = rest.partition(": ")
            if above is not None and key == "/url":
                above.url = _scalar(value)
            continue
        node = _node(rest)
        (above.children if above is not None else roots).append(node)
        open_nodes.append((depth, node))
    _say_focus(roots)
    return roots


def _say_focus(nodes: list[Node]) -> None:
    """Add the state `focused` to the element that has the focus. A frame keeps its own active element when the focus
    goes elsewhere, so elements in a frame count only if the frame is active."""
    for node in nodes:
        if node.role != "iframe":
            if node.active and (node.role in ACTIONABLE or node.clickable):
                node.states = (*node.states, "focused")
            _say_focus(node.children)
        elif node.active:
            _say_focus(node.children)


def _unquoted(rest: str) -> str:
    """The element without YAML's quotes, which stand around names with YAML syntax: `'button "a: b"': text`."""
    if not rest.startswith("'"):
        return rest
    end = 1
    while end < len(rest):
        if rest[end] == "'":
            if rest[end + 1 : end + 2] != "'":
                break
            end += 1
        end += 1
    return rest[1:end].replace("''", "'") + rest[end + 1 :]


def _node(rest: str) -> Node:
    match = _KEY.match(rest)
    if match is None:
        return Node("text", text=_scalar(rest))
    marks = dict(_MARK.findall(match["marks"] or ""))
    text = _scalar(match["text"] or "")
    if match["role"] == "text":
        return Node("text", text=text)
    return Node(
        role=match["role"],
        name=_scalar(match["name"] or ""),
        id=marks.get("ref") or None,
        states=tuple(
            key if not value else f"{key}={value}" for key, value in marks.items() if key not in _HIDDEN_MARKS
        ),
        text=text,
        level=int(marks["level"]) if marks.get("level", "").isdigit() else None,
        box=_box(marks.get("box")),
        clickable=marks.get("cursor") == "pointer",
        active="active" in marks,
    )


def _scalar(value: str) -> str:
    """The value of a YAML scalar as Playwright writes it: plain, or in double quotes with JSON's escapes."""
    value = value.strip()
    if value.startswith('"') and value.endswith('"') and len(value) > 1:
        try:
            return str(json.loads(value.replace("\\x", "\\u00")))
        except ValueError:
            return value[1:-1]
    return value


def _box(value: str | None) -> tuple[float, float, float, float] | None:
    numbers = (value or "").split(",")
    if len(numbers) != 4:
        return None
    x, y, width, height = map(float, numbers)
    return x, y, width, height
