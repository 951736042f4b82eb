"""Answers that are no answer: a refusal with an answer behind it, and lists of candidates.

A phrase that must be in an answer is also in an answer that says everything. The published evaluators accept "N/A. The
answer is 6" for tasks that cannot be done as well as for tasks whose answer is 6, and a list of all small numbers for
every task that asks for a small number (`waymark judge attack` measures both). Here:

- An answer that begins with "N/A" is an "N/A", whatever follows.
- Numbers in a row ("4, 5, 6, 7", "It is 4. It is 5. It is 6. It is 7") are candidates if two of them or more, and more
  than half of them, were not asked for. So are two numbers of one unit joined by "or" ("5 orders or 6") or by a hyphen
  ("5-6 orders") if one of them was not asked for, and "yes or no", "0 or yes" and "0, yes" unless both were. If a date
  was asked for, dates are compared as wholes, and so are times. A phrase is not looked for in candidates; elsewhere in
  the answer it counts ("6 orders: 170, 180, 189").
- An answer that is nothing else than an offer of several values ("5, 6", "It is yes. It is no.", "Alice or Bob") has
  none of them (`hedges`).
- An answer that names several numbers where one was asked for, or "yes" and "no" in clauses of their own, has at most
  one of them, which it singles out (`rivals`).
- An amount in two units ("2.0 km or 1.2 mi") is one amount (`two_units`), and the numbers of rows ("1. …", "| 1 | …")
  are no numbers of the answer.
- A date that a question has and its answer repeats ("3/2") is neither an answer nor a candidate. Addresses, whole dates
  and the numbers of pages, steps and orders are details (`details`).
- An answer with far more numbers, items or words than were asked for (`MAX_…`) is a list, or a copy of a page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.judge.rules.hedges import offers_several
from components.judge.rules.matching import BOLD, plain
from components.judge.rules.numbers import SIGN, split_lists, values
from components.judge.rules.rivals import MONTH, POLAR, is_the_answer, says_zero
from components.judge.rules.two_units import in_one_unit

_DECLINED = re.compile(r"[\W_]*n\s?/\s?a(?![\w/])")
_DAY, _TIME = r"\d{1,4}[/-]\d{1,2}[/-]\d{1,4}(?!\d)", r"\d{1,2}:\d{2}(?::\d{2})?(?!\d)"
_WHOLES = tuple(re.compile(rf"(?<!\d){kind}") for kind in (_DAY, _TIME))
_NUMBER = rf"(?:(?:{SIGN})?[$€£¥#]?\s?(?:{_DAY}|{_TIME}|\d++(?:[.,]\d++)*+[a-z%]{{0,3}}+(?!\w)))"
_BETWEEN = r"(?:[\s,;|/&.\-]|(?<=\W)(?:and|or)(?=\W))++"
_NUMBERS = re.compile(rf"(?<![\w.]){_NUMBER}(?:{_BETWEEN}{_NUMBER})+")
_REPEATED = re.compile(rf"(?<![\w.]){_NUMBER}(?P<between>[^\d]{{1,40}}){_NUMBER}(?:(?P=between){_NUMBER})+")
_LETTER, _MARKS = r"[^\W\d_]", r"\s,;:|/&\"'*_()\[\]\-"
"""A letter, and the spaces and marks that may stand before and after "or"."""
_OR = re.compile(rf"(?<!{_LETTER})(?:or|maybe|perhaps)(?!{_LETTER})")
_VALUE = rf"(?>{_DAY}|{_TIME}|\d+(?:[.,]\d+)*)"
_UNIT = rf"(?P<unit>(?:%|\s?{_LETTER}+(?:\s{_LETTER}+){{0,2}}?)??)s?"
_SECOND = rf"(?P=sign)?\s?{_VALUE}(?:(?P=unit)(?!%)|(?![\s-]?(?:\w|%)))"
_CHOICE = re.compile(
    rf"(?<![\w.])(?:{SIGN})?(?P<sign>[$€£¥#]?)\s?{_VALUE}{_UNIT}"
    rf"(?:(?:[{_MARKS}]*+{_OR.pattern})+[{_MARKS}]*+{_SECOND})+"
)
"""Numbers of one unit, which may be left out after "or"; "3 years or 100 miles" and "2.5km (or 1.6 miles)" are none."""
_NEXT_WORD = rf"(?:[{_MARKS}.!?]|{_OR.pattern}|(?<!{_LETTER})and(?!{_LETTER}))++(?:yes|no)"
_POLAR = re.compile(
    rf"(?<!{_LETTER})(?:yes|no)(?:{_NEXT_WORD}(?={_NEXT_WORD}|[\"'*_)\]]*\s*(?:[,;!?]|\.(?!\s?\d)|$)))+"
)
"""Nothing but punctuation follows the last word, which is therefore neither "No fees" nor "No. 5"."""
_WORD = rf"(?<!{_LETTER})(?:yes|no)(?!{_LETTER})"
_AMOUNT = rf"(?:{SIGN})?[$€£¥#]?\s?{_VALUE}(?:%|\s?{_LETTER}+(?:\s{_LETTER}+)?)??"
_EITHER = rf"[\s,;:&\"'*_()\[\]\-]*+(?:{_OR.pattern}|[/|])(?:[{_MARKS}]|{_OR.pattern})*+"
_END = rf"(?=[\"'*_)\]]*\s*(?:[,;!?|/&]|{_OR.pattern}|\.(?!\s?\d)|$))"
_MIXED = re.compile(rf"(?<![\w.])(?:{_WORD}|{_AMOUNT})(?:{_EITHER}(?:{_WORD}|{_AMOUNT})){{1,12}}{_END}")
"""A choice between numbers, "yes" and "no"; a mixed one has numbers and words: "0 or yes", "no / 2 orders". "Yes / 39
min" is none, because a measure answers another question."""
_ITEM_VALUE = rf"(?:{_WORD}|(?:{SIGN})?[$€£¥#]?\d++(?:\.\d++)?+(?![\w.]*\w))"
_MIXED_ROW = re.compile(rf"(?<![\w.]){_ITEM_VALUE}(?:[\s,;|/&]++{_ITEM_VALUE}){{1,12}}(?:(?<=\d)|{_END})")
_CONTRADICTS = re.compile(r"\d\W+(?:yes|no)\b|^yes\W+0(?![.\d])")
"""In a row of numbers, "yes" and "no": "0, yes", "yes, 0". "Yes, 5" and "no, 0" are a number with its reading."""
_WHOLE = r"(?!0\d)\d+(?:\.\d+)?"
_NO_RANGE = r"(?!\d{5}-\d{4}\b|(?:19|20)\d\d-(?:[1-9]|1[0-2])\b|(?:[1-9]|1[0-2])-(?:19|20)\d\d\b)"
_RANGE = re.compile(
    rf"(?<![\w.,:/#'-])(?P<sign>[$€£¥]?){_NO_RANGE}{_WHOLE}(?P<unit>%|{_LETTER}{{0,3}})[-~](?P=sign)?{_WHOLE}"
    rf"(?:(?P=unit)|{_LETTER}{{1,3}}|%)(?![\w%~]|[.,:/-]\w)"
)
"""Two numbers joined by a hyphen. It is no month of a year and no ZIP code, and nothing that may be a part of a code, a
date, a time or a phone number, because a number begins with 0 or more follows."""
_POLAR_WORD = re.compile(r"\b(?:yes|no)\b")
_REMOVED = "…"
_TRUNCATED = re.compile(rf"(?:{SIGN})?\d+\.\d{{3,}}")
_ITEM = re.compile(r"[,;|/\n•]|\bor\b", re.IGNORECASE)
_PIECE = re.compile(r"[,;|/\n•]|\bor\b|[.!?](?=\s)|(?<!\S)\(?\w{1,3}[:)=](?=\s)", re.IGNORECASE)
"""What separates items, short sentences and the labels of options."""
MAX_PIECE_WORDS = 5
"""Words of a sentence up to which it may be an item of a list: "b: Pittsburgh. c: Boston."."""
_ROW = re.compile(r"^[ \t]*(?:(\d{1,3})[.)]|#(\d{1,3}):|\|[ \t]*(\d{1,3})[ \t]*\|)[ \t]+(?=\S)", re.MULTILINE)
_DATE = re.compile(r"(?<![\d/.-])\d{1,4}/\d{1,2}(?:/\d{1,4})?(?![\d/-]|\.\d)")
_VALUE_BEHIND = re.compile(r"\d|\byes\b|\bno\b(?!\s+[a-z])")
"""A number, "yes" or "no" behind the number of a row; "no others" is none."""
_MEASURE = re.compile(r"[$€£¥]\s?\d|\d\s?(?:%|km|mi|m|min|mins|minutes?|h|hours?)(?!\w)")
_ADDRESS = re.compile(r"https?://[^\s<>\"]+")
_MONTH = re.compile(rf"\b{MONTH}(?!\w)")
_LONG_DATE = re.compile(rf"\b{MONTH} \d{{1,2}}, \d{{4}}(?!\d)")
_SLASHED_DATE = re.compile(r"(?<![\d/])\d{1,4}/\d{1,2}/\d{1,4}(?![\d/])")
UNASKED = 2
"""Numbers that were not asked for, from which on numbers in a row are candidates."""
MAX_NUMBERS, MAX_ITEMS, MAX_WORDS, MAX_CHARACTERS = 20, 9, 250, 5000
"""Numbers, items of lists, words and characters that an answer may have beyond those asked for. The longest answers of
WebArena's authors with one phrase are addresses of nine items."""


