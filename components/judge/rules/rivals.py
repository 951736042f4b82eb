"""The one number, or the one "yes" or "no", that an answer gives where nothing else is asked for.

An answer that names several numbers has at most one that it gives as its answer: the one that a word such as "total" or
"so" marks; or the only one of the last sentence; or else the first, if the others are its details (behind a colon, in
brackets) or few. Of two, it is before all these the one with which the answer begins ("9. 2 others were left out"),
or behind which the noun of the question stands ("How many reviews": "2 stores have 6 reviews"), or behind which no
noun stands ("I checked 4 orders: 6"). Which one it is depends on the answer and the question, and not on the right
number. It is none if the words say that the answer guesses ("alternatively", "if A then 0"), or if the items have
labels of options ("A: 0. B: 1."). An "if" says so where a number, "yes" or "no" follows or stands in its sentence, and
no word does so in a courtesy ("Let me know if you need more."). A number that is denied ("not 6", "5 instead of 6") is
none.

Numbers compete if both or neither are money, and they have as many digits before the point as the right one, or both
are whole and have no noun: "There are 0. Earlier there were 14." gives 0 alone. Of two, whole numbers do not compete
with fractions, nor a number without a unit with one that has the unit that was asked for. So for each question a list
of numbers wins at most one number of each such kind. Of nothing but numbers with a noun each ("0 reviews and 1 commit")
the answer to "how many" is the one with the noun that was asked for, and there is none if no number has it. Over many
tasks such an answer may still win more than one constant does. Dates, times, percentages, ordinals and bounds ("3 or
more") do not compete. A question "how many" is not answered by money if another number competes.

"Yes" and "no" compete wherever both stand for a clause: "Yes, it can. No, it cannot.", "one says yes, another no". In
"Yes, no tolls" and "No, there is none, yes?" they do not. An answer that says "yes" has no number 0,
unless it says nothing else and the question asks how many ("Yes. 0"). Then it has no "yes".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from components.judge.rules.matching import BOLD, bare, includes, plain
from components.judge.rules.name_lists import is_one_of_a_list
from components.judge.rules.numbers import SIGN, values

_ASKED = re.compile(rf"(?:{SIGN})?[$€£¥₹#]?\d+(?:\.\d+)?\s?[a-z%]{{0,12}}")
_TARGET_UNIT = re.compile(r"\d\s?([a-z%]{1,12})$")
_DATES = re.compile(
    r"(?<!\d)\d{1,4}[/-]\d{1,2}[/-]\d{1,4}|\d{1,2}:\d{2}(?::\d{2})?|(?<!\d)\d{1,2}/\d{4}|(?:19|20)\d\d-\d{1,2}"
)
_NO_NUMBER = re.compile(
    r"(?<!\d)\d++(?:\.\d++)?\s?%|(?<!\d)\d++(?:st|nd|rd|th)\b|no (?:more|less|fewer) than \d+"
    r"|(?<=\d)\s?/\s?(?:5|10|100)(?!\d)"
)
"""Percentages, ordinals, bounds, and what a score is out of. These do not compete, and neither do dates and times."""
MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|ober)?\.?"
_SHORT_DATE = r"\d{1,2}/\d{1,2}(?![\d/])"
_PERHAPS_NO_NUMBER = re.compile(
    rf"\b{MONTH} \d{{1,2}}(?!\d)|(?<!\d)\d{{1,2}} {MONTH}(?![a-z])"
    rf"|\b(?:on|from|between) {_SHORT_DATE}(?:(?:, and|,| and| to|-) ?{_SHORT_DATE})*"
    r"|(?<!\d)\d++(?:\s\w+)? or (?:more|less|fewer|higher|lower|above|below|better)\b"
)
"""Days of a month, dates without a year, and bounds, which do not compete if the right number stands elsewhere, too."""
_NUMBER = re.compile(
    rf"(?<![a-z\d.,_-])(?P<sign>{SIGN}(?=[$€£¥₹\d]))?(?P<currency>[$€£¥₹])?\s?(?P<digits>\d++(?:\.\d++)?+)(?![a-z]*\d)"
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
_DENIED = re.compile(
    r"(?<!\bif )(?<!\bor )(?:\b(?:not|never|cannot be|neither|nor|rather than|instead of)|n't(?: be)?)\s"
    r"(?:(?:exactly|equal to|the|a|an)\s)?"
    r"(?:[$€£¥₹#]\s?)?\d+(?:\.\d+)?(?![\w.]*\d)(?:\s(?:or|nor)\s\d+(?:\.\d+)?(?![\w.]*\d))*"
)
_LABEL = re.compile(r"(?:^|[\s.;,(])(?:[a-z]{1,2}|(?:option|choice|candidate) \w)\s?[:)=]\s?(?=\S)")
POLAR = re.compile(
    r"(?<![\w-])(?P<word>yes(?![\"'*_)]*\s*\?\s*$)(?!\s(?:is only|votes?|answers?|buttons?|options?)\b)"
    r"|no(?=[\"'*_)\]}]*\s*(?:$|[^\w\s.?#\"'-]|\.(?!\s?\d)|\?(?!\s*$)|-(?!\w)"
    r"|\b(?:i|it|he|she|they|we|you|there|that|this|not|if|wait|sorry|or|and|but|in|on|at|for|when|while|because|since|as"
    r"|my|your|his|her|its|our|the|a|an|unless|until|though|although|however|otherwise|then|also|to|by|from|with|under"
    r"|yes|no)\b(?!-))))(?!\w)"
)
"""A "yes", or a "no" that stands for a clause: no noun follows it, as in "no tolls"."""
_COUNT = re.compile(r"\b(?:how many|number of|count of|count)\b\s*(?P<counted>[^,.;?!]*)")
_COUNTED_END = re.compile(
    r"\b(?:did|do|does|in|of|that|which|who|whose|has|have|had|are|is|was|were|our|my|i|made|make|amongst|among|on|for|from"
    r"|with|the|received|sold|by|to|at|between|during)\b"
)
_MONEY_BEHIND = re.compile(r"\s?(?:[$€£¥₹]|(?:usd|eur|gbp|inr|dollars?|euros?|pounds?|rupees?|yen)\b)")
_WORDS_BEHIND = re.compile(r"(?: (?:of (?:the |these |all )?)?([^\W\d_]+)(?: ([^\W\d_]+))?)?")
_CLOSED = re.compile(r"[*_\"')]*\s*(?:$|[.,;!(\n]|\s-)")
"""What stands behind a number that has no noun: "9. 2 other items were left out"."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_ENUMERATION = re.compile(r"\W*\d+ [^\W\d_]+(?:(?:[,;]? and |\s?[,;&+/.\n]\s?(?:[-*•]\s)?)\d+ [^\W\d_]+)+\W*")
"""Nothing but numbers, each with its noun: "0 reviews and 1 commit"."""
YES_ZERO = re.compile(r"\W*yes\W+0\W*")
_MARKS_ALONE = re.compile(r"\W*")
_UNIT = re.compile(r"\s?([a-z%]{1,12})")
_DATED = re.compile(
    r"\bwhen\b|\b(?:which|what) (?:\w+ ){0,2}?(?:dates?|days?|months?|years?|times?)\b|\b(?:date|day) (?:of|on|when)\b"
)
_DETAILS = re.compile(r"[a-z\s]{0,30}(?:[:(]|\n\s*[-•*])")
_SENTENCE = re.compile(r"[.!?\n](?=\s|$)")
FEW = 3
"""Competing numbers beside the first one, up to which the first one is the answer."""
LABELS = 2
"""Labels of options, from which on an answer is a list of options."""


