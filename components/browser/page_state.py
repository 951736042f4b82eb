"""What `probe.js` answers, as typed records. Every value that it returns is parsed here and nowhere else.

JSON drops a property whose value is `undefined`, and inside of a frame its own scripts can replace properties. So a
field that JavaScript may leave out has a default here, and text and flags accept any value. A missing field without a
default is a bug of the harness, and the parse raises `pydantic.ValidationError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict

from components.browser.feedback import Element


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


Text = Annotated[str, BeforeValidator(_text)]
"""Text of the page; empty for anything else."""
Flag = Annotated[bool, BeforeValidator(bool)]
"""The truth value of what JavaScript returned; `undefined` and `null` are false."""


class Answer(BaseModel):
    """Base of the answers. Fields that this version does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


class Discoveries(Answer):
    """What every answer says besides: how many elements DevTools was not asked about yet."""

    suspects: int
    """Number of elements that may hold a closed shadow root (`closed_roots.js`)."""
    drawn: int
    """Number of elements that may be controls because they listen (`listeners.js`)."""


class Described(Answer):
    """An element as `describe` names it."""

    tag: Text
    role: Text = ""
    name: Text = ""

    @property
    def element(self) -> Element:
        """The element as feedback names it."""
        return Element(self.tag, self.role, self.name)


class Refusal(Described):
    """A field that kept the browser from sending a form."""

    message: Text
    """What the browser says is wrong with it."""


class Focus(Described):
    """The focused element."""

    editable: Flag = False
    """Whether it takes text now."""
    frozen: Flag = False
    """Whether it is a field that is disabled or read-only."""
    select: Flag = False
    """Whether it is a `<select>`."""
    multiple: Flag = False
    """Whether several options of the `<select>` can be chosen."""
    expanded: Flag = False
    """Whether the list of the `<select>` is open. Chromium draws it in another window, which no screenshot shows."""
    options: tuple[Text, ...] = ()
    """The labels of the first options of a `<select>`."""
    options_left: int = 0
    """Number of further options."""
    picked: Text = ""
    """The type of an `<input>` whose value people pick, such as `date` (`field_values`); empty for others."""
    file: Flag = False
    """Whether it is an `<input>` for files."""
    editor: Flag = False
    """Whether the page edits the text: an editable element, or a hidden field that takes an editor's keys."""
    code: Flag = False
    """Whether it is an editor of source code, which may complete and indent what is typed."""
    lines: Flag = False
    """Whether the field takes more than one line."""
    sends: Flag = False
    """Whether the page says that Enter sends the text (`enterkeyhint`)."""
    value: str | None = None
    """The field's content; None for an element that takes no text, and for a hidden field."""
    secret: Flag = False
    """Whether it is a password field."""


class Focused(Answer):
    """The answer to `focus`, `hold`, `clear` and `written`."""

    focus: Focus | None = None
    """The focused element, before `clear`; None if the document itself has the focus."""


class NearOptions(Answer):
    """What options a `<select>` has, for a text that means none of them or several."""

    names: tuple[Text, ...] = ()
    """Labels, with the group where labels repeat: all if they are short, or else those nearest to the text."""
    total: int = 0
    """Number of options that can be chosen."""
    several: Flag = False
    """Whether the text means several options, in different groups."""


class Chosen(Answer):
    """The answer to `choose`."""

    missing: tuple[Text, ...] = ()
    """The texts that are no option of the focused `<select>`. If there are any, nothing was chosen."""
    near: NearOptions = NearOptions()
    """The options near to the first of them."""
    requested: tuple[Text, ...] = ()
    """The labels of the options that were selected."""
    selected: tuple[Text, ...] | None = None
    """Those that are selected after the page has heard of it; None if the `<select>` has left the page."""


class Pasted(Answer):
    """The answer to `paste`."""

    taken: Flag
    """Whether a listener of the page took the text; if not, the browser would insert it."""


class ValueSet(Answer):
    """The answer to `set`."""

    value: Text
    """The value of the focused field afterwards."""


class Aim(Answer):
    """The answer to `aim`: where the wheel turns, and how far, in CSS pixels."""

    x: float
    y: float
    dx: float
    dy: float


