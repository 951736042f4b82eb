"""The scripted teacher of MiniWoB++: it chooses the next action from the element list, as a person would.

Each family has a plan: a list of steps (clicks, texts to write, boxes to check) that follows from the instruction. In
each turn the teacher finds the target of the next step in the current element list, so the policy sees the same
coordinates. The teacher uses no hidden content of the page: to find a link it opens the tabs one after the other. With
noise, an episode may have one plausible mistake, drawn from the episode's own random numbers: a wrong target, a typing
error, an unchecked box or an early stop.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from components.browser import Listed
from components.records import Task, ToolCall
from components.worlds import TeacherTurn

ORDINALS = ["1st", "2nd", "3rd"]


@dataclass(frozen=True)
class Target:
    """Describes an element by role, and by name or by its number among the elements of that role (from 1)."""

    role: str
    name: str | None = None
    number: int | None = None
    multiline: bool | None = None

    def among(self, listed: Sequence[Listed]) -> Listed | None:
        """The first match in reading order."""
        matches = [item for item in listed if item.role == self.role]
        if self.multiline is not None:
            matches = [item for item in matches if ("multiline" in item.states) is self.multiline]
        if self.name is not None:
            matches = [item for item in matches if item.name == self.name] or [
                item for item in matches if item.name.lower() == self.name.lower()
            ]
        index = (self.number or 1) - 1
        return matches[index] if index < len(matches) else None


@dataclass(frozen=True)
class Click:
    """Click a target."""

    target: Target


@dataclass(frozen=True)
class Fill:
    """Click a field and write into it."""

    target: Target
    text: str


@dataclass(frozen=True)
class Check:
    """Click all these checkboxes."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Find:
    """Click a link that may be on another tab."""

    name: str


Step = Click | Fill | Check | Find


class MiniWoBTeacher:
    """The teacher of one episode; deterministic given task, attempt and seed.

    Args:
        noise: probability that this episode has a mistake in it.

    Raises:
        ValueError: the task's family has no plan, or the task is not worded as the family's pages are.
    """

    acts_on: ClassVar[Literal["points"]] = "points"

    def __init__(self, task: Task, attempt: int = 0, seed: int = 0, noise: float = 0.0) -> None:
        self._steps = plan(task)
        self._rng = random.Random(f"{task.task_id}|{attempt}|{seed}")
        self._wrong: int | None = None
        self._opened: set[str] = set()
        self._scrolls = 0
        if self._rng.random() < noise:
            self._err()

    def next(self, listed: Sequence[Listed]) -> TeacherTurn:
        """The response to the current element list. The turn of the last step also calls `done`."""
        turn = self._next(listed)
        if self._steps or turn.calls == [_done()]:
            return turn
        return TeacherTurn(turn.thought, [*turn.calls, _done()])

    def _next(self, listed: Sequence[Listed]) -> TeacherTurn:
        while self._steps:
            step = self._steps[0]
            if isinstance(step, Find):
                return self._find(step, listed)
            turn = _act(step, listed)
            if turn is not None:
                self._steps.pop(0)
                if self._wrong is not None and not self._wrong:
                    turn = self._mislead(step, listed) or turn
                self._wrong = None if self._wrong is None else self._wrong - 1
                return turn
            if self._scrolls == 2:
                break
            self._scrolls += 1
            return TeacherTurn("scroll down", [ToolCall(name="scroll", arguments={"direction": "down", "amount": 0.5})])
        return TeacherTurn("done", [_done()])

    def _find(self, step: Find, listed: Sequence[Listed]) -> TeacherTurn:
        link = Target("link", step.name).among(listed)
        if link is None:
            self._opened |= {item.name for item in listed if item.role == "tab" and "selected" in item.states}
            unseen = [item for item in listed if item.role == "tab" and item.name not in self._opened]
            if unseen:
                self._opened.add(unseen[0].name)
                return TeacherTurn(f'no "{step.name}", click {_called(unseen[0])}', [_click(unseen[0])])
        self._steps.pop(0)
        turn = TeacherTurn(f"click {_called(link)}", [_click(link)]) if link else TeacherTurn("done", [_done()])
        return (self._mislead(Click(Target("link", step.name)), listed) or turn) if self._wrong == 0 else turn

    def _err(self) -> None:
        """Draws the mistake of this episode and puts it into the plan."""
        kinds = ["wrong", "early"]
        kinds += ["forget"] if any(isinstance(step, Check) for step in self._steps) else []
        kinds += ["typo"] if any(isinstance(step, Fill) for step in self._steps) else []
        match self._rng.choice(kinds):
            case "wrong":
                clicks = [i for i, step in enumerate(self._steps) if not isinstance(step, Fill)]
                self._wrong = self._rng.choice(clicks)
            case "early":
                self._steps.pop()
            case "forget":
                steps = [self._forgetful(step) if isinstance(step, Check) else step for step in self._steps]
                self._steps = [step for step in steps if step != Check(())]
            case "typo":
                at = self._rng.choice([i for i, step in enumerate(self._steps) if isinstance(step, Fill)])
                step = self._steps[at]
                assert isinstance(step, Fill)
                self._steps[at] = replace(step, text=step.text[:-1])

    def _forgetful(self, step: Check) -> Check:
        left = list(step.names)
        left.pop(self._rng.randrange(len(left)))
        return Check(tuple(left))

    def _mislead(self, step: Step, listed: Sequence[Listed]) -> TeacherTurn | None:
        """The same action on another element of the same role, or else on any other element; None without others."""
        if isinstance(step, Check):
            others = [item for item in listed if item.role == "checkbox" and item.name not in step.names]
            return _check([self._rng.choice(others)]) if others else None
        assert isinstance(step, Click)
        right = step.target.among(listed)
        others = [item for item in listed if item != right]
        others = [
            item for item in others if item.role == step.target.role and item.name != (right.name if right else None)
        ] or others
        if not others:
            return None
        other = self._rng.choice(others)
        return TeacherTurn(f"click {_called(other)}", [_click(other)])