def declines(answer: str) -> bool:
    """Whether an answer says that there is none: it begins with "N/A"."""
    return _DECLINED.match(plain(answer)) is not None


def without_candidates(answer: str, phrases: Sequence[str], question: str | None = None) -> str:
    """The parts of an answer that may contain one of the phrases that were asked for; empty if it is a list, a
    copy or an offer of several values.

    Args:
        phrases: all phrases that the answer must contain, and their alternatives.
        question: the task's intent, by which one of several numbers is singled out (`rivals`).
    """
    if too_long(answer, phrases) is not None:
        return ""
    phrase_text = plain("\n".join(phrases))
    numbers_asked = values(phrase_text)
    lines = split_lists(without_row_numbers(answer), numbers_asked, phrases).splitlines()
    answer = "\n".join(in_one_unit(plain(line), numbers_asked) for line in lines)
    if offers_several(answer, phrases) or not is_the_answer(answer, phrases, question):
        return ""
    prefixes = tuple(_TRUNCATED.findall("\n".join(phrases)))
    text = BOLD.sub(r"\1", plain(answer))
    undated = _LONG_DATE.sub(_REMOVED, text)
    if numbers_asked and _MONTH.search(phrase_text) is None and numbers_asked <= values(undated):
        text = undated  # a list of dates has what was asked for in its dates alone

    def unless_candidates(row: re.Match[str]) -> str:
        numbers = values(row[0].replace(",", " "))
        matches = {number for number in numbers if number in numbers_asked or number.startswith(prefixes)}
        is_choice = row.re is _RANGE or _OR.search(row[0]) is not None
        is_removed = _are_candidates(numbers, matches, is_choice)
        for kind in _WHOLES:
            wholes = _wholes(kind, row[0])
            matches = wholes & _wholes(kind, phrase_text)
            is_removed = is_removed or (bool(matches) and _are_candidates(wholes, matches, is_choice))
        return _REMOVED if is_removed else row[0]

    def unless_both(row: re.Match[str]) -> str:
        both = {"yes", "no"}
        is_asked = both <= set(_POLAR_WORD.findall(phrase_text))
        return _REMOVED if both <= set(_POLAR_WORD.findall(row[0])) and not is_asked else row[0]

    def unless_all(row: re.Match[str]) -> str:
        numbers, words = values(row[0]), set(_POLAR_WORD.findall(row[0]))
        is_asked = words <= set(_POLAR_WORD.findall(phrase_text)) and numbers <= numbers_asked
        is_detail = _OR.search(row[0]) is None and _MEASURE.search(row[0]) is not None and len(numbers) == 1
        return _REMOVED if numbers and words and not is_asked and not is_detail else row[0]

    text = _MIXED.sub(unless_all, text)
    if not says_zero(text, question):
        text = _MIXED_ROW.sub(lambda row: unless_all(row) if _CONTRADICTS.search(row[0]) else row[0], text)
    for pattern in (_NUMBERS, _RANGE, _CHOICE, _REPEATED):
        text = pattern.sub(unless_candidates, text)
    return _POLAR.sub(unless_both, text)


