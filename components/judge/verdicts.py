"""Writes and parses verdicts; all judges use this module.

A judge writes its rationale and then, on the last line, a label and one of two words, such as `Verdict: SUCCESS` or
`Verdict: NOT SUCCESS`. Parsing is strict: a line that is not clearly one of the two is unparsed, which masks a sample
and never rewards it. NOT SUCCESS is matched before SUCCESS (OpenWebRL, appendix A.4), since it contains SUCCESS.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from components.records import Outcome

_LINES = {Outcome.SUCCESS: "Verdict: SUCCESS", Outcome.FAILURE: "Verdict: NOT SUCCESS"}
_DECORATION = re.compile(r"\*+|`+|^#+\s|^_+|_+$")
_CLOSER = re.compile(r"```|</\w+>")
"""A line that may follow the verdict: it only closes a block."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


@dataclass(frozen=True)
class VerdictForm:
    """The form of a verdict line: a label and one of two words. `no` is matched before `yes`."""

    label: re.Pattern[str]
    yes: re.Pattern[str]
    no: re.Pattern[str]


_SEPARATED = r"(?:\s+is)?(?:\s*:\s*|\s+)"
_NO_SUCCESS = _pattern(r"not[\s_-]+success(?:ful)?|unsuccessful|failure|failed")
_SUCCESS = _pattern(r"success(?:ful)?")
VERDICT = VerdictForm(_pattern(rf"(?:(?:my|the|final|overall)\s+)*verdict{_SEPARATED}"), _SUCCESS, _NO_SUCCESS)
STATUS = VerdictForm(_pattern(rf"(?:(?:my|the|final|overall)\s+)*status{_SEPARATED}"), _SUCCESS, _NO_SUCCESS)
BLOCKED = VerdictForm(_pattern(rf"blocked{_SEPARATED}"), _pattern("yes"), _pattern("no"))
KEEP = VerdictForm(_pattern(rf"keep{_SEPARATED}"), _pattern("yes"), _pattern("no"))
_SCORE = _pattern(rf"(?:(?:the|final)\s+)*score{_SEPARATED}([1-5])(?:\s*/\s*5)?")
_POINT = re.compile(r"(?:\d+[.)]|[-*•])\s+(.+)")


def verdict_text(rationale: str, outcome: Outcome) -> str:
    """The text that a judge writes for a rationale and an outcome; `parse_verdict` parses it.

    Raises:
        ValueError: the outcome is neither success nor failure.
    """
    if outcome not in _LINES:
        raise ValueError(f"no judge writes {outcome.value!r}: leave such verdicts out of a judge's training data")
    return f"{rationale.strip()}\n{_LINES[outcome]}"


def parse_verdict(text: str, truncated: bool = False, form: VerdictForm = VERDICT) -> tuple[Outcome, str]:
    """Success, failure or unparsed, and the rationale: the text before the verdict line.

    Args:
        text: the judge's whole response.
        truncated: the response hit its token limit.
        form: the form of the verdict line.
    """
    decision, rationale = read(text, form, truncated)
    return {True: Outcome.SUCCESS, False: Outcome.FAILURE, None: Outcome.UNPARSED}[decision], rationale


def read(text: str, form: VerdictForm, truncated: bool = False) -> tuple[bool | None, str]:
    """True, False or None, and the rationale; None if the verdict line is not clearly one of the two.

    The verdict line is the last line that is not empty, after any closed reasoning. It must have the label (or be the
    whole text) and contain one of the words and nothing else: a line with a quotation, both words, a question or more
    text gives None. A truncated text gives None too, because `Verdict: SUCCESS` may have been its first half.
    """
    line, rationale = _last_line(text)
    decision = None if truncated or line is None else _read_line(line, form, alone=not rationale.before)
    return (None, text.strip()) if decision is None else (decision, rationale.text)


def read_score(text: str, truncated: bool = False) -> tuple[int | None, str]:
    """A score from 1 to 5 on the last line, such as `Score: 4`, and the rationale; None if there is no such line."""
    line, rationale = _last_line(text)
    score = None if truncated or line is None else _SCORE.fullmatch(line.rstrip(" ."))
    return (None, text.strip()) if score is None else (int(score[1]), rationale.text)


def read_points(text: str, truncated: bool = False) -> list[str]:
    """The items of a numbered or bulleted list, without other text; empty if the text was truncated or has no list."""
    _, closed, response = text.rpartition("</think>")
    if truncated or (not closed and "<think>" in text):
        return []
    lines = (
        _DECORATION.sub("", line.strip()) if line.strip().startswith("**") else line.strip()
        for line in response.splitlines()
    )
    return [match[1].strip() for line in lines if (match := _POINT.fullmatch(line))]


def read_object(text: str, truncated: bool = False) -> dict | None:
    """The JSON object of a response that has nothing else, except closed reasoning before it and a fence around it."""
    response = text.rpartition("</think>")[2].strip()
    if fenced := re.fullmatch(r"```(?:json)?\s*\n(.*)\n```", response, re.DOTALL):
        response = fenced[1]
    try:
        value = None if truncated else json.loads(response, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise ValueError("a key occurs twice")
    return keys


@dataclass(frozen=True)
class _Rationale:
    """The text before the last line (`before` is True), or else the reasoning before the response."""

    before: bool
    text: str


def _last_line(text: str) -> tuple[str | None, _Rationale]:
    """The last line without decoration (None if it is inside of unclosed reasoning), and the rationale."""
    reasoning, _, response = text.rpartition("</think>")
    lines = response.strip().split("\n")
    while _CLOSER.fullmatch(lines[-1].strip()) and len(lines) > 1:
        lines.pop()
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
    before = "\n".join(lines[:-1]).strip()
    rationale = _Rationale(len(lines) > 1, before or reasoning.replace("<think>", "", 1).strip())
    return None if "<think>" in response else _DECORATION.sub("", lines[-1].strip()).strip(), rationale


def _read_line(line: str, form: VerdictForm, alone: bool) -> bool | None:
    label = form.label.match(line)
    if not (label or (alone and line.isupper())):
        return None
    word = line[label.end() if label else 0 :].strip("\"'“”‘’[] .!")
    if form.no.fullmatch(word):
        return False
    return True if form.yes.fullmatch(word) else None
