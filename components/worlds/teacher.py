"""The interface of a scripted teacher, which decides each turn of one episode from the elements of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from components.records import ToolCall

if TYPE_CHECKING:
    from components.browser import Listed, Placed


@dataclass(frozen=True)
class TeacherTurn:
    """One response: a thought, its calls, and a note on the page for protocols with a memory."""

    thought: str
    calls: list[ToolCall]
    note: str = ""


class PointTeacher(Protocol):
    """A teacher that reads the element list and acts on points (0 to 1000 on both axes)."""

    acts_on: ClassVar[Literal["points"]]

    def next(self, elements: Sequence[Listed], /) -> TeacherTurn:
        """The response to the current page."""
        ...


class ElementTeacher(Protocol):
    """A teacher that reads the accessibility tree and acts on element ids, one call per turn."""

    acts_on: ClassVar[Literal["elements"]]

    def next(self, elements: Sequence[Placed], /) -> TeacherTurn:
        """The response to the current page."""
        ...


Teacher = PointTeacher | ElementTeacher
"""`policies.scripted` converts points to elements and back, so both kinds work with every protocol."""
