"""The one number, or the one "yes" or "no", that an answer gives where nothing else is asked for.

An answer that names several numbers has at most one that it gives as its answer: the one that a word such as "total" or
"so" marks, or the only one of the last sentence, or else the first, if the others are its details (behind a colon, in
brackets) or few. So a list of candidates, whatever stands between them, wins no more than one constant. It wins
nothing if its words say that it guesses ("alternatively", "if A then 0"), or if its items have labels of options ("A:
0. B: 1."). An "if" says so where a number, "yes" or "no" follows or stands in its sentence, and no word does so in a
courtesy ("Let me know if you need more."). One other number beside the right one is a detail, unless the words say that
it is a guess.

Numbers compete if they have as many digits before the point as the right one, and both or neither are money. Dates,
times, percentages, ordinals and bounds ("3 or more") do not compete. "Yes" and "no" compete where both stand for a
clause: "Yes, it can. No, it cannot." In "Yes, no tolls" and "No, there is none, yes?" they do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from components.judge.rules.matching import BOLD, bare, plain
from components.judge.rules.numbers import SIGN, values

_ASKED = re.compile(rf"(?:{SIGN})?[$€£¥₹#]?\d+(?:\.\d+)?\s?[a-z%]{{0,12}}")
_NO_NUMBER = re.compile(
    r"(?<!\d)\d{1,4}[/-]\d{1,2}[/-]\d{1,4}|\d{1,2}:\d{2}(?::\d{2})?|(?<!\d)\d{1,2}/\d{4}|(?:19|20)\d\d-\d{1,2}|(?<!\d)\d++(?:\.\d++)?\s?%|(?<!\d)\d++(?:st|nd|rd|th)\b"
    r"|no (?:more|less|fewer) than \d+|(?<=\d)\s?/\s?(?:5|10|100)(?!\d)"
)
"""Dates, times, percentages, ordinals, bounds, and what a score is out of."""
MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|ober)?\.?"
_SHORT_DATE = r"\d{1,2}/\d{1,2}(?![\d/])"
_PERHAPS_NO_NUMBER = re.compile(
    rf"\b{MONTH} \d{{1,2}}(?!\d)|(?<!\d)\d{{1,2}} {MONTH}(?![a-z])"
    rf"|\b(?:on|from|between) {_SHORT_DATE}(?:(?:, and|,| and| to|-) ?{_SHORT_DATE})*"
    r"|(?<!\d)\d++(?:\s\w+)? or (?:more|less|fewer|higher|lower|above|below|better)\b"
)
"""Days of a month, dates without a year, and bounds, which do not compete if the right number stands elsewhere, too."""
_NUMBER = re.compile(
    rf"(?<![a-z\d.,_-])(?P<sign>{SIGN})?(?P<currency>[$€£¥₹])?\s?(?P<digits>\d++(?:\.\d++)?+)(?![a-z]*\d)"
)
_MARK = re.compile(
    r"(?:\b(?:so|thus|hence|therefore|totals?|sum|overall|altogether|answer)(?!\w)|=|->|→|⇒)"
    r"(?:\W+(?:is|are|of|was|were|the|answer|total|there|it)\b)*[^\w$€£¥₹]*$"
)
_MARK_BEHIND = re.compile(r"[^\d.,;!?]{0,20}\b(?:in total|altogether|overall|in all)\b")
_GUESS = re.compile(
    r"\b(?:or(?! so\b)|alternatively|alternative|maybe|perhaps|possibly|either|else|versus|vs|guess|option|choice"
    r"|candidate|might|could be)\b|或|\bat least\b.*\bat most\b|\d\s?/\s?\d"
)
_IF = re.compile(r"\bif\b")
_COURTESY = re.compile(
    r"\b(?:let me know|tell me|feel free|happy to|glad to|please ask|just ask|can help)\b"
    r"|^\s*if you (?:need|want|have|would like|'d like)\b"
)
_YES_OR_NO = re.compile(r"\b(?:yes|no)\b")
_LABEL = re.compile(r"(?:^|[\s.;,(])(?:[a-z]{1,2}|(?:option|choice|candidate) \w)\s?[:)=]\s?(?=\S)")
POLAR = re.compile(
    r"(?:(?:^|[.;:,!?(=]|\s-)\s*|\b(?:is|then|else|guess|or|maybe|perhaps|probably|however|but|wait)\s+)(?P<word>yes|no)"
    r"(?=\s*(?:$|[;,!:)]|\.(?!\s?\d)|\?(?!\s*$)|\s-|\b(?:it|he|she|they|there|that|this|not|if|wait|sorry|or|and)\b))"
)
_DETAILS = re.compile(r"[a-z\s]{0,30}(?:[:(]|\n\s*[-•*])")
_SENTENCE = re.compile(r"[.!?\n](?=\s|$)")
FEW = 3
"""Competing numbers beside the first one, up to which the first one is the answer."""
LABELS = 2
"""Labels of options, from which on an answer is a list of options."""


def is_the_answer(answer: str, phrases: Sequence[str]) -> bool:
    """Whether an answer gives what was asked for as its one answer. True if more than one number or one of "yes" and
    "no" was asked for; whether the phrases are in the answer at all is another question.

    Args:
        phrases: all phrases that the answer must contain, and their alternatives.
    """
    targets = {bare(phrase) for phrase in phrases}
    text = "\n".join(BOLD.sub(r"\1", plain(line)) for line in answer.splitlines())
    polar_words = {match["word"] for match in POLAR.finditer(text)}
    if targets <= {"yes", "no"}:
        return len(targets) != 1 or len(polar_words) < 2
    numbers = values(" ".join(targets))
    if len(numbers) != 1 or not all(_ASKED.fullmatch(target) for target in targets):
        return True
    return _gives(text, next(iter(numbers)), is_mixed=bool(polar_words))


def _gives(text: str, target: str, is_mixed: bool) -> bool:
    text = _NO_NUMBER.sub(lambda match: " " * len(match[0]), text)
    without_days = _PERHAPS_NO_NUMBER.sub(lambda match: " " * len(match[0]), text)
    if any(_is(number, target) for number in _NUMBER.finditer(without_days)):
        text = without_days
    numbers = list(_NUMBER.finditer(text))
    right = [number for number in numbers if _is(number, target)]
    has_currency = any(number["currency"] for number in right)
    rivals = {
        _value(number)
        for number in numbers
        if number not in right and bool(number["currency"]) is has_currency and _size(_value(number)) == _size(target)
    }
    is_guess = _guesses(text, [n for n in numbers if n in right or _value(n) in rivals])
    if not rivals:
        return not (is_mixed and is_guess)
    ends = [0, *(number.end() for number in numbers)]
    marked = [
        number
        for start, number in zip(ends, numbers, strict=False)
        if (number in right or _value(number) in rivals) and _is_marked(text, start, number)
    ]
    if len({_value(number) for number in marked}) == 1:
        return _is(marked[0], target)
    if marked or is_guess:
        return False
    if len(rivals) == 1:
        return True
    given = _singled_out(text, [n for n in numbers if n in right or _value(n) in rivals], len(rivals))
    return given is not None and _is(given, target)


def _guesses(text: str, candidates: Sequence[re.Match[str]]) -> bool:
    """Whether the words of an answer say that it guesses.

    Args:
        candidates: the right number and its rivals.
    """
    places = [*(number.start() for number in candidates), *(word.start() for word in _YES_OR_NO.finditer(text))]
    ends = [0, *(end.end() for end in _SENTENCE.finditer(text)), len(text)]
    sentences = [
        (start, text[start:end])
        for start, end in pairwise(ends)
        if any(start <= place < end for place in places) or not _COURTESY.search(text[start:end])
    ]
    return (
        len(_LABEL.findall(text)) >= LABELS
        or _GUESS.search("".join(sentence for _, sentence in sentences)) is not None
        or any(_IF.search(sentence) and any(place >= start for place in places) for start, sentence in sentences)
    )


def _is_marked(text: str, start: int, number: re.Match[str]) -> bool:
    return bool(_MARK.search(text[start : number.start()]) or _MARK_BEHIND.match(text, number.end()))


def _singled_out(text: str, numbers: Sequence[re.Match[str]], rivals: int) -> re.Match[str] | None:
    """The only number of the last sentence if one before has several; else the first if the others are details."""
    ends = [0, *(end.end() for end in _SENTENCE.finditer(text)), len(text)]
    by_sentence = [[n for n in numbers if start <= n.start() < end] for start, end in pairwise(ends)]
    filled = [group for group in by_sentence if group]
    if len(filled) > 1 and len(filled[-1]) == 1 and all(len(group) > 1 for group in filled[:-1]):
        return filled[-1][0]
    first, second = numbers[0], numbers[1]
    has_details = _DETAILS.match(text[first.end() : second.start()]) is not None
    return first if rivals <= FEW or has_details else None


def _is(number: re.Match[str], target: str) -> bool:
    """Whether a number is the one that was asked for; a truncated one may go on, and a price may end before its last 0
    (`numbers`)."""
    value, places = _value(number), len(target.partition(".")[2])
    is_short_price = places == 2 and target.endswith("0") and value == target[:-1]
    return value == target or is_short_price or (places > 2 and value.startswith(target))


def _value(number: re.Match[str]) -> str:
    whole, point, fraction = number["digits"].partition(".")
    return (number["sign"] or "") + (whole.lstrip("0") or "0") + point + fraction


def _size(value: str) -> int:
    """Digits before the point."""
    return len(value.lstrip("-").partition(".")[0])
