"""Whole answers that offer several values where one was asked for.

`candidates` looks for rows of numbers inside an answer, where two numbers side by side may be a date or an address.
Here the answer is nothing else than the offer, and linking words ("It is 5. It is 6."). It offers

- numbers: one number was asked for, and there are others beside it. Other words may stand once with each ("5 orders and
  6 orders"), or once after a range ("5 to 6 orders", "between 5 and 6 orders"). "5 of 6", "4/5" and "5 (2022)" are
  none, because a score or a remark looks the same;
- "yes" and "no", unless both were asked for, or a number or one of them ("It is 0, or it is yes");
- names: "X or Y", of which one was asked for and no other was, at the end of the only sentence. "LA or Los
  Angeles" and "Bob or Bob Smith" are two names of one thing; "Ann, Bob" may be a name and its place, "Ann, Bob or Cy" a
  name and its details, and "2 hours or 120 minutes" one amount in two units, so these are no offers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from components.judge.rules.matching import BOLD, bare, includes, plain
from components.judge.rules.numbers import SIGN, split_lists, values

_AROUND = ",;:.!?*\"'|&"
_AMOUNT = re.compile(rf"(?:{SIGN})?[$€£¥₹#]?\d+(?:\.\d+)?[a-z%]{{0,3}}")
_LINKS = frozenset(
    "it its it's is are was were be the answer answers that this they there either or and maybe perhaps possibly "
    "probably also else both can could might then i think".split()
)
"""Words that may stand between values without a meaning of their own."""
_IN_WORDS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
    if word != "one"  # "the other one" has no number
}
_RANGE = frozenset(("-", "~", "to", "between", "from", "through"))
"""Words beside the numbers of a range."""
_POLAR = frozenset(("yes", "no"))
_CHOICE = re.compile(r"\b(?:or|maybe|perhaps|possibly)\b")
_BEFORE_NAME = re.compile(r"(?:\b(?:is|are|was|were|be|either)|:) ")
_NO_NAME = re.compile(r"[\d,;!?]")


def offers_several(answer: str, phrases: Sequence[str]) -> bool:
    """Whether an answer is an offer of several values.

    Args:
        phrases: all phrases that the answer must contain, and their alternatives.
    """
    phrase_text = plain("\n".join(phrases))
    numbers_asked = values(phrase_text)
    words = [word.strip(_AROUND) for word in plain(split_lists(answer, numbers_asked, phrases)).split()]
    words = [_IN_WORDS.get(word, word) for word in words if word and word not in _LINKS]
    polar_words = _POLAR.intersection(words)
    is_polar_asked = polar_words.issubset(re.findall(r"\w+", phrase_text))
    if set(words) == _POLAR:
        return not is_polar_asked
    if _CHOICE.search(plain(answer)) and _are_mixed(words):
        return not (is_polar_asked and values(" ".join(words)) <= numbers_asked)
    return _offers_numbers(words, numbers_asked) or _offers_names(answer, phrases)


def _are_mixed(words: Sequence[str]) -> bool:
    """Whether the words are numbers and "yes" or "no", and nothing else."""
    polar = [word in _POLAR for word in words]
    return any(polar) and not all(polar) and all(word in _POLAR or _AMOUNT.fullmatch(word) for word in words)


def _offers_numbers(words: Sequence[str], numbers_asked: set[str]) -> bool:
    amounts = [word for word in words if _AMOUNT.fullmatch(word)]
    given = values(" ".join(amounts))
    if len(numbers_asked) != 1 or not numbers_asked < given:
        return False
    others = Counter(word for word in words if not _AMOUNT.fullmatch(word) and word not in _RANGE)
    if all(count == len(amounts) for count in others.values()):
        return True
    return not _RANGE.isdisjoint(words) and len(amounts) == 2 and [*others] == [words[-1]] and others.total() == 1


def _offers_names(answer: str, phrases: Sequence[str]) -> bool:
    sides = bare(BOLD.sub(r"\1", plain(answer))).split(" or ")
    if len(sides) < 2 or any(_NO_NAME.search(side) for side in sides):
        return False
    names = [bare(_BEFORE_NAME.split(side)[-1].removeprefix("maybe ")) for side in sides]
    targets = {bare(phrase) for phrase in phrases}
    matches = {name for name in names if any(includes(phrase, name, words=True) for phrase in phrases)}
    others = set(names) - matches
    if len(matches) != 1 or not matches <= targets or not others:
        return False
    return not any(_same(match, other) for match in matches for other in others)


def _same(name: str, other: str) -> bool:
    """Whether one name is an abbreviation of the other: some of its words, or its first letters."""
    words, others = name.split(), other.split()
    initials = {"".join(word[0] for word in words), "".join(word[0] for word in others)}
    return set(words) <= set(others) or set(others) <= set(words) or not initials.isdisjoint((name, other))
