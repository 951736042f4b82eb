"""Writes and parses verdicts; all judges use this module.

A judge writes its rationale and then, on the last line, a label and one of two words, such as `Verdict: SUCCESS` or
`Verdict: NOT SUCCESS`. Parsing is strict: a line that is not clearly one of the two is unparsed, which masks a sample
and never rewards it. NOT SUCCESS is matched before SUCCESS (OpenWebRL, appendix A.4), since it contains SUCCESS.

What models and people add to a verdict line does not change it: bold marks, bullets, a box of LaTeX, emoji, full-width
punctuation, an end token, a rule below. Unparsed are a sign that says the opposite of the word ("SUCCESS", a cross), a
sign that is not known here (an empty checkbox), a bulleted line beside another one with the opposite verdict, and
everything inside of an unclosed reasoning block.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from components.records import Outcome

_LINES = {Outcome.SUCCESS: "Verdict: SUCCESS", Outcome.FAILURE: "Verdict: NOT SUCCESS"}
_DECORATION = re.compile(r"\*+|`+|^#+\s|^_+|_+$")
_BULLET = re.compile(r"(?:[-+•‣◦▪●*–—]|\d+[.)])\s+")
_END_TOKEN = re.compile(r"(?:<\|\w+\|>|<(?:/s|eos|end_of_turn)>|\[(?:EOS|END)\])\s*$", re.IGNORECASE)
_CLOSER = re.compile(r"```|</\w+>|(?:-\s?){3,}|(?:\*\s?){3,}|_{3,}|={3,}")
"""A line that may follow the verdict: it only closes a block, or is a rule."""
_REASONING = r"(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)"
_OPENED, _CLOSED = (
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"<\s*(?:\w+:)?{_REASONING}\b[^<>]*>|\[think\]|◁{_REASONING}▷|<\|begin_of_{_REASONING}\|>"
        r"|<\|channel\|>\s*analysis\b",
        rf"<\s*/\s*(?:\w+:)?{_REASONING}\s*>|\[/think\]|◁/{_REASONING}▷|<\|end_of_{_REASONING}\|>"
        r"|<\|channel\|>\s*final\b(?:\s*<\|message\|>)?",
    )
)
"""The marks of reasoning, in the forms of the models that write them."""
_BOX = re.compile(r"\$*\\(?:boxed|fbox)\{\s*(?:\\(?:text|textbf|mathrm)\{(.*)\}|(.*))\s*\}\$*")
_POSITIVE, _NEGATIVE = frozenset("✅✔✓☑🟢👍🎉💯"), frozenset("❌✖✗✘✕☒❎🔴🚫🚷🙅👎⛔🛑⚠")
_NEUTRAL = frozenset("📝📋📌📊🎯🏁🔍🔎⚖🤖💡✨⭐🌟🏆🔹🔸🔷🔶▶➡👉")
_EMOJI_PARTS = frozenset("\ufe0e\ufe0f\u200d♀♂🏻🏼🏽🏾🏿")
"""Variation selectors, the joiner, and the sexes and skin tones of emoji such as 👎🏽."""
_QUOTES = "\"'“”‘’ "
_DELETED = dict.fromkeys(map(ord, _POSITIVE | _NEGATIVE | _NEUTRAL | _EMOJI_PARTS))
_LETTERS = {first + number: 65 + number for first in (0x1F150, 0x1F170) for number in range(26)}
"""White letters in black circles and squares, for which NFKC has no letter."""


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
_THOUGHTS = _pattern(r"(?:thoughts?|reasoning|rationale|explanation)\s*:.*?[.!;]\s+(?=(?:verdict|status)\s*:)")
"""The beginning of a line that has the thoughts and the verdict, as AgentTrek's judges write it."""
_LABELS = _pattern(r"\b(?:verdict|status)\b")
BLOCKED = VerdictForm(_pattern(rf"blocked{_SEPARATED}"), _pattern("yes"), _pattern("no"))
KEEP = VerdictForm(_pattern(rf"keep{_SEPARATED}"), _pattern("yes"), _pattern("no"))
_SCORE = _pattern(rf"(?:(?:the|final)\s+)*score{_SEPARATED}([1-5])(?:\s*/\s*5)?")
_CONTRADICTS = _pattern(
    r"[{\[?]|success|fail|verdict|take (?:it|that|this) back|scratch|strike that|reflection|reconsider|second thought"
    r"|\b(?:but|wait|however|although|actually|instead|except|unless|sorry|correct(?:ion|ed)|mistaken?|wrong|no|not)\b"
    r"|\b(?:never|only|partial\w*|incomplete\w*|un\w+ed|unable|false|lacks?|lacking|miss(?:es|ed|ing)|nein|nicht|kein\w*)\b"
    rf"|n't\b|[{''.join(sorted(_NEGATIVE))}]"
)
"""Text after a JSON object that may take the object back."""
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
    others = rationale.text.split("\n") if rationale.before else []
    decision = None if truncated or line is None else _decide(others, line, form, alone=not rationale.before)
    return (None, text.strip()) if decision is None else (decision, rationale.text)


