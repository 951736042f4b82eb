"""Answers that tasks ask for. A right one names the value and nothing that competes with it.

An answer may be a sentence. So each kind looks for its value in it, and refuses an answer that also names another value
of the same kind: an agent that lists all candidates has not answered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from components.worlds import hedges
from components.worlds.answer import ARTICLE, DENIED, MAX_CHARACTERS, Answer
from components.worlds.number_answer import Number, numbers_in
from components.worlds.plain_text import folded, has_any, has_item, has_phrase, is_apart, names_in, plain, replaced

__all__ = ["MAX_CHARACTERS", "Answer", "Names", "Number", "Phrase", "Refusal", "numbers_in"]

MAX_REFUSALS = 3
"""An answer that refuses more often is a list of refusals."""
MAX_OTHERS = 2
"""Names of other kinds that an answer may have in its sentences."""
_NAME_WORDS = 3
"""An item with a name and at most so many words is the name, with another form of it: "piet (Piet Vermeer)"."""
MAX_VAGUE = 1
"""Vague reasons that an answer may name beside the right one."""
_RIGHT = "\N{REPLACEMENT CHARACTER}"
"""Stands for a right name in a text whose names are replaced."""
_CHOICE = re.compile(rf"{_RIGHT}(?: \|)? or\b|\bor (?:\| )?{ARTICLE}{_RIGHT}")
_NOT = r"(?:\bnot|n't|\bno longer|\bnever) (?:yet |already )?"
"""Before a reason that an answer denies."""
_SENTENCE_END = re.compile(r"[.:;!?\n]+(?=\s|$)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d+\s?%)")
"""Of a percentage as pages in German and Spanish write it: "42,9%"."""


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
        texts = {
            name: [*map(_with_plain_numbers, getattr(self, name))] for name in ("right", "among", "given", "others")
        }
        return replace(self, **texts)._accepts(_with_plain_numbers(answer))

    def _accepts(self, answer: str) -> bool:
        if len(answer) > MAX_CHARACTERS + sum(map(len, self.right)):
            return False
        known = [*map(plain, [*self.right, *self.among])]
        text = self._plain_sentences(answer, known)
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
                missing -= {name} if has_phrase(replaced(text, name, " ", DENIED), name) else set()
                text = replaced(text, name, _RIGHT)
                continue
            text = replaced(text, name, " ", DENIED)
            if name not in allowed and has_phrase(text, name):
                return False
            text = replaced(text, name, " ")
        is_choice = len(right) == 1 and _CHOICE.search(text) is not None
        is_list = is_choice or hedges.has_numbers_in_a_row(text) or _refuses(answer, self.right, self.given)
        is_list = is_list or self._is_one_of_many(answer, text)
        return not missing and not is_list

    def _plain_sentences(self, answer: str, known: Sequence[str]) -> str:
        """The answer as a plain text with a bar between two sentences, so that words of two do not join: "It is not.
        Rope, long is". Claims such as "The task is complete", which name no status, are left out."""
        claims = not any(hedges.without_claims(name) != name for name in known)
        text = _folded(answer)
        for name in sorted({*self.right, *self.among, *self.given}, key=len, reverse=True):
            text = text.replace(_folded(name), plain(name))  # a name may have a point in it
        sentences = [*filter(None, map(plain, _SENTENCE_END.split(text)))]
        return " | ".join(map(hedges.without_claims, sentences) if claims else sentences)

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
        forms, wrong = ([*map(_with_plain_numbers, texts)] for texts in (self.forms, self.wrong))
        return replace(self, forms=forms, wrong=wrong)._accepts(_with_plain_numbers(answer))

    def _accepts(self, answer: str) -> bool:
        if len(answer) > MAX_CHARACTERS:
            return False
        text = plain(answer)
        if hedges.offers_count(answer, numbers_in(" ".join(self.forms))):
            return False
        if _refuses(answer, self.forms) or any(has_phrase(text, plain(wrong)) for wrong in self.wrong):
            return False
        return any(has_phrase(text, plain(form)) for form in self.forms)

    @property
    def example(self) -> str:
        """The first form."""
        return self.forms[0]

    @property
    def candidates(self) -> Sequence[str]:
        """The wrong texts."""
        return self.wrong


@lru_cache(256)
def _denial(words: tuple[str, ...]) -> re.Pattern[str]:
    """A "not" before one of these words."""
    longest_first = sorted((re.escape(word.casefold()) for word in words), key=len, reverse=True)
    return re.compile(rf"{_NOT}(?:{'|'.join(longest_first)})(?!\w)")


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
        denied: those words of `reason` that state an obstacle by themselves. With a "not" before it, such a word is no
            reason: "It is not sold out."
    """

    reason: Sequence[str]
    others: Mapping[str, Sequence[str]]
    clear: Sequence[str] = ()
    vague: Sequence[Sequence[str]] = ()
    values: Sequence[str] = ()
    denied: Sequence[str] = ()

    def accepts(self, answer: str) -> bool:
        """Whether the answer refuses, for this reason and no other, and is no list of refusals."""
        if len(answer) > MAX_CHARACTERS:
            return False
        text = answer.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        reasons = _denial(tuple(self.denied)).sub(" ", text) if self.denied else text
        words = hedges.without_claims(plain(reasons))  # `its status is "Complete".` says that it is complete
        names = [word for others in self.others.values() for word in others if word not in self.reason]
        vague = [group for group in self.vague if not {*group} & {*self.reason}]
        refusals = len(hedges.REFUSAL.findall(text))
        if (
            not refusals
            and hedges.NOT_ABLE.search(text) is None
            and (not has_any(words, self.clear) or hedges.claims_deed(text))
        ):
            return False
        if refusals > MAX_REFUSALS or hedges.is_offered_after_another(text):
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


def _folded(text: str) -> str:
    """A text in lower case, without accents and with single spaces."""
    return re.sub(r"\s+", " ", folded(text))


def _with_plain_numbers(text: str) -> str:
    """A text whose numbers have no comma: "$1,250" is "$1250", and "42,9%" is "42.9%"."""
    return _DECIMAL_COMMA.sub(".", _THOUSANDS.sub("", text))


def _refuses(answer: str, right: Sequence[str], given: Sequence[str] = ()) -> bool:
    """Whether an answer gives a reason why the task cannot be done, beside the texts that are right or given."""
    text = answer.casefold()
    for phrase in {*map(str.casefold, [*right, *given])}:
        text = text.replace(phrase, _RIGHT) if hedges.REFUSAL.search(phrase) else text
    return hedges.offers_refusal(text, lambda clause: _RIGHT in clause or has_any(plain(clause), right))