def asks_for_a_date(question: str) -> bool:
    """Whether a question asks for a day, a month, a year or a time."""
    return _DATED.search(question.casefold()) is not None


def is_the_answer(answer: str, phrases: Sequence[str], question: str | None = None) -> bool:
    """Whether an answer gives what was asked for as its one answer. True if more than one number or one of "yes" and
    "no" was asked for; whether the phrases are in the answer at all is another question.

    Args:
        phrases: all phrases that the answer must contain, and their alternatives.
        question: the task's intent. Without it, each of two numbers may be the answer, unless it is a guess.
    """
    targets = {bare(phrase) for phrase in phrases}
    text = "\n".join(BOLD.sub(r"\1", plain(line)) for line in answer.splitlines())
    polar_words = {match["word"] for match in POLAR.finditer(text)}
    if targets <= {"yes", "no"}:
        if YES_ZERO.fullmatch(text):
            return False
        is_clause = question is None or targets != {"yes"} or bool(polar_words)
        return len(targets) != 1 or (len(polar_words) < 2 and is_clause)
    numbers = values(" ".join(targets))
    if len(numbers) != 1 or not all(_ASKED.fullmatch(target) for target in targets):
        name = next(iter(targets))
        return len(targets) != 1 or not (_denies(text, name) or is_one_of_a_list(text, name))
    undenied = _DENIED.sub(_blank, text)
    if not any(includes(target, undenied, words=True) for target in targets) and any(
        includes(target, text, words=True) for target in targets
    ):
        return False
    if "yes" in polar_words and numbers == {"0"} and not says_zero(text, question):
        return False
    if question is not None and not _names_the_counted(text, targets, question):
        return False
    unit = next((match[1] for target in targets if (match := _TARGET_UNIT.search(target))), "")
    target = next(iter(numbers)).replace("-.", "-0.")
    return _gives(
        undenied, f"0{target}" if target.startswith(".") else target, unit, question, is_mixed=bool(polar_words)
    )


def says_zero(text: str, question: str | None) -> bool:
    """Whether a text is "yes" and 0 and nothing else, and its question asks how many: its "yes" has no meaning."""
    return question is not None and asks_how_many(question) and YES_ZERO.fullmatch(text) is not None


def asks_how_many(question: str) -> bool:
    """Whether a question asks for the number of things."""
    return _COUNT.search(question.casefold()) is not None