class Turned(Answer):
    """What a turn of the wheel did."""

    moved: Flag
    """Whether a scroll position changed."""
    taken: Flag
    """Whether a listener of the page kept the wheel."""
    opaque: Flag
    """Whether it turned over a frame whose scroll positions cannot be read."""
    stepped: tuple[Text, Text] | None = None
    """The values before and after of a number field that it changed, because the field had the focus."""


class Area(Answer):
    """A rectangle of the page, in CSS pixels."""

    x: float
    y: float
    width: float
    height: float


class Mark(Answer):
    """The state before a call."""

    url: Text
    changes: int
    """Number of changes of the document so far."""
    effects: int
    """Number of those changes that may be visible."""
    target: Described | None = None
    """The element at the point of the call."""
    opaque_frames: int = 0
    """Number of frames whose documents the probe cannot read: those in view, and one that has the focus."""
    canvases: list[Area] = []
    """The canvases in view."""
    suspects: int = 0
    """Number of elements that may hold a closed shadow root and were not asked about, because they are too many."""
    crowded: Flag = False
    """Whether the page has more elements than are compared."""

    @property
    def has_opaque_parts(self) -> bool:
        """Whether there is something that the probe of this document cannot watch."""
        return bool(self.opaque_frames or self.canvases or self.suspects or self.crowded)


Box = tuple[float, float, float, float]
"""Left, top, right and bottom in CSS pixels."""


class Listed(Answer):
    """The answer to `elements`."""

    elements: Text


class ListItem(Answer):
    """A line of the element list of a frame."""

    words: tuple[Text, ...]
    place: tuple[float, float]
    """In CSS pixels of the frame's viewport, as are `top` and `bottom`."""
    top: float
    bottom: float


class ScrollArea(Answer):
    """An area of a frame that can be scrolled."""

    more: Text
    place: tuple[float, float]
    size: float


class FramePart(Answer):
    """The answer to `framePart`: what a frame shows."""

    items: tuple[ListItem, ...] = ()
    areas: tuple[ScrollArea, ...] = ()
    frames: tuple[Box, ...] = ()
    """The visible parts of the viewports of frames of another origin in it."""
    suspects: int = 0
    """As in `Mark`."""
    drawn: int = 0
    """Number of elements that may be controls because they listen (`listeners.js`)."""


@dataclass(frozen=True)
class StateExtras:
    """What a state tells besides what every state tells."""

    elements: bool = False
    """The element list."""
    instruction: str | None = None
    """CSS selector of what the element list leaves out."""
    details: bool = False
    """Whether the list has details (`element_list`)."""
    owners: bool = False
    """Whether it has owners (`element_list`)."""
    listeners: bool = False
    """Whether it has the controls that only a listener makes (`listeners.py`)."""
    tree: bool = False
    """What an accessibility tree does not tell: `PageState.beyond` and `PageState.editors`."""


NOTHING_ELSE = StateExtras()


class PageState(Focused):
    """The state of a page once it is quiet."""

    url: Text
    title: Text = ""
    toggled: Text = ""
    """`checked` or `unchecked` if the marked element is a checkbox or a radio button; else empty."""
    field: Flag = False
    """Whether a writable field got the focus since the mark."""
    has_focus: Flag = False
    """Whether the document or a frame in it has the focus. A document keeps its focused element when it loses it."""
    changed: Flag = False
    """Whether something visible changed since the mark."""
    unwatched: tuple[str, ...] = ()
    """What was in view and may have changed without being watched; empty if something else changed."""
    loading: int = 0
    """Number of requests of the call that were not answered when the longest wait was over."""
    wheel: Turned | None = None
    """What the wheel did since the mark; None if it was not turned."""
    refusal: Refusal | None = None
    """Why a form was not sent since the mark; None if no field kept it."""
    calm: float = 0.0
    """Milliseconds since the last visible change."""
    elements: Text | None = None
    """The element list; None if it was not wanted."""
    frames: tuple[Box, ...] = ()
    """The visible parts of the viewports of frames of another origin, if the list was wanted."""
    beyond: tuple[float, float] = (0.0, 0.0)
    """Screens of the page above and below the view, if a tree was wanted."""
    editors: Flag = False
    """Whether there may be editors of whose text a tree lacks a part, if a tree was wanted."""
