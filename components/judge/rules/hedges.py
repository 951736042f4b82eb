"""Whole answers that offer several values where one was asked for.

`candidates` looks for rows of numbers inside an answer, where two numbers side by side may be a date or an address.
Here the answer is nothing else than the offer, and linking words ("It is 5. It is 6."). It offers

- numbers: one number was asked for, and there are others beside it. Other words may stand once with each ("5 orders and
  6 orders"). "5 of 6", "4/5", "5-6" and "5 (2022)" are none, because a score, a code or a remark looks the same;
- "yes" and "no", unless both were asked for;
- names: "X or Y", of which one was asked for and the other was not, at the end of the only sentence. "LA or Los
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
_POLAR = frozenset(("yes", "no"))
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
    words = [word for word in words if word and word not in _LINKS]
    if set(words) == _POLAR:
        return not _POLAR.issubset(re.findall(r"\w+", phrase_text))
    return _offers_numbers(words, numbers_asked) or _offers_names(answer, phrases)


def _offers_numbers(words: Sequence[str], numbers_asked: set[str]) -> bool:
    amounts = [word for word in words if _AMOUNT.fullmatch(word)]
    given = values(" ".join(amounts))
    others = Counter(word for word in words if not _AMOUNT.fullmatch(word))
    is_offer = len(numbers_asked) == 1 and numbers_asked < given
    return is_offer and all(count == len(amounts) for count in others.values())


def _offers_names(answer: str, phrases: Sequence[str]) -> bool:
    sides = bare(BOLD.sub(r"\1", plain(answer))).split(" or ")
    if len(sides) != 2 or any(_NO_NAME.search(side) for side in sides):
        return False
    first, second = (bare(_BEFORE_NAME.split(side)[-1].removeprefix("maybe ")) for side in sides)
    targets = {bare(phrase) for phrase in phrases}
    for name, other in ((first, second), (second, first)):
        is_asked = any(includes(phrase, other, words=True) for phrase in phrases)
        if name in targets and not is_asked and not _same(name, other):
            return True
    return False


def _same(name: str, other: str) -> bool:
    """Whether one name is an abbreviation of the other: some of its words, or its first letters."""
    words, others = name.split(), other.split()
    initials = {"".join(word[0] for word in words), "".join(word[0] for word in others)}
    return set(words) <= set(others) or set(others) <= set(words) or not initials.isdisjoint((name, other))
