"""The element list: the elements that a user sees and can act on, as text (`observation.text: elements`).

The rules are in `elements.js` and `controls.js`. `composed.js` is the page that they see, through shadow roots and
frames, `survey.js` finds what is in view, and `hits.js` where to click it. All reading of pages goes through `script`:
each read is one round trip. Only frames of another origin are asked one by one (`foreign_frames`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import compile as pattern
from re import sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Page

_HERE = Path(__file__).parent
_LIST = (
    "image_maps.js",
    "boxless.js",
    "closed_roots.js",
    "composed.js",
    "survey.js",
    "options.js",
    "controls.js",
    "listeners.js",
    "owners.js",
    "hits.js",
    "elements.js",
)
_FIELDS = ("unseen_fields.js", "fields.js", "page_changes.js", "waiting.js", "wheel.js")
_PROBE = (*_LIST, *_FIELDS, "probe.js")
_LINE = pattern(
    r'^- (?P<role>[a-z]+)(?: "(?P<name>[^"]*)")?(?: of "(?P<owner>[^"]*)")?'
    r'(?: value "(?P<value>[^"]*)")?(?: options "(?P<options>[^"]*)")?'
    r"(?P<words>(?: [a-z]+)*) (?P<x>\d+) (?P<y>\d+)$"
)
MAX_NAME = 60
"""Characters of a name, as JavaScript counts them: units of UTF-16. A longer one is cut to `CUT_NAME` and `...`."""
CUT_NAME = 57


@dataclass(frozen=True)
class Listed:
    """One line of an element list; x and y are on the 0-1000 scale."""

    role: str
    name: str
    value: str
    states: frozenset[str]
    x: int
    y: int
    options: tuple[str, ...] = ()
    """Of a select, in a list with details: the first, and how many are left."""
    owner: str = ""
    """In a list with owners: what it belongs to, where others on the page have the same role and name."""

    @property
    def words(self) -> str:
        """What a thought calls it: `link "Remove" of "Deck boots" 538 992`."""
        owner = f' of "{self.owner}"' if self.owner else ""
        return f'{self.role} "{self.name}"{owner} {self.x} {self.y}'


async def element_list(page: Page, instruction: str | None = None, details: bool = False, owners: bool = False) -> str:
    """The visible, actionable elements of any page, in reading order, one per line: `- button "cancel" 512 86`.

    Args:
        instruction: CSS selector of the part of the page that states the task; it is left out.
        details: list the options of selects, the kinds of fields such as dates, and, in brackets, how far the page and
            its scrolling areas continue.
        owners: say what a control belongs to where others in its document have the same role and name:
            `- link "Remove" of "Deck boots" 538 992`.
    """
    arguments = json.dumps({"instruction": instruction, "details": details, "owners": owners})
    return await page.evaluate(f"(() => {{{_sources(*_LIST)}\nreturn elementList({arguments});}})()")


def parse_elements(text: str) -> list[Listed]:
    """The lines of an element list as records. Lines in brackets are no elements and are left out.

    Raises:
        ValueError: a line is not one of an element list.
    """
    elements = []
    for line in text.split("\n") if text else ():  # a name may have other separators
        if line.startswith("("):
            continue
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f"not a line of an element list: {line!r}")
        words, name = match["words"].split(), match["name"] or ""
        if match["role"] == "box":  # a colour, without quotes
            name = words.pop(0)
        options = tuple(match["options"].split(" | ")) if match["options"] else ()
        place = int(match["x"]), int(match["y"])
        elements.append(
            Listed(match["role"], name, match["value"] or "", frozenset(words), *place, options, match["owner"] or "")
        )
    return elements


def written_name(text: str, is_cut: bool = True) -> str:
    """A name or value as a line of an element list writes it between quotes, such as `Wrench 1/2'` for `Wrench  1/2"`.

    It is what `quoted` and `clean` of `controls.js` make of a text.

    Args:
        is_cut: whether a long one is cut.
    """
    shown = sub(r"\s+", " ", text.replace("\u200b", "")).strip().replace('"', "'")
    units = shown.encode("utf-16-le", "surrogatepass")
    if not is_cut or len(units) <= 2 * MAX_NAME:
        return shown
    begin = units[: 2 * CUT_NAME].decode("utf-16-le", "surrogatepass")
    return f"{begin.encode(errors='replace').decode()}..."  # records have no half of a character


def script(request: dict, keep: bool = False) -> str:
    """The JavaScript expression (a promise) that answers one request; see `probe.js`.

    Args:
        keep: store the probe's functions in the JavaScript world, so that `question` suffices from then on. Use it only
            in our isolated world, because the page would see them in its own.
    """
    kept = "globalThis.waymark = answer;" if keep else ""
    source = _sources(*_PROBE)
    return f"(async () => {{{source}\n{kept}return answer({json.dumps(request)});}})()"


def question(request: dict) -> str:
    """The same expression, much shorter, for a world that has evaluated `script(…, keep=True)`."""
    return f"waymark({json.dumps(request)})"


def list_sources() -> str:
    """The JavaScript functions of the element list, of focused fields and of scrolling, for a script of our own."""
    return _sources(*_LIST, *_FIELDS)


@cache
def _sources(*names: str) -> str:
    return "\n".join((_HERE / name).read_text() for name in names)
