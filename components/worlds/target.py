"""What a step of an oracle acts on: a line of the element list, and why a page has no such line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from components.browser import Listed

LEVEL = 60
"""Two lines of one row of a table differ by at most this in `y`, of 1,000 for the height of the viewport."""
MAX_NAMED = 30
"""Lines that the reason names."""


@dataclass(frozen=True)
class Target:
    """A line of the element list.

    Attributes:
        role: such as `link`, `button`, `field`.
        name: a regular expression that the whole name matches, whatever its case; write `re.escape` around data.
        value: the same for the value.
        after: the first such element after the line whose name matches this, in reading order.
        number: which of the matches, from 0.
        level_with: only matches at the height of the line whose name matches this, the nearest one first. For rows of a
            table whose columns may be in any order.
    """

    role: str
    name: str = ".*"
    value: str = ".*"
    after: str = ""
    number: int = 0
    level_with: str = ""

    def among(self, listed: Sequence[Listed]) -> Listed | None:
        """The match in reading order; None if there is none."""
        lines = [*listed]
        if self.after:
            begins = next((at for at, line in enumerate(lines) if is_match(self.after, line.name)), None)
            if begins is None:
                return None
            lines = lines[begins + 1 :]
        matches = [
            line
            for line in lines
            if line.role == self.role and is_match(self.name, line.name) and is_match(self.value, line.value)
        ]
        if self.level_with:
            row = next((line for line in lines if is_match(self.level_with, line.name)), None)
            matches = [] if row is None else [line for line in matches if abs(line.y - row.y) <= LEVEL]
            matches.sort(key=lambda line: abs(line.y - row.y) if row else 0)
        return matches[self.number] if self.number < len(matches) else None


def is_match(pattern: str, text: str) -> bool:
    """Whether a target's pattern matches the whole of a text, whatever its case."""
    return re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def absence(target: Target, views: Sequence[Sequence[Listed]]) -> str:
    """Why no view of a page has a target, and which lines are there instead.

    Args:
        views: the elements for each place to which the page was scrolled.
    """
    lines = [line for view in views for line in view]
    for key, name in (("after", target.after), ("level_with", target.level_with)):
        if name and not any(is_match(name, line.name) for line in lines):
            return f"there is no line {_plain(name)} for `{key}`; lines there: {_listed(lines)}"
    is_any = target.name == ".*"
    words = target.role if is_any else f"{target.role} {_plain(target.name)}"
    named = [line for line in lines if is_match(target.name, line.name)]
    alike = [line for line in named if line.role == target.role]
    if not alike:
        of_role = [line for line in lines if line.role == target.role]
        return f"there is no {words}; lines there: {_listed((not is_any and named) or of_role or lines)}"
    if not any(is_match(target.value, line.value) for line in alike):
        values = ", ".join(dict.fromkeys(f'"{line.value}"' for line in alike))
        return f"there is no {words} with the value {_plain(target.value)}; values there: {values}"
    places = [f"after the line {_plain(target.after)}"] if target.after else []
    places += [f"at the height of the line {_plain(target.level_with)}"] if target.level_with else []
    places += [f"with the number {target.number}, counted from 0,"] if target.number else []
    return f"there is no {words} {' '.join(places)} in one view; lines there: {_listed(alike)}"


def _plain(pattern: str) -> str:
    """A pattern as people write it: `"Sign in"` for `Sign\\ in`, and `*` for any text."""
    name = re.sub(r"\\(\W|_)", r"\1", pattern.replace(".*", "*"))
    return f'"{name}"'


def _listed(lines: Sequence[Listed]) -> str:
    """The first of the different lines, by role and name."""
    names = [*dict.fromkeys(f'{line.role} "{line.name}"' for line in lines)]
    left = len(names) - MAX_NAMED
    return ", ".join([*names[:MAX_NAMED], *([f"and {left} more"] if left > 0 else [])]) or "none"
