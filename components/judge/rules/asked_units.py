"""Answers in the unit that the task asks for, and coordinates with the letters of the compass.

A reference of VisualWebArena is 5.35 where its intent asks for a difference "in billions". There "5.35 billion",
"$5.35B" and "5.35" are the same answer, while 5.35 million is another one. Where the intent names no unit, 5.35
billion is not 5.35 (`numbers`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.judge.rules.matching import plain

_UNITS = {
    "hundred": "hundreds?",
    "thousand": "thousands?|thou|tsd|k",
    "million": "millions?|mln|mil|mio|mn|mm?",
    "billion": "billions?|bln|bn|b|giga",
    "trillion": "trillions?|trn|tn|t",
    "lakh": "lakhs?|lacs?|l",
    "crore": "crores?|cr",
    "dozen": "dozens?",
}
"""The units after which a number is multiplied, and their spellings in a `plain` text."""
_ASKED = re.compile(rf"\b(?:in|how many)\s+(?:the\s+|units of\s+)?({'|'.join(_UNITS)})s?\b")
_COORDINATE = re.compile(r"-?\d{1,3}\.\d{3,}")
_DEGREES = r"(?P<number>\d{1,3}\.\d{3,})\s?(?:°|º|deg(?:rees)?\b)?"
_TURNED = re.compile(
    rf"(?<![\w.-])(?:{_DEGREES}\s?(?P<behind>[nsew]|north|south|east|west)(?![a-z])"
    rf"|(?P<before>[nsew]|north|south|east|west)[\s:]?{_DEGREES.replace('number', 'second')}(?!\s?[nsew](?![a-z])))"
)


def in_asked_unit(answer: str, question: str, phrases: Sequence[str]) -> str:
    """An answer without the unit behind its numbers, if the question asks for numbers in this unit and no phrase has
    it."""
    unit = _ASKED.search(plain(question))
    if unit is None or any(unit[1] in plain(phrase) for phrase in phrases):
        return answer
    return re.sub(rf"(?<=\d)[\s-]?(?:{_UNITS[unit[1]]})(?![a-z])", "", plain(answer))


def with_signs(answer: str, phrases: Sequence[str]) -> str:
    """An answer whose coordinates have signs in place of letters, "79.9397388° W" as "-79.9397388", if the phrases are
    coordinates in degrees."""
    if len(phrases) < 2 or not all(_COORDINATE.fullmatch(phrase.strip()) for phrase in phrases):
        return answer

    def signed(coordinate: re.Match[str]) -> str:
        letter, number = (coordinate["behind"] or coordinate["before"])[0], coordinate["number"] or coordinate["second"]
        return f"-{number}" if letter in "sw" else number

    return "\n".join(_TURNED.sub(signed, plain(line)) for line in answer.splitlines())
