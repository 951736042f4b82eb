"""How a recorded step names an element, so that the oracle finds it again on another copy and at another place.

By role and name if the page has one such element. Otherwise as the first one after the nearest line above whose name
only one element has, such as the button "Delete" after the link "Buy bread". Otherwise by its number among those in
view, which holds only where the page is scrolled alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.browser import Listed


@dataclass(frozen=True)
class Name:
    """An element as a step names it.

    Attributes:
        after: the name of a line above it.
        number: which of the elements with this role and name, after that line, from 0.
        depends_on_view: whether the number counts those in view only.
    """

    role: str
    name: str
    after: str = ""
    number: int = 0
    depends_on_view: bool = False

    @property
    def text(self) -> str | None:
        """`button Save`; None if more is needed to name it."""
        return f"{self.role} {self.name}" if self.name and not self.after and not self.number else None

    @property
    def place(self) -> dict[str, Any]:
        """The keys `after` and `number` of a step, as far as they are needed."""
        return {
            **({"after": self.after} if self.after else {}),
            **({"number": self.number} if self.number else {}),
        }


def name_of(lines: Sequence[Listed], at: int, counts: Mapping[str, int]) -> Name:
    """The name of the line `at`.

    Args:
        counts: how many elements of the whole page have a role and name, as `PersonEvent.counts`.
    """
    line = lines[at]
    alike = [index for index, other in enumerate(lines) if _is_alike(line, other)]
    of_page = sum(count for key, count in counts.items() if key.casefold() == f"{line.role} {line.name}".casefold())
    if max(of_page, len(alike)) <= 1:
        return Name(line.role, line.name)
    for index in range(at - 1, -1, -1):
        above = lines[index].name
        if above and _elements_named(above, counts, lines) == 1:
            return Name(line.role, line.name, above, sum(index < other < at for other in alike))
    return Name(line.role, line.name, number=alike.index(at), depends_on_view=True)


def _is_alike(line: Listed, other: Listed) -> bool:
    return other.role == line.role and other.name.casefold() == line.name.casefold()


def _elements_named(name: str, counts: Mapping[str, int], lines: Sequence[Listed]) -> int:
    """How many elements have a name, whatever their roles."""
    of_page = sum(count for key, count in counts.items() if key.partition(" ")[2].casefold() == name.casefold())
    return max(of_page, sum(line.name.casefold() == name.casefold() for line in lines))
