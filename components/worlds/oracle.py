"""The oracle does a task step by step through the same tools as the agent: the teacher of a world with state.

In each turn it finds the target of its next step in the current element list, so the policy sees the same coordinates.
If the target is not in the list, it scrolls down to the end of the page and then looks from the top once more.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import ClassVar, Literal

from components.browser import Listed
from components.records import ToolCall
from components.worlds import TeacherTurn
from components.worlds.target import Target

SCREENS = 12
"""The oracle scrolls down at most this often for one target."""
SCROLL = 0.6
"""Of a screen."""
PATIENCE = 1
"""Waits of a second for a target that is not there yet."""
GIVE_UP = "N/A"
_COMMON = frozenset("a an and as at be by for from in into is it of on or so that the this to with you".split())
"""Words that alone quote nothing."""


def quoted(intent: str, name: str) -> str:
    """The longest run of words that the name of an element has from the intent, as the intent writes it.

    Of several runs of one length, the one that comes first in the name. Case and punctuation do not count. Empty if the
    two share no word but such as "the" and "to".
    """
    intent_words, name_words = ([*re.finditer(r"[^\W_]+", text)] for text in (intent, name))
    best: tuple[int, str] = (0, "")
    for begin in range(len(name_words)):
        for at in range(len(intent_words)):
            length = 0
            while (
                begin + length < len(name_words)
                and at + length < len(intent_words)
                and name_words[begin + length][0].lower() == intent_words[at + length][0].lower()
            ):
                length += 1
            run = intent_words[at : at + length]
            if length > best[0] and any(word[0].lower() not in _COMMON for word in run):
                best = length, intent[run[0].start() : run[-1].end()]
    return best[1]


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
    is_data: bool = False
    """Whether the text is data of the site, which it shows as they are in every language."""
    is_anywhere: bool = False
    """Whether it can be taken from any page of the site, such as a search."""

    def with_text(self, text: str) -> Step:
        """The step that writes another text."""

        def calls(point: dict[str, int]) -> Sequence[ToolCall]:
            return [
                _call("write", text=text) if call.name == "write" and call.arguments.get("text") == self.text else call
                for call in self.calls(point)
            ]

        return replace(self, calls=calls, text=text)


@dataclass(frozen=True)
class Interruption:
    """A control that is clicked before the next step as long as it is there, such as the one that closes a banner.

    Attributes:
        beside: another line that is there only with it; None if its own name is enough.
        words: the thought, before the control in words.
    """

    target: Target
    beside: Target | None = None
    words: str = "close what covers the page"

    def among(self, elements: Sequence[Listed]) -> Listed | None:
        """The control's line; None if it is not there."""
        if self.beside is not None and self.beside.among(elements) is None:
            return None
        return self.target.among(elements)


@dataclass(frozen=True)
class Detour:
    """Steps that are taken once, before the next one, where the page has all of `signs` and not the next one's target.

    Attributes:
        at_end: whether they are also taken after the last step.
        interrupts: whether they are also taken where the page has the next step's target.
        leads_away: whether the site then shows another page than the one that the last step led to. The oracle goes on
            from the last step that `is_anywhere`.
    """

    steps: Sequence[Step]
    signs: Sequence[Target]
    at_end: bool = False
    interrupts: bool = False
    leads_away: bool = False

    def is_due(self, elements: Sequence[Listed]) -> bool:
        """Whether the page has all of the signs."""
        return all(sign.among(elements) is not None for sign in self.signs)


def _call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def click(
    role: str,
    name: str = ".*",
    *,
    value: str = ".*",
    after: str = "",
    number: int = 0,
    level_with: str = "",
    options: Mapping[str, object] | None = None,
) -> Step:
    """Click a target, such as `click("link", "Sign in")`.

    Args:
        options: further arguments of the tool: `button`, `click_type`, `modifiers`.
    """
    target = Target(role, name, value, after, number, level_with)
    return Step(lambda point: [_call("click", **point, **(options or {}))], "click {target}", target)


def fill(name: str, text: str, *, role: str = "field", value: str = ".*", after: str = "", number: int = 0) -> Step:
    """Click a field and write; what it holds is replaced."""
    target = Target(role, name, value, after, number)
    return Step(lambda point: [_call("click", **point), _call("write", text=text)], "write in {target}", target, text)