def read_score(text: str, truncated: bool = False) -> tuple[int | None, str]:
    """A score from 1 to 5 on the last line, such as `Score: 4`, and the rationale; None if there is no such line."""
    line, rationale = _last_line(text)
    score = None if truncated or line is None else _SCORE.fullmatch(line.text.rstrip(" ."))
    return (None, text.strip()) if score is None else (int(score[1]), rationale.text)


def read_points(text: str, truncated: bool = False) -> list[str]:
    """The items of a numbered or bulleted list, without other text; empty if the text was truncated or has no list."""
    _, response = _split_reasoning(text)
    if truncated or _OPENED.search(response):
        return []
    lines = (
        _DECORATION.sub("", line.strip()) if line.strip().startswith("**") else line.strip()
        for line in response.splitlines()
    )
    return [match[1].strip() for line in lines if (match := _POINT.fullmatch(line))]


def read_object(text: str, truncated: bool = False) -> dict | None:
    """The JSON object with which a response begins, after closed reasoning and perhaps in a fence.

    Text after the object is ignored, unless it has another object or may take the verdict back. An end of
    reasoning that is quoted in the object ends none.
    """
    if truncated:
        return None
    value, after = _first_object(text)
    if value is None or _CLOSED.search(after):
        value, after = _first_object(_split_reasoning(text)[1])
    return None if _CONTRADICTS.search(after) else value


def _first_object(response: str) -> tuple[dict | None, str]:
    """The object with which a response begins, None if there is none, and the text after it."""
    response = re.sub(r"^```(?:json)?\s*\n", "", response.strip())
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys)
    try:
        value, end = decoder.raw_decode(response)
    except (ValueError, RecursionError):
        return None, ""
    return (value, response[end:]) if isinstance(value, dict) else (None, "")


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


@dataclass(frozen=True)
class _Line:
    """A line without decoration. `signs`: what its emoji say. `bulleted`: it was an item of a list."""

    text: str
    signs: frozenset[bool]
    bulleted: bool


def _split_reasoning(text: str) -> tuple[str, str]:
    """The text up to the last end of reasoning, and the response after it."""
    ends = [match.end() for match in _CLOSED.finditer(text)]
    return (text[: ends[-1]], text[ends[-1] :]) if ends else ("", text)


def _last_line(text: str) -> tuple[_Line | None, _Rationale]:
    """The last line (None if it is inside of unclosed reasoning), and the rationale."""
    reasoning, response = _split_reasoning(text)
    lines = response.strip().split("\n")
    while len(lines) > 1 and not (lines[-1].strip() and _without_end(lines[-1])):
        lines.pop()
    before = "\n".join(lines[:-1]).strip()
    inside = _OPENED.sub("", _CLOSED.sub("", reasoning), count=1).strip()
    rationale = _Rationale(len(lines) > 1, before or inside)
    return None if _OPENED.search(response) else _cleaned(lines[-1]), rationale


def _without_end(line: str) -> str:
    """The line without an end token; empty if it only closes a block or is a rule."""
    line = _END_TOKEN.sub("", line.strip()).strip()
    return "" if _CLOSER.fullmatch(line) else line


def _cleaned(line: str) -> _Line:
    text = unicodedata.normalize("NFKC", _without_end(line).translate(_LETTERS))
    signs = frozenset(mark in _POSITIVE for mark in text if mark in _POSITIVE | _NEGATIVE)
    text = text.translate(_DELETED).strip()
    bullet = _BULLET.match(text)
    text = _DECORATION.sub("", text[bullet.end() :] if bullet else text).strip()
    return _Line(_unboxed(text), signs, bullet is not None)


def _unboxed(text: str) -> str:
    boxed = _BOX.fullmatch(text.rstrip(" ."))
    return (boxed[1] or boxed[2] or "").strip() if boxed else text


def _decide(lines: Sequence[str], line: _Line, form: VerdictForm, alone: bool) -> bool | None:
    """The decision of the last line; None if its emoji or another item of the same list say the opposite."""
    decision = _read_line(line.text, form, alone)
    if decision is None or (not decision) in line.signs:
        return None
    if line.bulleted and any(_read_line(_cleaned(other).text, form, False) is (not decision) for other in lines):
        return None
    return decision


def _read_line(line: str, form: VerdictForm, alone: bool) -> bool | None:
    thoughts = _THOUGHTS.match(line)
    if thoughts and len(_LABELS.findall(line)) == 1:
        line = line[thoughts.end() :]
    label = form.label.match(line)
    if not (label or (alone and line.isupper())):
        return None
    word = _bare(_unboxed(line[label.end() if label else 0 :].strip()))
    if form.no.fullmatch(word):
        return False
    return True if form.yes.fullmatch(word) else None


def _bare(word: str) -> str:
    """The word without quotation marks, a pair of brackets around it and punctuation after it.

    Punctuation before the word stays, because `!` negates it and `[ ]` is an empty checkbox.
    """
    word = _unquoted(word)
    return _unquoted(word[1:-1]) if word.startswith("[") and word.endswith("]") else word


def _unquoted(word: str) -> str:
    return word.lstrip(_QUOTES).rstrip(_QUOTES + ".!。")