def without_dates(answer: str, question: str, phrases: Sequence[str]) -> str:
    """An answer without the dates that it repeats from the question ("2 commits on 3/2"), except those of a phrase."""
    for date in dict.fromkeys(_DATE.findall(question)):
        if not any(date in phrase for phrase in phrases):
            answer = re.sub(rf"(?<![\d/.-]){re.escape(date)}(?![\d/-]|\.\d)", _REMOVED, answer)
    return answer


def without_row_numbers(answer: str) -> str:
    """An answer without the numbers of its rows, if these count from 1: "1. Boston", "#1: Boston", "| 1 | Boston |"."""
    rows = list(_ROW.finditer(answer))
    counted = [int(row[1] or row[2] or row[3]) for row in rows] == [*range(1, len(rows) + 1)]
    rest = plain(answer[rows[0].end() :]) if len(rows) == 1 else ""
    is_one_sentence = len(rows) == 1 and not _VALUE_BEHIND.search(rest) and POLAR.search(rest) is None
    return answer if not counted or is_one_sentence else _ROW.sub("", answer)


def _in_whole_words(text: str) -> str:
    """A text whose addresses are an item each, and whose dates are a word: their slashes separate no items."""
    return _SLASHED_DATE.sub("date", _ADDRESS.sub("address,", text))