def choose(name: str, option: str, *, after: str = "", number: int = 0, is_data: bool = False) -> Step:
    """Click a select and write the option's text.

    Args:
        is_data: as in `Step`, for options that people have named.
    """
    target = Target("select", name, ".*", after, number)
    calls = lambda point: [_call("click", **point), _call("write", text=option)]  # noqa: E731
    return Step(calls, "choose in {target}", target, option, is_data)


def anywhere(step: Step) -> Step:
    """The step, which can be taken from any page of the site."""
    return replace(step, is_anywhere=True)


def press(*keys: str) -> Step:
    """Press keys, or a hotkey."""
    return Step(lambda point: [_call("press_keys", keys=[*keys])], f"press {' '.join(keys)}")


def goto(url: str) -> Step:
    """Open an address."""
    return anywhere(Step(lambda point: [_call("goto_url", url=url)], f"open {url}"))


def back() -> Step:
    """Go back in the history."""
    return Step(lambda point: [_call("go_back")], "go back")


def scroll(direction: str, amount: float, over: Target | None = None) -> Step:
    """Scroll the page, or the area in which a target is, by a part of the viewport or of the area.

    An oracle looks for targets along the page by itself. This is for areas, and for targets that only a number tells.
    """
    words = f"scroll {direction}" + (" at {target}" if over is not None else "")
    return Step(lambda point: [_call("scroll", direction=direction, amount=amount, **point)], words, over)


def switch_tab(index: int) -> Step:
    """Show the tab with this number, from 0."""
    return Step(lambda point: [_call("switch_tab", index=index)], f"show tab {index}")


def new_tab() -> Step:
    """Open a blank tab."""
    return Step(lambda point: [_call("new_tab")], "open a tab")


def close_tab() -> Step:
    """Close the tab that is shown."""
    return Step(lambda point: [_call("close_tab")], "close the tab")