def _act(step: Step, listed: Sequence[Listed]) -> TeacherTurn | None:
    """The turn that does a step; None if its target is not among the visible elements."""
    match step:
        case Check(names):
            boxes = [Target("checkbox", name).among(listed) for name in names]
            seen = [box for box in boxes if box is not None]
            return _check(seen) if len(seen) == len(names) else None
        case Fill(target, text):
            field = target.among(listed)
            write = ToolCall(name="write", arguments={"text": text})
            return (
                TeacherTurn(f'click {_called(field, target.number)}, write "{text}"', [_click(field), write])
                if field
                else None
            )
        case Click(target):
            item = target.among(listed)
            return TeacherTurn(f"click {_called(item, target.number)}", [_click(item)]) if item else None
    raise AssertionError(step)


def _check(boxes: list[Listed]) -> TeacherTurn:
    return TeacherTurn("click " + ", ".join(_called(box) for box in boxes), [_click(box) for box in boxes])


def _called(item: Listed, number: int | None = None) -> str:
    """An element as the element list shows it, with its point: `button "cancel" 512 86`, `2nd field 300 400`."""
    if item.role == "box":
        name = f"box {item.name}"
    elif item.name:
        name = f'{item.role} "{item.name}"'
    else:
        name = f"{ORDINALS[number - 1]} {item.role}" if number else item.role
    return f"{name} {item.x} {item.y}"


def _click(item: Listed) -> ToolCall:
    return ToolCall(name="click", arguments={"x": item.x, "y": item.y})


def _done() -> ToolCall:
    return ToolCall(name="done", arguments={"answer": "done"})


# ---- plans ----------------------------------------------------------------------------------------------------------

SUBMIT = Click(Target("button", "Submit"))


