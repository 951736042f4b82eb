"""The agent's actions in short form, from the browser's feedback: for compact judge prompts and rationales of rules.

The feedback strings come from `components/browser/feedback.py` (after OpenWebRL, table 5). Coordinates, tags of
elements that have a role, and phrases with little information are removed; names of elements and typed text stay
unchanged. Accepted trade-off: a name that contains a quotation mark may lose such a phrase too.
"""

from __future__ import annotations

import json
import re
from itertools import groupby

from components.records import Termination, Trajectory, Turn

_QUOTED = re.compile(r'("[^"]*")')
_FULL_REPLACEMENTS = (
    ("Succeed: task marked as done", "done"),
    ("Failed: the response could not be read", "unreadable response"),
    ("Failed: `tool call` execution failed", "unreadable call"),
)
_OPENINGS = (
    ("Succeed: `click` on ", "click "),
    ("Succeed: `write` typed ", "write "),
    ("Succeed: ", ""),
    ("Failed: ", "failed "),
)
_REMOVALS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r" ?(?:from|to|at) \(-?\d+, ?-?\d+\)", ""),
        (r" ?Note: no visible navigation or new tab detected\.", ""),
        (r" ?The (page changed|field is focused)\.", ""),
        (r" ?The page has ended its task and no longer reacts\.$", ""),
        (r" executed\.", ""),
        (r"<\w+> role=(\w+)", r"\1"),
        (r"<(\w+)>", r"\1"),
        (r"`", ""),
    ]
)


def calls(turn: Turn) -> list[str]:
    """The calls of a turn with their arguments. An action of another agent is its whole text."""
    named = [(call.name or "(unreadable call)", call.arguments) for call in turn.tool_calls]
    lines = [f"{name} {json.dumps(given, ensure_ascii=False)}" if given else name for name, given in named]
    return lines or ["(no call)"]


def events(trajectory: Trajectory) -> list[str]:
    """One short line per call, in order, such as `click button "ok"`; then the ending, if it was not `done`.

    Consecutive equal events are one line with their count.
    """
    lines = [compact(line) for turn in trajectory.turns for line in turn.feedback]
    if trajectory.termination is not Termination.DONE:
        lines.append(f"stopped by {trajectory.termination.value}")
    runs = [(line, len(list(repeats))) for line, repeats in groupby(lines)]
    return [line if count == 1 else f"{line} x{count}" for line, count in runs]


def compact(feedback: str) -> str:
    """One feedback string without the parts that a judge does not need."""
    for opening, replacement in _FULL_REPLACEMENTS:
        if feedback.startswith(opening):
            return replacement
    for opening, short in _OPENINGS:
        if feedback.startswith(opening):
            feedback = short + feedback.removeprefix(opening)
            break
    parts = _QUOTED.split(feedback)
    for position in range(0, len(parts), 2):  # odd positions are quoted text
        for pattern, replacement in _REMOVALS:
            parts[position] = pattern.sub(replacement, parts[position])
    return "".join(parts).strip().rstrip(".")
