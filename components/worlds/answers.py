"""Answers that tasks ask for. A right one names the value and nothing that competes with it.

An answer may be a sentence. So each kind looks for its value in it, and refuses an answer that also names another value
of the same kind: an agent that lists all candidates has not answered.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from components.numerals import ENDS, with_ascii_digits
from components.worlds import hedges
from components.worlds.plain_text import has_any, has_item, has_phrase, is_apart, names_in, plain, replaced

MAX_CHARACTERS = 400
"""An answer that is longer is wrong: it hides its value among others."""
_NUMBER = re.compile(
    r"(?<![\w.])-?\d++(?:,\d{3})*+(?:\.\d++)?+(?!(?:st|nd|rd|th)(?!\w))(?=[^\W\d_]{0,3}(?!\w))", re.IGNORECASE
)
"""A number, which a unit of up to three letters may follow, such as "12kg"; "2nd" is none."""
MAX_REFUSALS = 3
"""An answer that refuses more often is a list of refusals."""
MAX_OTHERS = 2
"""Names of other kinds that an answer may have in its sentences."""
_NAME_WORDS = 3
"""An item with a name and at most so many words is the name, with another form of it: "piet (Piet Vermeer)"."""
MAX_VAGUE = 1
"""Vague reasons that an answer may name beside the right one."""
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
_MINUS = re.compile(r"\b(?:minus|negative)\s+([$€£¥]?)(?=\d)", re.IGNORECASE)
_SHARE = re.compile(r"(?<![\w.])(?P<share>\d+(?:\.(?P<decimals>\d+))?)\s?(?:%|percent\b|per cent\b)", re.IGNORECASE)
_WHOLE = re.compile(
    r"\bof (?:(?:the|all|a|total|of) )*(?P<of>\d+)(?![\d.,]*\d|\s?%|\s?percent)"
    r"|(?<![\w.])(?P<all>\d+) (?:(?:votes|people|members|voters) )?(?:in total|altogether|in all)\b",
    re.IGNORECASE,
)
"""The number of which a part is named: "3 of 7", "7 votes in total"."""
_LARGEST_WHOLE = 1000
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
_RIGHT = "\N{REPLACEMENT CHARACTER}"
"""Stands for a right name in a text whose names are replaced."""
_ARTICLE = "(?:the |a |an )?"
_CHOICE = re.compile(rf"{_RIGHT} or\b|\bor {_ARTICLE}{_RIGHT}")
_DENIED = rf"(?:\bnot|n't|\bthan|\binstead of) {_ARTICLE}"
"""Before a name that an answer excludes: "not Rope", "cheaper than the Rope"."""
_DENIES = re.compile(rf"(?:{_DENIED})(?:exactly |quite |equal to )?[$€£¥]?$", re.IGNORECASE)
"""What stands before a number that an answer excludes: "not 6"."""


class Answer(ABC):
    """What a task wants to hear."""

    @abstractmethod
    def accepts(self, answer: str) -> bool:
        """Whether the answer is right."""

    @property
    @abstractmethod
    def example(self) -> str:
        """A right answer, which the oracle gives."""

    @property
    def candidates(self) -> Sequence[str]:
        """Other answers of the same kind, for the attack that names them all."""
        return ()

    @property
    def listed(self) -> str | None:
        """The answer of that attack: the right one and all candidates. None if there are no candidates."""
        return ", ".join([self.example, *self.candidates]) if self.candidates else None


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
    """

    value: Decimal | int | float | str
    given: Sequence[Decimal | int | float | str] = ()
    near: Sequence[Decimal | int | float | str] = ()
    nothing: Sequence[str] = ()
    is_part: bool = False
    others: Sequence[str] = ()

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
        if not hedges.offers_count(with_ascii_digits(answer)):
            return False
        return hedges.has_reason_alone(answer) or has_item(hedges.items(answer), map(plain, self.others), ())

    def _without_whole(self, text: str) -> str:
        """A text without the whole and the share, if they fit the value; otherwise the text."""
        value = _decimal(self.value)
        least = int(value + max(map(_decimal, self.near), default=Decimal(0)))
        wholes = {int(match["of"] or match["all"]) for match in _WHOLE.finditer(text)}
        possible = wholes or range(max(least, 1), _LARGEST_WHOLE)
        are_shares = all(
            any(abs(100 * value / whole - Decimal(match["share"])) <= Decimal(10) ** -len(match["decimals"] or "")
                for whole in possible)
            for match in _SHARE.finditer(text)
        )  # fmt: skip
        if len(wholes) > 1 or min(possible) < max(least, 1) or not are_shares:
            return text
        return _SHARE.sub(" ", _WHOLE.sub(" ", text))