class Oracle:
    """The teacher of one episode; deterministic given its arguments.

    Args:
        steps: the actions, without `done`.
        answer: of `done`.
        rng: decides on the mistakes.
        noise: probability that the episode has a mistake in it: a wrong target, a wrong text, or an early end.
        interruptions: what may cover or replace a page, such as a cookie banner.
        detours: what a site may ask for in between, such as to log in again.
        intent: of the task. A thought begins with the words of it that the target's name has, as in
            `for "lock": click link "Lock topic" 512 204`: a small model learns to read the task again before it acts.
    """

    acts_on: ClassVar[Literal["points"]] = "points"

    def __init__(
        self,
        steps: Sequence[Step],
        answer: str,
        rng: random.Random,
        noise: float = 0.0,
        interruptions: Sequence[Interruption] = (),
        detours: Sequence[Detour] = (),
        intent: str = "",
    ) -> None:
        self._steps = [*steps]
        self._detours = [*detours]
        self._interruptions = [*interruptions]
        self._answer = answer
        self._intent = intent
        self._rng = rng
        self._scrolls = self._waits = 0
        self._from_top = False
        self._last: list[Listed] | None = None
        """The elements before the last scrolling; the same ones afterwards mean that the page has ended."""
        self._left = len(self._steps)
        """The steps that are left after the last detour."""
        self._may_retry, self._past = False, list[Step]()
        self._wrong_at: int | None = None
        self._done = 0
        if self._steps and rng.random() < noise:
            self._err()

    @property
    def wanted(self) -> Target | None:
        """The target of the next step; None if it has none, or no step is left."""
        return self._steps[0].target if self._steps else None

    def next(self, elements: Sequence[Listed], /) -> TeacherTurn:
        """The response to the current element list. After the last step it calls `done` in a turn of its own, because
        the last action's result is part of what a person looks at."""
        for interruption in self._interruptions:
            if (line := interruption.among(elements)) is not None:
                words = f"{interruption.words}: click {line.words}"
                return TeacherTurn(words, [_call("click", x=line.x, y=line.y)])
        if not self._steps:
            if self._take_detour([detour for detour in self._detours if detour.at_end], elements):
                return self.next(elements)
            return TeacherTurn("the task is done", [_call("done", answer=self._answer)])
        urgent = [detour for detour in self._detours if detour.interrupts and len(self._steps) <= self._left]
        if self._take_detour(urgent, elements):
            return self.next(elements)
        step = self._steps[0]
        if step.target is None:
            return self._advance(step, "", {})
        line = step.target.among(elements)
        if line is None:
            usual = [detour for detour in self._detours if not detour.interrupts]
            if self._take_detour(usual, elements) or self._retry(elements):
                return self.next(elements)
            return self._search([*elements])
        if self._wrong_at == self._done:
            line = self._other(line, elements)
        reason = quoted(self._intent, f"{line.name} {line.owner}")
        return self._advance(step, line.words, {"x": line.x, "y": line.y}, reason)

    def _take_detour(self, detours: Sequence[Detour], elements: Sequence[Listed]) -> bool:
        """Put the first detour that is due before the other steps; whether there was one."""
        due = next((detour for detour in detours if detour.is_due(elements)), None)
        if due is None:
            return False
        self._detours.remove(due)
        again = self._since_anywhere() if due.leads_away else []
        self._may_retry = not due.leads_away
        self._left = len(again) + len(self._steps)
        self._steps = [*due.steps, *again, *self._steps]
        return True

    def _since_anywhere(self) -> list[Step]:
        """The last steps that were taken, from the last one on that can be taken anywhere."""
        if self._steps[0].is_anywhere:
            return []
        begin = max((at for at, step in enumerate(self._past) if step.is_anywhere), default=len(self._past))
        return self._past[begin:]

    def _retry(self, elements: Sequence[Listed]) -> bool:
        """After a detour, once: repeat steps that the site may have forgotten, from one whose target the page has."""
        if not self._may_retry or len(self._steps) > self._left:
            return False
        steps = self._since_anywhere()
        written = max((at for at, step in enumerate(steps, start=1) if step.text), default=0)
        steps = [*dropwhile(lambda step: step.target is None or not step.target.among(elements), steps[written:])]
        self._may_retry = not steps
        self._steps = [*steps, *self._steps]
        self._left = len(self._steps)
        return bool(steps)

    def _advance(self, step: Step, target: str, point: dict[str, int], reason: str = "") -> TeacherTurn:
        if len(self._steps) <= self._left:
            self._past.append(step)
        self._steps.pop(0)
        self._done += 1
        self._scrolls = self._waits = 0
        self._from_top, self._last = False, None
        thought = step.words.replace("{target}", target)  # the rest may have braces of the data
        return TeacherTurn(f'for "{reason}": {thought}' if reason else thought, [*step.calls(point)])

    def _search(self, elements: list[Listed]) -> TeacherTurn:
        if self._scrolls < SCREENS and elements != self._last:
            self._scrolls, self._last = self._scrolls + 1, elements
            return TeacherTurn("scroll down", [_call("scroll", direction="down", amount=SCROLL)])
        if not self._from_top:
            self._from_top, self._scrolls, self._last = True, 0, None
            return TeacherTurn("back to the top", [_call("scroll", direction="up", amount=50)])
        if self._waits < PATIENCE:
            self._waits, self._scrolls, self._from_top, self._last = self._waits + 1, 0, False, None
            return TeacherTurn("wait", [_call("wait", seconds=1)])
        target = self.wanted
        assert target is not None
        return TeacherTurn(f"there is no {target.role} {target.name}", [_call("done", answer=GIVE_UP)])

    def _err(self) -> None:
        kinds = ["target", "early", *(["text"] if any(step.text for step in self._steps) else [])]
        match self._rng.choice(kinds):
            case "target":
                targets = [at for at, step in enumerate(self._steps) if step.target is not None]
                self._wrong_at = self._rng.choice(targets or [0])
            case "early":
                self._steps.pop()
            case "text":
                at = self._rng.choice([at for at, step in enumerate(self._steps) if step.text])
                self._steps[at] = self._steps[at].with_text(self._steps[at].text[:-1])

    def _other(self, line: Listed, elements: Sequence[Listed]) -> Listed:
        others = [other for other in elements if other.role == line.role and other != line]
        return self._rng.choice(others) if others else line
