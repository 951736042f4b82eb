"""Whether two texts are the same, and whether one contains the other: WebArena's string comparisons, corrected.

`plain` normalises the spelling; `same` and `includes` compare normalised texts. The published evaluators (WebArena,
`evaluation_harness/evaluators.py`; WebArena-Lite, VisualAgentBench's copy) differ, and each change corrects an error:

- They remove a pair of quotation marks around an answer even if the marks belong to two quotations, and also a single
  mark. Here a pair is removed only if there is no such mark inside.
- WebArena's `must_include` is a substring test, except for one phrase of one character: "16" is in "2016", "65" in
  "165", "5.49" in "15.49". WebArena-Lite compares single words with NLTK's tokens: "914" is not in "914km". Here a
  phrase that begins or ends with a digit must not be a part of a longer number, and in an answer a phrase that begins
  or ends with a letter must not be a part of a longer word. On pages it may be ("mouth guard" in "mouth guards"), as
  published.
- A phrase in its own spelling is always there: "Firefox 115.10" has 115.10, though it has no 115.1.
- Equal numbers are the same and digits that go on are another number (`numbers`): "$3,053.97" has 3053.97, "182.40" is
  182.4, "914 km" is 914km, "000000299" is 299; "6k" and "6,5" have no 6, and neither has "-6" in an answer. In the
  published code the result depends on the spelling of the reference.
- Spaces of every width, curly marks, long dashes, trademark signs, bold and italic marks around an answer, and a full
  stop at its end are ignored.
- The host in `ssh://git@HOST:PORT/…` is the machine on which the benchmark was made, and is ignored.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from components.judge.rules.numbers import UNSIGNED, is_price, spelled, truncated, written_out
from components.numerals import ENDS, STARTS

_MARKS = str.maketrans(
    dict.fromkeys("‘’‛`", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‐‑‒–—−", "-")
    | dict.fromkeys("™®©\u200b\u00ad\ufeff", "")
)
_GIT_HOST = re.compile(r"ssh://git@[^/\s]+/")
_LETTER = r"[^\W\d_]"
_CURRENCIES = frozenset("$€£¥₹")
_AROUND = ("**", "__", "'", '"', "*", "_")
BOLD = re.compile(r"(?<!\w)\*\*(\S(?:[^*]*\S)?)\*\*(?!\w)")


@lru_cache(maxsize=4)  # a page is searched for many phrases
def plain(text: str) -> str:
    """The text with normalised case, marks, spaces and numbers. The function is idempotent."""
    return spelled(_unspelled(text))


def _unspelled(text: str) -> str:
    """`plain` without the spelling of numbers."""
    text = unicodedata.normalize("NFKC", written_out(text).translate(_MARKS)).translate(_MARKS)
    text = unicodedata.normalize("NFKC", text.casefold())
    return " ".join(_GIT_HOST.sub("ssh://git@host/", text).split())


def bare(answer: str) -> str:
    """`plain`, without a pair of quotation or bold marks around the whole and without a full stop at its end."""
    text = plain(answer)
    while True:
        shorter = text.removesuffix(".").strip()
        for mark in _AROUND:
            inner = shorter.removeprefix(mark).removesuffix(mark)
            if len(inner) == len(shorter) - 2 * len(mark) and inner and mark not in inner:
                shorter = inner.strip()
        if shorter == text or not shorter:
            return text
        text = shorter


def same(reference: str, answer: str) -> bool:
    """`exact_match`: the answer is the reference."""
    target, given = bare(reference), bare(answer)
    return target == given or (bool(target) and re.fullmatch(_number(target, reference), given) is not None)


def includes(phrase: str, text: str, words: bool) -> bool:
    """`must_include`: the phrase is in the text, and not a part of a longer number.

    Args:
        words: the phrase must not be a part of a longer word either, nor a number with a minus sign before it, and bold
            marks in the text are ignored.
    """
    target = bare(phrase)
    before = after = ""
    if target[:1].isdigit():
        before = (UNSIGNED if words else "") + STARTS
    elif words and target[:1] in _CURRENCIES:
        before = UNSIGNED
    elif words and target[:1].isalpha():
        before = rf"(?<!{_LETTER})"
    if target[-1:].isdigit():
        after = ENDS
    elif words and target[-1:].isalpha():
        after = rf"(?!{_LETTER})"
    spellings = (_number(target, phrase), plain(text)), (re.escape(_unspelled(phrase)), _unspelled(text))
    return bool(target) and any(
        re.search(before + pattern + after, BOLD.sub(r"\1", searched) if words else searched)
        for pattern, searched in spellings
    )


def _number(target: str, phrase: str) -> str:
    """The pattern of a phrase, `target` if it is `bare`; a truncated number at its end may go on with more digits,
    and a price may be without its last zero."""
    if is_price(target):
        return rf"{re.escape(target.removesuffix('0'))}0?"
    fraction = truncated(_unspelled(phrase))
    if fraction is None:
        return re.escape(target)
    kept = fraction.rstrip("0")
    whole = target.removesuffix(f".{kept}" if kept and target.endswith(f".{kept}") else f".{fraction}")
    equal = rf"\.{kept}0*" if kept else re.escape(target.removeprefix(whole))
    return rf"{re.escape(whole)}(?:\.{fraction}\d*|{equal})"