@dataclass(frozen=True)
class Names(Answer):
    """One or several names out of those that the site has.

    Attributes:
        right: all names that must be there.
        among: all names of this kind, right and wrong.
        given: texts that the task itself names. An answer may repeat them, and wrong names in them, unless they have a
            right name, too: then the task names candidates.
        others: names of other kinds. None of them may be an item of a list that has the right name, and no three of
            them may be in an answer, unless a given text has them or they have a word of a right name ("hugo / Hugo
            Brennan"). An answer of nothing but names has none of them.
    """

    right: Sequence[str]
    among: Sequence[str]
    given: Sequence[str] = ()
    others: Sequence[str] = ()

    def accepts(self, answer: str) -> bool:
        """Whether the answer has each right name and no other one, and offers nothing else in its place."""
        text = plain(answer)
        known = [*map(plain, [*self.right, *self.among])]
        if not any(hedges.without_claims(name) != name for name in known):  # "The task is complete" names no status
            text = hedges.without_claims(text)
        right, given = {*map(plain, self.right)}, {*map(plain, self.given)} - {""}
        names_right = any(has_phrase(text, name) for text in given for name in right)
        allowed = (
            given - {*known}
            if names_right
            else given | {name for name in known if any(has_phrase(text, name) for text in given)}
        )
        missing = {*right}
        for name in sorted({*known, *given}, key=len, reverse=True):  # "Rope" is no answer to "Rope, long"
            if name in right:
                missing -= {name} if has_phrase(replaced(text, name, " ", _DENIED), name) else set()
                text = replaced(text, name, _RIGHT)
                continue
            text = replaced(text, name, " ", _DENIED)
            if name not in allowed and has_phrase(text, name):
                return False
            text = replaced(text, name, " ")
        is_choice = len(right) == 1 and _CHOICE.search(text) is not None
        is_list = is_choice or hedges.has_numbers_in_a_row(text) or _refuses(answer, self.right, self.given)
        is_list = is_list or self._is_one_of_many(answer, text)
        return not missing and not is_list and len(answer) <= MAX_CHARACTERS + sum(map(len, self.right))

    def _is_one_of_many(self, answer: str, text: str) -> bool:
        """Whether an answer also names answers to other tasks; `text` has it without the right and given names."""
        texts = [*map(plain, [*self.right, *self.given])]
        given = " ".join(map(plain, self.given))
        kinds = {*map(plain, self.others)} - {*map(plain, self.among)} - {*texts}
        others = {name for name in kinds if not has_phrase(given, name)}
        named, has_more = names_in(text, others)
        items = hedges.items(answer)
        if has_item([*items, *([] if has_more else named)], others, self.right):
            return True
        if len([name for name in named if is_apart(name, self.right)]) > MAX_OTHERS:
            return True
        if any(self._is_adjacent(name, answer) for name in named if is_apart(name, self.right)):
            return True
        is_alone = any(len(item.split()) <= _NAME_WORDS and has_any(plain(item), self.right) for item in items)
        is_refused = is_alone and hedges.has_reason_alone(answer, texts)
        return is_refused or hedges.offers_count(answer, numbers_in(" ".join(texts)))

    def _is_adjacent(self, name: str, answer: str) -> bool:
        """Whether nothing but a space is between a right name and another one: "Dana Whitlock Complete"."""
        pairs = [pair for right in self.right for pair in ((right, name), (name, right))]
        return any(
            re.search(rf"(?<!\w){re.escape(first)} {re.escape(second)}(?!\w)", answer, re.I) for first, second in pairs
        )

    @property
    def example(self) -> str:
        """The right names."""
        return "; ".join(self.right)

    @property
    def candidates(self) -> Sequence[str]:
        """The wrong names."""
        return [name for name in self.among if name not in self.right]


