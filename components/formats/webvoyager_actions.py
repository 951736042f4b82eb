"""The texts of WebVoyager's messages: the task, and the actions of a response."""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.records import ToolCall
from components.tasks.files import parse_json

ANSWER = "ANSWER"
TASK = re.compile(r"Now given a task:\s*(?P<intent>.+?)\s*Please interact with\s+(?P<url>\S+?)\s+and get", re.DOTALL)
_LINE, _ANYWHERE = re.compile(r"^\s*Action:", re.MULTILINE), re.compile(r"Action:")
_OWN_CALL = re.compile(r"(?P<name>\w+) (?P<arguments>\{[^\n]*\})(?:\nAction: |$)")
"""A call of an agent that has other actions than WebVoyager's, as the writer writes it."""
_ANSWERS = re.compile(rf"\s*{ANSWER}\b", re.IGNORECASE)
_CALL = re.compile(r"(?P<name>[A-Za-z]+)[;\s]*(?:\[(?P<target>[^\]]*)\])?[;\s]*(?P<rest>.*)", re.DOTALL)


def calls_of(response: str) -> list[ToolCall]:
    """The actions of a response: `Type [7]; tea` is a call with `target` and `text`, `ANSWER` is `done`.

    A response of WebVoyager has one action. Those that Waymark writes may have several, each on a line.
    """
    marks = list(_LINE.finditer(response)) or list(_ANYWHERE.finditer(response))
    if not marks:
        return [ToolCall(name="", error="the response has no action")]
    calls: list[ToolCall] = []
    rest = response[_first_of_last_row(response, marks) :].strip()
    while (own := _OWN_CALL.match(rest)) is not None:
        try:
            calls.append(ToolCall(name=own["name"], arguments=parse_json(own["arguments"])))
        except ValueError:
            break
        rest = rest[own.end() :]
    return [*calls, _call_of(rest)] if rest or not calls else calls


def _first_of_last_row(response: str, marks: Sequence[re.Match[str]]) -> int:
    """Where the first action begins of the last lines that are actions without a break; a thought may quote others.
    What follows an answer belongs to it."""
    answers = (number for number, mark in enumerate(marks) if _ANSWERS.match(response, mark.end()))
    first = last = next(answers, len(marks) - 1)
    while first > 0 and _OWN_CALL.fullmatch(response[marks[first - 1].end() : marks[first].start()].strip()):
        first -= 1
    return marks[first if first < last else last].end()


def _call_of(action: str) -> ToolCall:
    parts = _CALL.fullmatch(action)
    if parts is None:
        return ToolCall(name=action)
    if parts["name"].lower() == ANSWER.lower():
        return ToolCall(name="done", arguments={"answer": answer_text(action)})
    given = {"target": parts["target"], "text": parts["rest"].strip()}
    return ToolCall(name=parts["name"].lower(), arguments={key: value for key, value in given.items() if value})


def answer_text(action: str) -> str:
    """The text behind `ANSWER;`, without brackets around the whole."""
    text = action[len(ANSWER) :].lstrip("; \t\n").strip()
    return text[1:-1].strip() if _is_bracketed(text) else text


def _is_bracketed(text: str) -> bool:
    """Whether the first character is a bracket that the last one closes."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth == 0:
            return character == "]" and position == len(text) - 1
    return False