def _names_the_counted(text: str, targets: set[str], question: str) -> bool:
    """Whether the right number has the noun of the question, where a text is nothing but numbers with a noun each."""
    nouns = _counted_nouns(question)
    if not nouns or _ENUMERATION.fullmatch(text) is None:
        return True
    named = [number for number in _NUMBER.finditer(text) if nouns & _words_behind(text, number)]
    return any(_is(number, target) for number in named for target in values(" ".join(targets)))


def _denies(text: str, name: str) -> bool:
    """Whether a name occurs in a text, and only behind "not"."""
    name = rf"(?<!\w){re.escape(name)}(?!\w)"
    mentions = len(re.findall(name, text))
    return mentions > 0 and len(re.findall(rf"(?:\bnot|n't) (?:(?:the|in|at|from) )?{name}", text)) == mentions


def _gives(text: str, target: str, unit: str, question: str | None, is_mixed: bool) -> bool:
    undated = _DATES.sub(_blank, text)
    text = _NO_NUMBER.sub(_blank, undated)
    without_days = _PERHAPS_NO_NUMBER.sub(_blank, text)
    is_dated = question is not None and asks_for_a_date(question)
    left = list(_NUMBER.finditer(without_days))
    is_elsewhere = any(_is(number, target) for number in left) or (
        question is not None and not is_dated and any(size(_value(number)) == size(target) for number in left)
    )
    if is_elsewhere:
        text = without_days
    numbers = list(_NUMBER.finditer(text))
    right = [number for number in numbers if _is(number, target)]
    has_currency = any(number["currency"] for number in right)
    are_alone = bool(right) and all(_stands_alone(text, number) for number in right)
    rivals = {
        _value(number)
        for number in numbers
        if number not in right
        and bool(number["currency"]) is has_currency
        and (size(_value(number)) == size(target) or (are_alone and _stands_alone(text, number)))
    }
    if question is not None and not right and not is_dated:
        is_beside = not rivals or (text != without_days and any(_is(n, target) for n in _NUMBER.finditer(undated)))
        if not is_beside or not includes(target, undated, words=True):
            return False  # the number stands in a date, in a name, or in a bound beside another number
    if question is not None and _is_money_for(question, text, right, numbers):
        return False
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
    candidates = [n for n in numbers if n in right or _value(n) in rivals]
    if len(rivals) == 1:
        return question is None or not right or _is(_of_two(text, candidates, target, unit, question), target)
    given = _singled_out(text, candidates, len(rivals))
    return given is not None and _is(given, target)


def _stands_alone(text: str, number: re.Match[str]) -> bool:
    """Whether a number is whole, no year, and no noun follows it."""
    is_whole = "." not in number["digits"] and _YEAR.fullmatch(number["digits"]) is None
    return is_whole and _CLOSED.match(text, number.end()) is not None


def _is_money_for(question: str, text: str, right: Sequence[re.Match[str]], numbers: Sequence[re.Match[str]]) -> bool:
    """Whether the right number is money, the question asks how many, and another number is none: "$0 and 1 review"."""
    if not right or not asks_how_many(question):
        return False

    def is_money(number: re.Match[str]) -> bool:
        return bool(number["currency"]) or _MONEY_BEHIND.match(text, number.end()) is not None

    whole = size(_value(right[0]))
    return all(map(is_money, right)) and any(not is_money(n) and size(_value(n)) == whole for n in numbers)


def _of_two(text: str, numbers: Sequence[re.Match[str]], target: str, unit: str, question: str) -> re.Match[str]:
    """The one of two competing numbers that an answer gives, each of which it may name several times.

    Args:
        target, unit: the right number and its unit, of which only the kind counts here: whole or not, and the unit.
    """
    alike = [number for number in numbers if ("." in number["digits"]) is ("." in target)] or [*numbers]
    measured = [n for n in alike if unit and (match := _UNIT.match(text, n.end())) and match[1] == unit]
    alike = measured or alike
    nouns = _counted_nouns(question)
    bare_numbers = [number for number in alike if _CLOSED.match(text, number.end())]
    is_opening = alike[0] in bare_numbers and _MARKS_ALONE.fullmatch(text[: alike[0].start()])
    named = [number for number in alike if nouns & _words_behind(text, number)]
    for group in ([alike[0]] if is_opening else [], named, bare_numbers, alike):
        if len({_value(number) for number in group}) == 1:
            return group[0]
    return _singled_out(text, alike, rivals=1) or alike[0]


def _counted_nouns(question: str) -> set[str]:
    """What a question asks the number of, as words without a plural's "s"."""
    counts = _COUNT.finditer(question.casefold())
    return {
        _stem(word) for count in counts for word in re.findall(r"[^\W\d_]+", _COUNTED_END.split(count["counted"])[0])
    }


def _words_behind(text: str, number: re.Match[str]) -> set[str]:
    """The two words behind a number, up to a mark."""
    words = _WORDS_BEHIND.match(text, number.end())
    return {_stem(word) for word in words.groups() if word} if words is not None else set()


def _stem(word: str) -> str:
    return word.removesuffix("s")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


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


def size(value: str) -> int:
    """Digits before the point."""
    return len(value.lstrip("-").partition(".")[0]) or 1