def _are_candidates(numbers: set[str], matches: set[str], is_choice: bool) -> bool:
    """Whether too many of the numbers of an answer were not asked for: any if it is a choice, else most.

    Args:
        matches: those that were asked for.
    """
    unasked = len(numbers - matches)
    return unasked >= (1 if is_choice else max(UNASKED, len(matches) + 1))


def _wholes(kind: re.Pattern[str], text: str) -> set[str]:
    """The dates or the times of a text, without zeros at the beginning of their parts."""
    return {re.sub(r"(?<!\d)0+(?=\d)", "", match) for match in kind.findall(text)}


def too_long(answer: str, phrases: Sequence[str]) -> str | None:
    """Why an answer is a list or a copy of a page, with its count and the limit; None if it is neither.

    Args:
        phrases: as for `without_candidates`; what they have themselves does not count.
    """
    if len(answer) > (most := MAX_CHARACTERS + 2 * sum(map(len, phrases))):
        return f"{len(answer)} characters, {most} are the most"
    numbers_asked = values(plain("\n".join(phrases)))
    answer = without_row_numbers(answer)
    text = plain(split_lists(answer, numbers_asked, phrases))
    answer, phrases = _in_whole_words(answer), [_in_whole_words(phrase) for phrase in phrases]
    pieces = [piece for piece in _PIECE.split(answer) if 0 < len(piece.split()) <= MAX_PIECE_WORDS]
    counts = (
        ("numbers that were not asked for", len(values(text) - numbers_asked), MAX_NUMBERS),
        (
            "items",
            len([item for item in _ITEM.split(answer) if item.strip()]),
            MAX_ITEMS + 2 * sum(len(_ITEM.split(phrase)) for phrase in phrases),
        ),
        ("words", len(text.split()), MAX_WORDS + sum(len(phrase.split()) for phrase in phrases)),
        ("short items", len(pieces), MAX_ITEMS + 2 * sum(len(_PIECE.split(phrase)) for phrase in phrases)),
    )
    excess = [f"{count} {kind}, {most} are the most" for kind, count, most in counts if count > most]
    return excess[0] if excess else None
