"""The oracle does a task step by step through the same tools as the agent: the teacher of a world with state.

In each turn it finds the target of its next step in the current element list, so the policy sees the same coordinates.
If the target is not in the list, it scrolls down to the end of the page and then looks from the top once more.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from components.browser import Listed
from components.records import ToolCall
from components.worlds import TeacherTurn

SCREENS = 12
"""The oracle scrolls down at most this often for one target."""
SCROLL = 0.6
"""Of a screen."""
PATIENCE = 1
"""Waits of a second for a target that is not there yet."""
GIVE_UP = "N/A"


@dataclass(frozen=True)
class Target:
    """A line of the element list.

    Attributes:
        role: such as `link`, `button`, `field`.
        name: a regular expression that the whole name matches, whatever its case; write `re.escape` around data.
        value: the same for the value.
        after: the first such element after the line whose name matches this, in reading order.
        number: which of the matches, from 0.
    """

    role: str
    name: str = ".*"
    value: str = ".*"
    after: str = ""
    number: int = 0

    def among(self, listed: Sequence[Listed]) -> Listed | None:
        """The match in reading order; None if there is none."""
        lines = [*listed]
        if self.after:
            begins = next((at for at, line in enumerate(lines) if _matches(self.after, line.name)), None)
            if begins is None:
                return None
            lines = lines[begins + 1 :]
        matches = [
            line
            for line in lines
            if line.role == self.role and _matches(self.name, line.name) and _matches(self.value, line.value)
        ]
        return matches[self.number] if self.number < len(matches) else None


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL) is not None


@dataclass(frozen=True)
class Step:
    """One action on a target, or without one.

    Attributes:
        calls: the tool calls, given the target's coordinates if there is one.
        words: the thought, in which `{target}` is the target in words.
    """

    calls: Callable[[dict[str, int]], Sequence[ToolCall]]
    words: str
    target: Target | None = None
    text: str = ""
    """What is written, for the mistakes of a noisy teacher."""


def _call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def click(role: str, name: str = ".*", *, value: str = ".*", after: str = "", number: int = 0) -> Step:
    """Click a target, such as `click("link", "Sign in")`."""
    target = Target(role, name, value, after, number)
    return Step(lambda point: [_call("click", **point)], "click {target}", target)


def fill(name: str, text: str, *, role: str = "field", value: str = ".*", after: str = "", number: int = 0) -> Step:
    """Click a field and write; what it holds is replaced."""
    target = Target(role, name, value, after, number)
    return Step(lambda point: [_call("click", **point), _call("write", text=text)], "write in {target}", target, text)


def choose(name: str, option: str, *, after: str = "", number: int = 0) -> Step:
    """Click a select and write the option's text."""
    target = Target("select", name, ".*", after, number)
    calls = lambda point: [_call("click", **point), _call("write", text=option)]  # noqa: E731
    return Step(calls, "choose in {target}", target, option)


def press(*keys: str) -> Step:
    """Press keys, or a hotkey."""
    return Step(lambda point: [_call("press_keys", keys=[*keys])], f"press {' '.join(keys)}")


def goto(url: str) -> Step:
    """Open an address."""
    return Step(lambda point: [_call("goto_url", url=url)], f"open {url}")


def back() -> Step:
    """Go back in the history."""
    return Step(lambda point: [_call("go_back")], "go back")


class Oracle:
    """The teacher of one episode; deterministic given its arguments.

    Args:
        steps: the actions, without `done`.
        answer: of `done`.
        rng: decides on the mistakes.
        noise: probability that the episode has a mistake in it: a wrong target, a wrong text, or an early end.
    """

    acts_on: ClassVar[Literal["points"]] = "points"

    def __init__(self, steps: Sequence[Step], answer: str, rng: random.Random, noise: float = 0.0) -> None:
        self._steps = [*steps]
        self._answer = answer
        self._rng = rng
        self._scrolls = self._waits = 0
        self._from_top = False
        self._last: list[Listed] = []
        """The elements before the last scrolling; the same ones afterwards mean that the page has ended."""
        self._wrong_at: int | None = None
        self._done = 0
        if self._steps and rng.random() < noise:
            self._err()

    def next(self, elements: Sequence[Listed], /) -> TeacherTurn:
        """The response to the current element list. After the last step it calls `done` in a turn of its own, because
        the last action's result is part of what a person looks at."""
        if not self._steps:
            return TeacherTurn("the task is done", [_call("done", answer=self._answer)])
        step = self._steps[0]
        if step.target is None:
            return self._advance(step, "", {})
        line = step.target.among(elements)
        if line is None:
            return self._search([*elements])
        if self._wrong_at == self._done:
            line = self._other(line, elements)
        return self._advance(step, f'{line.role} "{line.name}" {line.x} {line.y}', {"x": line.x, "y": line.y})

    def _advance(self, step: Step, target: str, point: dict[str, int]) -> TeacherTurn:
        self._steps.pop(0)
        self._done += 1
        self._scrolls = self._waits = 0
        self._from_top, self._last = False, []
        return TeacherTurn(step.words.format(target=target), [*step.calls(point)])

    def _search(self, elements: list[Listed]) -> TeacherTurn:
        if self._scrolls < SCREENS and elements != self._last:
            self._scrolls, self._last = self._scrolls + 1, elements
            return TeacherTurn("scroll down", [_call("scroll", direction="down", amount=SCROLL)])
        if not self._from_top:
            self._from_top, self._scrolls, self._last = True, 0, []
            return TeacherTurn("back to the top", [_call("scroll", direction="up", amount=50)])
        if self._waits < PATIENCE:
            self._waits, self._scrolls, self._from_top, self._last = self._waits + 1, 0, False, []
            return TeacherTurn("wait", [_call("wait", seconds=1)])
        target = self._steps[0].target
        assert target is not None
        return TeacherTurn(f"there is no {target.role} {target.name}", [_call("done", answer=GIVE_UP)])

    def _err(self) -> None:
        kinds = ["target", "early", *(["text"] if any(step.text for step in self._steps) else [])]
        match self._rng.choice(kinds):
            case "target":
                self._wrong_at = self._rng.choice(
                    [at for at, step in enumerate(self._steps) if step.target is not None] or [0]
                )
            case "early":
                self._steps.pop()
            case "text":
                at = self._rng.choice([at for at, step in enumerate(self._steps) if step.text])
                self._steps[at] = _with_text(self._steps[at], self._steps[at].text[:-1])

    def _other(self, line: Listed, elements: Sequence[Listed]) -> Listed:
        others = [other for other in elements if other.role == line.role and other != line]
        return self._rng.choice(others) if others else line


def _with_text(step: Step, text: str) -> Step:
    def calls(point: dict[str, int]) -> Sequence[ToolCall]:
        return [
            _call("write", text=text) if call.name == "write" and call.arguments.get("text") == step.text else call
            for call in step.calls(point)
        ]

    return replace(step, calls=calls, text=text)
