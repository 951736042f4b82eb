"""What an answer says beside its value: where it was read, when, and on how many pages.

In "As of 2023-06-12, 6", "6, see http://shop.test/review?page=2" and "Step 1: open. Step 2: read: 6" only 6 is a value.
These are details of an answer:

- addresses, and whole dates, unless a phrase that was asked for is one;
- numbers with the name of what they count off ("page 3", "step 2", "order #187", "#187"), unless the task asks for
  such a number ("the order ID of …"); numbers of pages, steps and searches; wholes ("of 9"); and numbers that
  the task has itself ("the most recent 2 orders");
- years beside a month, a quarter or "in", where no number was asked for.

A version ("v2.1") is no number at all, unless the task asks for a version or a phrase is one (`without_versions`).
Another kind of details is left out only where the value that was asked for may stand elsewhere: another number with as
many digits is left, or all numbers are, where several were asked for. That does not depend on which number is right. So
"page 0: 1 review" has 1 and not 0, and "page 0" alone has 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from components.judge.rules.matching import plain
from components.judge.rules.numbers import values
from components.judge.rules.rivals import MONTH, asks_for_a_date, size

REMOVED = "…"
_ADDRESS = re.compile(r"(?:https?://|www\.|\blocalhost(?=[:/]))[^\s<>\"]*[^\s<>\".,;:!?)\]'*]", re.IGNORECASE)
_HOUR = r"(?:[ T](?:at )?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?)?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    r"(?<![\w/.-])(?:\d{4}([/-])\d{1,2}\1\d{1,2}|\d{1,2}([/-])\d{1,2}\2\d{4}"
    rf"|{MONTH} {_DAY},? \d{{4}}|{_DAY} {MONTH},? \d{{4}}){_HOUR}(?![\w/-]|\.\d)",
    re.IGNORECASE,
)
_YEAR = re.compile(
    rf"\b(?:in|of|for|during|since|until|by|from|to|year|q[1-4]|{MONTH}),?\s(?:q[1-4]\s|{MONTH}\s)?(?:19|20)\d\d(?![\w/-]|\.\d)"
    r"|\bq[1-4](?!\w)",
    re.IGNORECASE,
)
_NOUNS = (
    "page|step|tab|row|line|section|chapter|figure|table|order|invoice|issue|review|comment|post|item|product|result"
)
_LABEL = re.compile(
    rf"(?<![\w-])(?:(?P<noun>{_NOUNS})\s(?:(?:no\.?|number|id)\s)?#?|#)(?P<number>\d+)(?!\w|[.,-]\d)", re.IGNORECASE
)
_WAY = re.compile(
    r"(?<![\w.,$€£-])\d+ (?:(?:result|search|review|web) )?"
    r"(?P<noun>page|tab|step|click|screen|search|quer(?=y|ies)|attempt)(?:s|es|y|ies)?(?![\w-])",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"(?<!total )(?<!sum )(?<!count )(?<!number )(?<!amount )(?<!average )(?<!rating )(?<!price )(?<!cost )(?<!score )"
    r"\b(?:out )?of (?:(?:the|all|my|our|these|a total of|all the) )?\d+(?![\w.,/-]*\d)",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![\w.])v(?:er(?:sion|\.)?\s?)?\d+(?:\.\d+)*", re.IGNORECASE)
_ASKS_FOR_VERSION = re.compile(r"\b(?:versions?|releases?|builds?|tags?|v\d)", re.IGNORECASE)
_COUNTED = re.compile(r"(?<![\w.,$€£/-])\d+ [^\W\d_]{3,}")


def without_details(answer: str, phrases: Sequence[Sequence[str]], question: str) -> str:
    """An answer in which details are replaced by "…".

    Args:
        phrases: the alternatives of each phrase that the answer must contain.
        question: the task's intent.
    """
    phrase_text = plain("\n".join(phrase for alternatives in phrases for phrase in alternatives))
    if _ADDRESS.search(phrase_text) is None:
        answer = _without(answer, _ADDRESS, phrases)
    if not asks_for_a_date(question) and _DATE.search(phrase_text) is None:
        answer = _without(answer, _DATE, phrases)
    if not values(phrase_text):
        answer = _without(answer, _YEAR, phrases)
    question = question.casefold()
    answer = _without(answer, _LABEL, phrases, lambda label: _asks_for_label(question, (label["noun"] or "").lower()))
    answer = _without(answer, _WAY, phrases, lambda way: way["noun"].lower() in question)
    if values(phrase_text):
        answer = _without(answer, _WHOLE, phrases)
        counted = {match[0] for match in _COUNTED.finditer(question)}
        answer = _without(answer, _COUNTED, phrases, lambda match: match[0].casefold() not in counted)
    return answer


def without_versions(answer: str, phrases: Sequence[str], question: str) -> str:
    """An answer whose versions are replaced by "…", unless the question asks for one or a phrase has one.

    Args:
        phrases: all phrases that the answer must contain, and their alternatives.
        question: the task's intent.
    """
    is_asked = _ASKS_FOR_VERSION.search(question) or any(map(_VERSION.search, phrases))
    return answer if is_asked else _VERSION.sub(REMOVED, answer)


def _asks_for_label(question: str, noun: str) -> bool:
    """Whether a question asks for the number that a thing has, such as the ID of an order. Without a noun, of any."""
    nouns = noun or _NOUNS
    return (
        re.search(rf"\b(?:which|what) (?:{nouns})\b(?!s)|\b(?:{nouns}) (?:ids?|numbers?|no\.)(?!\w| \d)", question)
        is not None
    )


def _without(
    answer: str,
    details: re.Pattern[str],
    phrases: Sequence[Sequence[str]],
    is_asked: Callable[[re.Match[str]], bool] = lambda match: False,
) -> str:
    """An answer without some details, or as it is if the value that was asked for may be one of them."""
    every = [plain(phrase) for alternatives in phrases for phrase in alternatives]
    names = [phrase for phrase in every if not phrase[:1].isdigit()]

    def shortened(match: re.Match[str]) -> str:
        detail = plain(match[0])
        is_phrase = any(name in detail for name in names) or any(detail in phrase for phrase in every)
        return match[0] if is_phrase or is_asked(match) else REMOVED

    rest = details.sub(shortened, answer)
    left = values(plain(rest))
    sizes = {size(number) for number in left}

    def may_be_left(phrase: str) -> bool:
        numbers = values(plain(phrase))
        return numbers <= left or (len(phrases) == len(numbers) == 1 and not sizes.isdisjoint(map(size, numbers)))

    is_left = all(any(map(may_be_left, alternatives)) for alternatives in phrases)
    return rest if is_left and plain(rest).strip(f" {REMOVED}.") else answer
