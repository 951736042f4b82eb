"""Answers that are no answer: a refusal with an answer behind it, and lists of candidates.

A phrase that must be in an answer is also in an answer that says everything. The published evaluators accept "N/A. The
answer is 6" for tasks that cannot be done as well as for tasks whose answer is 6, and a list of all small numbers for
every task that asks for a small number (`waymark judge attack` measures both). Here:

- An answer that begins with "N/A" is an "N/A", whatever follows.
- Numbers in a row ("4, 5, 6, 7", "It is 4. It is 5. It is 6. It is 7") are candidates if two of them or more, and more
  than half of them, were not asked for; so are two numbers joined by "or" if one of them was not asked for, and "yes or
  no". A phrase is not looked for in candidates; elsewhere in the answer it counts ("6 orders: 170, 180, 189, 201").
- An answer with far more numbers, items or words than were asked for (`MAX_…`) is a list, or a copy of a page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.judge.rules.matching import plain
from components.judge.rules.numbers import split_lists, values

_DECLINED = re.compile(r"[\W_]*n\s?/\s?a(?![\w/])")
_DATE = r"\d{1,4}[/-]\d{1,2}[/-]\d{1,4}(?!\d)|\d{1,2}:\d{2}(?::\d{2})?(?!\d)"
_NUMBER = rf"(?:[$€£¥#]?\s?(?:{_DATE}|\d++(?:[.,]\d++)*+[a-z%]{{0,3}}+(?!\w)))"
_BETWEEN = r"(?:[\s,;|/&.\-]|(?<=\W)(?:and|or)(?=\W))++"
_NUMBERS = re.compile(rf"(?<![\w.]){_NUMBER}(?:{_BETWEEN}{_NUMBER})+")
_REPEATED = re.compile(rf"(?<![\w.]){_NUMBER}(?P<between>[^\d]{{1,40}}){_NUMBER}(?:(?P=between){_NUMBER})+")
_POLAR = re.compile(r"(?<!\w)(?:yes|no)(?:\s*(?:[,/|;]|\s(?:or|and)\s)\s*(?:yes|no))+(?=\s*(?:[.,;!?]|$))")
_POLAR_WORD = re.compile("yes|no")
_REMOVED = "…"
_TRUNCATED = re.compile(r"\d+\.\d{3,}")
_OR = re.compile(r"(?<!\w)or(?!\w)")
_ITEM = re.compile(r"[,;|/\n•]|\bor\b", re.IGNORECASE)
UNASKED = 2
"""Numbers that were not asked for, from which on numbers in a row are candidates."""
MAX_NUMBERS, MAX_ITEMS, MAX_WORDS = 20, 9, 250
"""Numbers, items of lists and words that an answer may have beyond those asked for. The longest answers of WebArena's
authors with one phrase are addresses of nine items."""


def declines(answer: str) -> bool:
    """Whether an answer says that there is none: it begins with "N/A"."""
    return _DECLINED.match(plain(answer)) is not None


def without_candidates(answer: str, phrases: Sequence[str]) -> str:
    """The parts of an answer that may contain one of the phrases that were asked for; empty if it is a list or a copy.

    Args:
        phrases: all phrases that the answer must contain, and their alternatives.
    """
    if too_long(answer, phrases) is not None:
        return ""
    numbers_asked = values(plain("\n".join(phrases)))
    prefixes = tuple(_TRUNCATED.findall("\n".join(phrases)))
    text = plain(split_lists(answer, numbers_asked))

    def unless_candidates(row: re.Match[str]) -> str:
        numbers = values(row[0].replace(",", " "))
        unasked = {number for number in numbers - numbers_asked if not number.startswith(prefixes)}
        is_choice = _OR.search(row[0]) is not None and bool(unasked)
        is_list = len(unasked) >= max(UNASKED, len(numbers) - len(unasked) + 1)
        return _REMOVED if is_choice or is_list else row[0]

    def unless_both(row: re.Match[str]) -> str:
        return _REMOVED if {"yes", "no"} <= set(_POLAR_WORD.findall(row[0])) else row[0]

    text = _NUMBERS.sub(unless_candidates, text)
    return _POLAR.sub(unless_both, _REPEATED.sub(unless_candidates, text))


def too_long(answer: str, phrases: Sequence[str]) -> str | None:
    """Why an answer is a list or a copy of a page, with its count and the limit; None if it is neither.

    Args:
        phrases: as for `without_candidates`; what they have themselves does not count.
    """
    numbers_asked = values(plain("\n".join(phrases)))
    text = plain(split_lists(answer, numbers_asked))
    counts = (
        ("numbers that were not asked for", len(values(text) - numbers_asked), MAX_NUMBERS),
        (
            "items",
            len([item for item in _ITEM.split(answer) if item.strip()]),
            MAX_ITEMS + 2 * sum(len(_ITEM.split(phrase)) for phrase in phrases),
        ),
        ("words", len(text.split()), MAX_WORDS + sum(len(phrase.split()) for phrase in phrases)),
    )
    excess = [f"{count} {what}, {most} are the most" for what, count, most in counts if count > most]
    return excess[0] if excess else None
