"""Reads a pattern: an HTML file whose first comment says what an agent does on the page, one step per line.

click ROLE "NAME" [NUMBER]     also double, right, ctrl and hover; NUMBER counts elements of the same name from 1
click text "TEXT"              the middle of a visible text, as an agent finds it on the screenshot
click at X Y                   a point in CSS pixels
drag TARGET -> TARGET
write TEXT                     `\\n` is a line break
press KEY KEY
scroll DIRECTION AMOUNT [at X Y]
wait SECONDS
expect REGEX                   what the feedback of the step before says
state JAVASCRIPT               false before the first step and true after the last
fails REASON                   the harness fails here today
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_TARGET = re.compile(r'^(?:at (?P<x>\d+) (?P<y>\d+)|(?P<role>[a-z]+) "(?P<name>[^"]*)"(?: (?P<number>\d+))?)$')
POINTED = ("click", "double", "right", "ctrl", "hover")


@dataclass(frozen=True)
class Target:
    """What a step points at: a point in CSS pixels, or an element of the list by role and name."""

    point: tuple[int, int] | None
    role: str = ""
    name: str = ""
    number: int = 1

    @classmethod
    def parse(cls, text: str) -> Target:
        """From `at 10 20` or `button "Save"`."""
        match = _TARGET.match(text.strip())
        assert match, f"not a target: {text!r}"
        if match["x"]:
            return cls((int(match["x"]), int(match["y"])))
        return cls(None, match["role"], match["name"], int(match["number"] or 1))


@dataclass(frozen=True)
class Step:
    """One line: its first word and the rest."""

    word: str
    rest: str

    @property
    def targets(self) -> list[Target]:
        """What a step with the mouse points at."""
        return [Target.parse(part) for part in self.rest.split("->")]


@dataclass(frozen=True)
class Pattern:
    """A page, the steps on it, and the state after them."""

    name: str
    html: str
    steps: list[Step]
    state: str
    fails: str | None

    @classmethod
    def read(cls, path: Path) -> Pattern:
        """The pattern in a file."""
        html = path.read_text(encoding="utf-8")
        header = html.removeprefix("<!--\n").split("\n-->", 1)[0]
        steps = [Step(word, rest) for word, _, rest in (line.partition(" ") for line in header.splitlines())]
        lines = {step.word: step.rest for step in steps if step.word in ("state", "fails")}
        steps = [step for step in steps if step.word not in ("state", "fails")]
        return cls(path.stem, html, steps, lines["state"], lines.get("fails"))
