"""Numbers as answers: what is a number in a text, where it ends, and which other numbers compete with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from components.numerals import ENDS, with_ascii_digits
from components.worlds import hedges
from components.worlds.answer import DENIED, MAX_CHARACTERS, Answer
from components.worlds.plain_text import has_any, has_item, plain

_NUMBER = re.compile(
    r"(?<![\w.])-?\d++(?:,\d{3})*+(?:\.\d++)?+(?!(?:st|nd|rd|th)(?!\w))(?=[^\W\d_]{0,3}(?!\w))", re.IGNORECASE
)
"""A number, which a unit of up to three letters may follow, such as "12kg"; "2nd" is none."""
_ENDS = re.compile(rf"{ENDS}(?!\s?(?-i:M)(?!\w))", re.IGNORECASE)
"""What follows a number that ends here; "6M" are millions and "6m" are metres."""
_SPELLED = {
    word: Decimal(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_POLAR_CHOICE = re.compile(
    r"\b(?:yes|no)\W+or\b|\bor\W+(?:yes|no)\b(?!\s+\w)"
    r"|\byes\b.*\bno\b(?!\s+\w)|\bno\b(?!\s+\w).*\byes\b",
    re.IGNORECASE | re.DOTALL,
)
"""A choice between a number and "yes" or "no", or between these two: "0 or yes", "one says yes, another no"."""
_LINK = r"\W+(?:(?:or|to|maybe|perhaps|possibly)\W+)+"
_OFFERED = re.compile(
    rf"(?:\d[^\W\d_]{{0,3}}|\b(?P<left>{'|'.join(_SPELLED)})){_LINK}"
    rf"(?P<second>{'|'.join(_SPELLED)})\b(?=\W*$|\s*[.,;)])"
    rf"|\b(?P<first>{'|'.join(_SPELLED)})(?={_LINK}(?:\d|(?:{'|'.join(_SPELLED)})\b))"
)
"""A number word beside "or", such as "6 or seven". Elsewhere it is no number: "the cheapest one costs 6", "5.99 to two
decimals"."""
_LONE = re.compile(
    rf"(?<![\w-])(?P<sign>(?:minus|negative)\s+)?(?:(?P<word>{'|'.join(word for word in _SPELLED if word != 'one')})"
    r"|(?:^|(?<=\bis )|(?<=\bare )|(?<=\bwas )|(?<=\bwere )|(?<=\bonly )|(?<=\bexactly )|(?<=\bhas )|(?<=: ))"
    r"(?P<one>one))"
    r"(?![\w-])(?! of\b)"
)
"""A number word in an answer without digits: "three open tickets". "One" is often a pronoun, so it must begin the
answer or follow a verb."""
_MINUS = re.compile(r"(?:\b(?:minus|negative)\s+|(?<!\w)[-\N{MINUS SIGN}])([$€£¥]?)(?=\d)", re.IGNORECASE)
_SHARE = re.compile(r"(?<![\w.])(?P<share>\d+(?:[.,](?P<decimals>\d+))?)\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)
_WHOLE = re.compile(
    r"\bof (?:(?:the|all|a|total|of) )*(?P<of>\d+)(?![\d.,]*\d|\s?%|\s?percent)"
    r"|(?<![\w.])(?P<all>\d+) (?:(?:votes|people|members|voters) )?(?:in total|altogether|in all)\b",
    re.IGNORECASE,
)
"""The number of which a part is named: "3 of 7", "7 votes in total"."""
_WHOLES = 1000
"""So many wholes are tried for a share without one: "3 votes (42.9%)"."""
_MONEY = re.compile(
    r"[$€£¥]\s?(?P<after>\d[\d,]*(?:\.\d+)?)"
    r"|(?<![\w.,$€£¥])(?P<before>\d[\d,]*(?:\.\d+)?)\s?(?:[$€£¥]|(?:dollars?|usd|euros?|eur|pounds?|gbp)\b)",
    re.IGNORECASE,
)
"""A number with a currency mark."""
_QUANTITY = re.compile(
    r"(?<!\bor )(?<!\bto )(?<![\w.,$€£¥-])\d{1,3}"
    r"(?= (?:different )?(?:articles?|items?|lines?|pieces?|products?|things?|units?)\b)",
    re.IGNORECASE,
)
"""A number of articles, which may stand beside an amount of money."""
_DENIES = re.compile(rf"(?:{DENIED})(?:exactly |quite |equal to )?[$€£¥]?$", re.IGNORECASE)
"""What stands before a number that an answer excludes: "not 6"."""


@dataclass(frozen=True)
class Number(Answer):
    """A number or an amount of money.

    Attributes:
        value: the right one.
        given: numbers that the task itself names; an answer may repeat them.
        near: wrong numbers of the same kind.
        nothing: words that stand for 0 in an answer without numbers, such as "no replies".
        is_part: the value is a part of a whole, and an answer may say of how many, and which share: "3 votes (42.9% of
            7)". The whole must be possible: no less than the value and the largest of `near` together.
        others: names that are answers of other tasks. None of them may be an item of a list that has the value alone:
            "6, Complete".
        labels: names with which the task says what is counted. An answer may begin with one and a colon: "Complete: 6".
    """

    value: Decimal | int | float | str
    given: Sequence[Decimal | int | float | str] = ()
    near: Sequence[Decimal | int | float | str] = ()
    nothing: Sequence[str] = ()
    is_part: bool = False
    others: Sequence[str] = ()
    labels: Sequence[str] = ()

    def accepts(self, answer: str) -> bool:
        """Whether the value is the only number in the answer, besides the given ones. It may be rounded to two decimals
        or more, but not go on: "6 million" is not 6. Number words up to twenty count if there are no digits. One number
        of articles may stand beside an amount with a currency mark: "$45.90 for 3 items". A small number that stands
        alone beside a reason why a task cannot be done is a guess: "It is sold out. 6"."""
        if len(answer) > MAX_CHARACTERS or self._is_one_of_many(answer):
            return False
        text = _MINUS.sub(r"\1-", with_ascii_digits(answer))
        if _POLAR_CHOICE.search(text):
            return False
        text = self._without_whole(text) if self.is_part else text
        right, given = _decimal(self.value), {_decimal(number) for number in self.given}
        amounts = {_decimal(match["after"] or match["before"]) for match in _MONEY.finditer(text)}
        if amounts == {right} and len(_QUANTITY.findall(text)) == 1:
            text = _QUANTITY.sub(" ", text)
        offers = [offer.groupdict().values() for offer in _OFFERED.finditer(text.casefold())]
        numbers = {_SPELLED[word] for offer in offers for word in offer if word is not None}
        for match in _NUMBER.finditer(text):
            number = right if _is_rounded(match[0], right) else _decimal(match[0])
            if _ENDS.match(text, match.end()) is None and number not in given - {right}:
                return False
            numbers |= set() if number == right and _DENIES.search(text[: match.start()]) else {number}
        if _NUMBER.search(text) is None:
            numbers |= _lone_words(text.casefold())
            numbers |= {Decimal(0)} if has_any(plain(text), self.nothing) else set()
        return numbers - (given - {right}) == {right}

    @property
    def example(self) -> str:
        """The value alone."""
        return str(self.value)

    @property
    def candidates(self) -> Sequence[str]:
        """The numbers near the right one."""
        return [str(number) for number in self.near] or [str(_decimal(self.value) + step) for step in (-1, 1, 2)]

    def _is_named(self, clause: str) -> bool:
        """Whether a clause names a number or says that there is nothing."""
        return bool(_NUMBER.search(clause) or _lone_words(clause) or has_any(plain(clause), self.nothing))

    def _is_one_of_many(self, answer: str) -> bool:
        """Whether an answer refuses, too, or the number stands alone beside an answer to another task."""
        if hedges.offers_refusal(answer, self._is_named):
            return True
        for label in self.labels:
            answer = re.sub(rf"^\W*{re.escape(label)}\W*:\s", "", answer, flags=re.IGNORECASE)
        if not hedges.offers_count(with_ascii_digits(answer)):
            return False
        return hedges.has_reason_alone(answer) or has_item(hedges.items(answer), map(plain, self.others), ())

    def _without_whole(self, text: str) -> str:
        """A text without the whole and the share, if they fit the value; otherwise the text."""
        value = _decimal(self.value)
        least = max(int(value + max(map(_decimal, self.near), default=Decimal(0))), 1)
        wholes = {int(match["of"] or match["all"]) for match in _WHOLE.finditer(text)}
        possible = wholes or range(least, least + _WHOLES)
        if len(wholes) > 1 or min(possible) < least:
            return text
        are_shares = all(
            any(abs(100 * value / whole - _decimal_of(match["share"])) <= Decimal(10) ** -len(match["decimals"] or "")
                for whole in possible)
            for match in _SHARE.finditer(text)
        )  # fmt: skip
        return _SHARE.sub(" ", _WHOLE.sub(" ", text)) if are_shares else text


def numbers_in(text: str) -> list[str]:
    """The numbers of a text, as it writes them."""
    return _NUMBER.findall(text)


def _lone_words(text: str) -> set[Decimal]:
    """The numbers that an answer without digits has as words."""
    words = [
        word
        for word in _LONE.finditer(text)
        if _ENDS.match(text, word.end()) and not _DENIES.search(text[: word.start()])
    ]
    return {_SPELLED[word["word"] or word["one"]] * (-1 if word["sign"] else 1) for word in words}


def _is_rounded(text: str, right: Decimal) -> bool:
    """Whether a number is the right one, rounded to two decimals or more."""
    number = Decimal(text.replace(",", ""))
    places = -int(number.as_tuple().exponent)
    return places >= 2 and 2 * abs(Fraction(number) - Fraction(right)) <= Fraction(1, 10**places)


def _decimal(number: Decimal | int | float | str) -> Decimal:
    return Decimal(str(number).replace(",", "")).normalize()


def _decimal_of(share: str) -> Decimal:
    """A number with a decimal point or comma."""
    return Decimal(share.replace(",", "."))
