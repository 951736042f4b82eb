"""The data of a journey: calls of the 13 tools, and the lines of the element list at whose points they act."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from components.browser import Listed


@dataclass(frozen=True)
class Line:
    """A line of the element list, as a user would pick it out.

    `role`, `name` and `value` are regular expressions for the whole of each; the case of letters does not count, since
    a page may show them in capitals. Of several lines that match, `beside` takes the one whose point is nearest to that
    line's point, and `nth` counts them in reading order.
    """

    role: str
    name: str = ".*"
    value: str = ".*"
    beside: Line | None = None
    nth: int = 0

    def find(self, lines: Sequence[Listed]) -> Listed | None:
        """The line among those of an observation; None if it is not there."""
        matches = [line for line in lines if self._matches(line)]
        if self.beside is not None:
            anchor = self.beside.find(lines)
            if anchor is None:
                return None
            matches.sort(key=lambda line: (line.x - anchor.x) ** 2 + (line.y - anchor.y) ** 2)
        return matches[self.nth] if self.nth < len(matches) else None

    def _matches(self, line: Listed) -> bool:
        pairs = ((self.role, line.role), (self.name, line.name), (self.value, line.value))
        return all(re.fullmatch(pattern, text, re.IGNORECASE) for pattern, text in pairs)


@dataclass(frozen=True)
class Step:
    """One call, and what must be true after it."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    at: Line | None = None
    """The call acts at this line's point."""
    to: Line | None = None
    """A drag ends at this line's point."""
    until: Line | None = None
    """The call is repeated until this line is in the element list."""
    feedback: str = ""
    """A regular expression that the feedback must contain."""
    sees: Line | None = None
    """A line that the element list must hold afterwards, within the user's patience."""
    is_visible: bool = True
    """Whether the call has an effect that a person sees, so that the feedback may not deny it."""

    def then(self, **changes: Any) -> Step:
        """The same step with other expectations."""
        return replace(self, **changes)


def click(
    role: str, name: str = ".*", *, value: str = ".*", beside: Line | None = None, nth: int = 0, **more: Any
) -> Step:
    """A click at a line's point; `button`, `click_type` and `modifiers` as in the tool, the others as in `Step`."""
    arguments: dict[str, Any] = {key: more.pop(key) for key in ("button", "click_type", "modifiers") if key in more}
    return Step("click", arguments, Line(role, name, value, beside, nth), **more)


def hover(line: Line, **more: Any) -> Step:
    """A move of the cursor to a line's point."""
    return Step("hover", at=line, **more)


def drag(start: Line, end: Line, **more: Any) -> Step:
    """A drag from one line's point to another's."""
    return Step("drag", at=start, to=end, **more)


def write(text: str, *, clear: bool = True, **more: Any) -> Step:
    """Text for the focused field, in place of what it holds or, without `clear`, behind it."""
    return Step("write", {"text": text} if clear else {"text": text, "clear": False}, **more)


def press(*keys: str, **more: Any) -> Step:
    """Keys, or a hotkey."""
    return Step("press_keys", {"keys": [*keys]}, **more)


def scroll_to(line: Line, at: Line | None = None, direction: str = "down", amount: float = 0.4) -> Step:
    """Scrolls until a line is in the list; `at` is the line over which the wheel turns."""
    return Step("scroll", {"direction": direction, "amount": amount}, at, until=line)


def goto(path: str, **more: Any) -> Step:
    """Opens a path of the application."""
    return Step("goto_url", {"url": path}, **more)


def new_tab(**more: Any) -> Step:
    """Opens a blank tab."""
    return Step("new_tab", **more)


def switch_tab(index: int, **more: Any) -> Step:
    """Shows another tab."""
    return Step("switch_tab", {"index": index}, **more)


def close_tab(**more: Any) -> Step:
    """Closes the active tab."""
    return Step("close_tab", **more)


def go_back(**more: Any) -> Step:
    """Goes back in the history."""
    return Step("go_back", **more)


def wait(seconds: float) -> Step:
    """Waits, where the page says that it works on something."""
    return Step("wait", {"seconds": seconds})


def done(answer: str) -> Step:
    """Ends the journey with an answer."""
    return Step("done", {"answer": answer})
