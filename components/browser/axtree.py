"""The page as a tree of accessible elements with ids: `observation.text: axtree` and `html`.

Playwright takes the snapshot: roles, names, states and boxes as a screen reader has them, with frames and shadow DOM.
It numbers the elements; an element keeps its number while the element, its role and its name stay the same.
`axtree_snapshot.parse` reads that snapshot. `simplify` merges adjacent static text and drops elements without content
(BrowserAgent, section 2.3). `axtree_rendering` writes the result as one line per element (`axtree`), or as markup
(`html`, WebAgent-R1, section 2.1).

Ids are numbers from 1 in the order in which elements of a document were first shown (`ElementIds`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

ACTIONABLE = frozenset(
    "button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio searchbox slider "
    "spinbutton switch tab textbox treeitem".split()
)
TRANSPARENT = frozenset({"generic", "none", "presentation", "group"})
"""Roles of wrappers that carry no content of their own."""


@dataclass
class Node:
    """An element of the accessibility tree."""

    role: str
    name: str = ""
    """Accessible name."""
    id: str | None = None
    """Playwright's reference, or the shown id after `ElementIds.number`; None for static text."""
    states: tuple[str, ...] = ()
    """In the snapshot's order; `focused` is the last."""
    text: str = ""
    """The element's own text, without its children's."""
    url: str = ""
    level: int | None = None
    box: tuple[float, float, float, float] | None = None
    """x, y, width, height in CSS pixels of its frame."""
    clickable: bool = False
    active: bool = False
    """Whether it is the active element of its document."""
    children: list[Node] = field(default_factory=list)

    @property
    def is_text(self) -> bool:
        """Whether it is static text."""
        return self.role == "text"

    def walk(self) -> Iterator[Node]:
        """The node and all its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class NotShown:
    """What a tree of the elements in view lacks."""

    elements: int = 0
    """Number of elements in view that are over the budget."""
    frames: int = 0
    """Number of frames in view that did not answer."""
    above: float = 0.0
    """Screens of the page above the view."""
    below: float = 0.0
    """Screens of the page below the view."""


NOTHING = NotShown()


@dataclass(frozen=True)
class Placed:
    """A shown element and its place: `box` is left, top, right, bottom on the 0-1000 scale of both axes."""

    id: str
    role: str
    name: str
    text: str
    box: tuple[float, float, float, float]

    @property
    def middle(self) -> tuple[int, int]:
        """The centre of the box (x, y)."""
        left, top, right, bottom = self.box
        return round((left + right) / 2), round((top + bottom) / 2)

    def holds(self, x: float, y: float) -> bool:
        """Whether the box contains a point."""
        left, top, right, bottom = self.box
        return left <= x <= right and top <= y <= bottom


class ElementIds:
    """Short ids for the elements of one tab. An element keeps its id until another document is shown.

    Accepted: Playwright's references begin anew in each document of a frame, so a frame that shows another document may
    give ids of the former one to other elements.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}
        self._references: dict[str, str] = {}
        self._document: object = None

    def number(self, nodes: list[Node], document: object) -> list[Node]:
        """Copies of the nodes with shown ids. `document` identifies the tab's current document."""
        if document != self._document:
            self._document = document
            self._numbers, self._references = {}, {}
        return [self._numbered(node) for node in nodes]

    def reference(self, element: str) -> str | None:
        """Playwright's reference for a shown id (`12` or `[12]`); None if no element was shown with this id."""
        return self._references.get(element.strip().strip("[]").strip())

    def _numbered(self, node: Node) -> Node:
        number = None
        if node.id is not None:
            number = self._numbers.setdefault(node.id, str(len(self._numbers) + 1))
            self._references[number] = node.id
        return replace(node, id=number, children=[self._numbered(child) for child in node.children])


def simplify(nodes: list[Node], viewport: tuple[int, int] | None = None) -> list[Node]:
    """The tree without wrappers that carry no content and without elements of no size.

    Adjacent static texts become one text. A text that only repeats the name of its parent is dropped.

    Args:
        viewport: width and height in CSS pixels; elements outside of it are dropped.
    """
    return _merged([kept for node in nodes for kept in _simplified(node, viewport, (0.0, 0.0), True)])


def placed(nodes: list[Node], viewport: tuple[int, int]) -> list[Placed]:
    """The numbered elements that have a box, in the order of the tree, without those in frames."""
    width, height = viewport
    elements = []
    for root in nodes:
        for node in [] if root.role == "iframe" else root.walk():
            if node.id is not None and node.box is not None:
                x, y, w, h = node.box
                box = (x / width * 1000, y / height * 1000, (x + w) / width * 1000, (y + h) / height * 1000)
                texts = [node.text, *(child.text for child in node.children if child.is_text)]
                elements.append(Placed(node.id, node.role, node.name, " ".join(filter(None, texts)), box))
    return elements


def _simplified(
    node: Node, viewport: tuple[int, int] | None, offset: tuple[float, float], in_visible: bool
) -> list[Node]:
    if node.is_text:
        return [node] if node.text else []
    inside = offset
    if node.role == "iframe" and node.box is not None:
        inside = (offset[0] + node.box[0], offset[1] + node.box[1])
    visible = viewport is None or _is_visible(node, viewport, offset)
    around = visible
    if node.role in ("option", "group") and node.box is not None and node.box[2:] == (0, 0):
        around = in_visible  # of a closed select
        visible = around and node.role == "option"
    children = _merged([kept for child in node.children for kept in _simplified(child, viewport, inside, around)])
    if not visible:
        return [child for child in children if not child.is_text]  # an element may stick out of its parent
    if len(children) == 1 and children[0].is_text and children[0].text == node.name:
        children = []
    if node.role in TRANSPARENT and not node.name and not node.clickable:
        own = [Node("text", text=node.text)] if node.text else []
        return [*own, *children]
    if node.id is None and node.role != "option":
        return [replace(node, children=children)] if node.name or node.text or children else children
    empty = not (node.name or node.text or children)
    return [] if empty and node.role not in ACTIONABLE and not node.clickable else [replace(node, children=children)]


def _is_visible(node: Node, viewport: tuple[int, int], offset: tuple[float, float]) -> bool:
    """Whether a part of the node is in the viewport; `offset` is its frame's place."""
    if node.box is None:
        return True
    x, y, width, height = node.box
    x, y = x + offset[0], y + offset[1]
    return width > 0 and height > 0 and x < viewport[0] and y < viewport[1] and x + width > 0 and y + height > 0


def _merged(nodes: list[Node]) -> list[Node]:
    out: list[Node] = []
    for node in nodes:
        if node.is_text and out and out[-1].is_text:
            out[-1] = replace(out[-1], text=f"{out[-1].text} {node.text}")
        else:
            out.append(node)
    return out