def plan(task: Task) -> list[Step]:
    """The steps of a task, from its family and its instruction.

    Raises:
        ValueError: the family has no plan, or the wording of the instruction is not that of the family.
    """
    return steps_of(task.website.removeprefix("miniwob/"), task.intent)


def steps_of(family: str, intent: str) -> list[Step]:
    """The steps of an instruction of a family; errors as of `plan`."""
    if family not in PLANS:
        raise ValueError(f"the scripted teacher has no plan for {family}; families with one: {', '.join(PLANS)}")
    return PLANS[family](intent)


def _part(pattern: str, intent: str) -> str:
    match = re.search(pattern, intent)
    if match is None:
        raise ValueError(f"the instruction {intent!r} is not worded as the plan expects ({pattern})")
    return match[1]


def _quoted(intent: str) -> str:
    return _part(r'"(.+?)"', intent)


def _dialog(intent: str) -> list[Step]:
    name = _quoted(intent)
    return [Click(Target("button", "Close" if name == "x" else name))]  # the accessible name of the × is "Close"


def _widget(intent: str) -> list[Step]:
    kind = _quoted(intent)
    if kind in ("text", "textarea"):
        return [Click(Target("field", multiline=kind == "textarea"))]
    return [Click(Target(kind))]


def _boxes(intent: str) -> list[Step]:
    names = _part(r"^Select (.*) and click Submit", intent)
    return [SUBMIT] if names == "nothing" else [Check(tuple(names.split(", "))), SUBMIT]


def _both_passwords(intent: str) -> list[Step]:
    word = _quoted(intent)
    return [Fill(Target("field", number=1), word), Fill(Target("field", number=2), word), SUBMIT]


def _login(intent: str) -> list[Step]:
    user, word = _part(r'username "(.+?)"', intent), _part(r'password "(.+?)"', intent)
    return [
        Fill(Target("field", "Username"), user),
        Fill(Target("field", "Password"), word),
        Click(Target("button", "Login")),
    ]


def _find(intent: str) -> list[Step]:
    return [Find(_quoted(intent))]


WITHOUT_IDS = frozenset(
    {"click-link", "click-color", "click-tab-2", "click-tab-2-easy", "click-tab-2-medium", "click-tab-2-hard"}
)
"""Families whose targets are not in the accessibility tree (spans that look like links, coloured boxes). Protocols that
name elements by id cannot do them."""

PLANS: dict[str, Callable[[str], list[Step]]] = {
    "click-test": lambda intent: [Click(Target("button"))],
    "click-test-2": lambda intent: [Click(Target("button", _part(r"button (\w+)", intent)))],
    "click-button": lambda intent: [Click(Target("button", _quoted(intent)))],
    "click-link": lambda intent: [Click(Target("link", _quoted(intent)))],
    "click-dialog": _dialog,
    "click-dialog-2": _dialog,
    "click-color": lambda intent: [Click(Target("box", _part(r"the (\w+) colored", intent)))],
    "focus-text": lambda intent: [Click(Target("field"))],
    "focus-text-2": lambda intent: [Click(Target("field", number=int(_part(r"(\d)", intent))))],
    "click-tab": lambda intent: [Click(Target("tab", _part(r"(Tab #\d)", intent)))],
    "click-tab-2": _find,
    "click-tab-2-easy": _find,
    "click-tab-2-medium": _find,
    "click-tab-2-hard": _find,
    "enter-text": lambda intent: [Fill(Target("field"), _quoted(intent)), SUBMIT],
    "click-checkboxes": _boxes,
    "click-checkboxes-transfer": _boxes,
    "click-button-sequence": lambda intent: [Click(Target("button", "ONE")), Click(Target("button", "TWO"))],
    "click-option": lambda intent: [Click(Target("radio", _part(r"^Select (.*) and click Submit", intent))), SUBMIT],
    "click-collapsible-nodelay": lambda intent: [Click(Target("tab")), SUBMIT],
    "click-widget": _widget,
    "enter-password": _both_passwords,
    "login-user": _login,
}