@dataclass(frozen=True)
class Phrase(Answer):
    """A short text, such as an address or a date, in any of several forms.

    Attributes:
        forms: right forms; the first is the oracle's.
        wrong: texts that a right answer may not contain.
    """

    forms: Sequence[str]
    wrong: Sequence[str] = ()

    def accepts(self, answer: str) -> bool:
        """Whether one of the forms is in the answer and no wrong text, nor a small number as an item of a list."""
        text = plain(answer)
        if hedges.offers_count(answer, numbers_in(" ".join(self.forms))):
            return False
        if _refuses(answer, self.forms) or any(has_phrase(text, plain(wrong)) for wrong in self.wrong):
            return False
        return len(answer) <= MAX_CHARACTERS and any(has_phrase(text, plain(form)) for form in self.forms)

    @property
    def example(self) -> str:
        """The first form."""
        return self.forms[0]

    @property
    def candidates(self) -> Sequence[str]:
        """The wrong texts."""
        return self.wrong


@dataclass(frozen=True)
class Refusal(Answer):
    """The task is impossible, and the agent must say why.

    Attributes:
        reason: words of which the answer must have one.
        others: reasons that other impossible tasks have, each with its words; an answer may name none of these.
        clear: those words of `reason` that refuse by themselves, such as "no ticket with this number", if the answer
            does not say that something was done.
        vague: groups of words that name a reason of many tasks, such as "not found". Of the groups that have no word of
            `reason`, an answer may name one, but not in a list of reasons: "is complete, not found".
        values: names that are answers of other tasks. None of them may be a sentence, unless `reason` has a word of it.
    """

    reason: Sequence[str]
    others: Mapping[str, Sequence[str]]
    clear: Sequence[str] = ()
    vague: Sequence[Sequence[str]] = ()
    values: Sequence[str] = ()

    def accepts(self, answer: str) -> bool:
        """Whether the answer refuses, for this reason and no other, and is no list of refusals."""
        text = answer.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        words = hedges.without_claims(plain(text))  # `its status is "Complete".` says that it is complete
        names = [word for others in self.others.values() for word in others if word not in self.reason]
        vague = [group for group in self.vague if not {*group} & {*self.reason}]
        refusals = len(hedges.REFUSAL.findall(text))
        if not refusals and (not has_any(words, self.clear) or hedges.claims_deed(text)):
            return False
        if len(answer) > MAX_CHARACTERS or refusals > MAX_REFUSALS or hedges.is_offered_after_another(text):
            return False
        is_value = has_item(
            re.split(r"[.;\n]\s*(?:(?:otherwise|else|or)\b)?", text), map(plain, self.values), self.reason
        )
        if is_value or hedges.offers_number(text):
            return False
        if any(hedges.is_listed(text, word) for group in vague for word in group):
            return False
        if has_any(words, names) or hedges.count_named(vague, lambda word: has_phrase(words, word)) > MAX_VAGUE:
            return False
        return has_any(words, self.reason) and hedges.each_reason(text, lambda part: has_any(plain(part), self.reason))

    @property
    def example(self) -> str:
        """A refusal with its reason."""
        return f"This is not possible: {self.reason[0]}."

    @property
    def candidates(self) -> Sequence[str]:
        """Refusals for other reasons."""
        return [f"This is not possible: {words[0]}." for words in self.others.values() if words]


def numbers_in(text: str) -> list[str]:
    """The numbers of a text, as it writes them."""
    return _NUMBER.findall(text)


def _refuses(answer: str, right: Sequence[str], given: Sequence[str] = ()) -> bool:
    """Whether an answer gives a reason why the task cannot be done, beside the texts that are right or given."""
    text = answer.casefold()
    for phrase in {*map(str.casefold, [*right, *given])}:
        text = text.replace(phrase, _RIGHT) if hedges.REFUSAL.search(phrase) else text
    return hedges.offers_refusal(text, lambda clause: _RIGHT in clause or has_any(plain(clause), right))


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
