"""The element list: what a user sees and can act on, as text (`observation.text: elements`).

The rules are in `elements.js`, and everything that asks a page something goes through `script`, so that a page is asked
in one round trip.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import compile as pattern

from playwright.async_api import Page

_HERE = Path(__file__).parent
_LINE = pattern(
    r'^- (?P<role>[a-z]+)(?: "(?P<name>[^"]*)")?(?: value "(?P<value>[^"]*)")?'
    r"(?P<words>(?: [a-z]+)*) (?P<x>\d+) (?P<y>\d+)$"
)


@dataclass(frozen=True)
class Listed:
    """One line of an element list; x, y in 0-1000."""

    role: str
    name: str
    value: str
    states: frozenset[str]
    x: int
    y: int


async def element_list(page: Page, instruction: str | None = None) -> str:
    """The visible, actionable elements of any page, in reading order, one per line: `- button "cancel" 512 86`.

    Args:
        instruction: CSS selector of a part of the page that only tells what to do and is left out.
    """
    return await page.evaluate(
        f"(() => {{{_source('elements.js')}\nreturn elementList({json.dumps(instruction)});}})()"
    )


def parse_elements(text: str) -> list[Listed]:
    """The lines of an element list as records."""
    found = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f"not a line of an element list: {line!r}")
        words, name = match["words"].split(), match["name"] or ""
        if match["role"] == "box":  # a colour, without quotes
            name = words.pop(0)
        found.append(
            Listed(match["role"], name, match["value"] or "", frozenset(words), int(match["x"]), int(match["y"]))
        )
    return found


def script(request: dict, keep: bool = False) -> str:
    """The JavaScript expression (a promise) that answers one request; see `probe.js`.

    Args:
        keep: the document's world keeps what it takes to answer, and `question` will do from then on. Not in the
            page's own world, which would see it.
    """
    kept = "globalThis.waymark = answer;" if keep else ""
    source = f"{_source('elements.js')}\n{_source('probe.js')}"
    return f"(async () => {{{source}\n{kept}return answer({json.dumps(request)});}})()"


def question(request: dict) -> str:
    """The same expression, much shorter, for a world that has been sent `script(…, keep=True)`."""
    return f"waymark({json.dumps(request)})"


@cache
def _source(name: str) -> str:
    return (_HERE / name).read_text()
