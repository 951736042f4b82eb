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
- Equal numbers are the same: "$3,053.97" has 3053.97, "182.40" is 182.4, "000000299" is 299. In the
  published code the result depends on the spelling of the reference.
- Spaces of every width, curly marks, long dashes, trademark signs, and a full stop at the end of an answer are ignored.
- The host in `ssh://git@HOST:PORT/…` is the machine on which the benchmark was made, and is ignored.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_MARKS = str.maketrans(
    dict.fromkeys("‘’‛`", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‐‑‒–—−", "-")
    | dict.fromkeys("™®©\u200b\u00ad\ufeff", "")
)
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_FRACTION = re.compile(r"(?<![\d.])(\d+\.\d+)(?!\d|\.\d)")
_GIT_HOST = re.compile(r"ssh://git@[^/\s]+/")
_LETTER = r"[^\W\d_]"


@lru_cache(maxsize=4)  # a page is searched for many phrases
def plain(text: str) -> str:
    """The text with normalised case, marks, spaces and numbers. The function is idempotent."""
    text = unicodedata.normalize("NFKC", text.translate(_MARKS)).translate(_MARKS)
    text = unicodedata.normalize("NFKC", text.casefold())
    text = _GIT_HOST.sub("ssh://git@host/", text)
    text = _GROUPS.sub(lambda number: number[0].replace(",", ""), text)
    text = _FRACTION.sub(lambda number: number[1].rstrip("0").rstrip("."), text)
    return " ".join(text.split())


def bare(answer: str) -> str:
    """`plain`, without a pair of quotation marks around the whole and without a full stop at its end."""
    text = plain(answer)
    while True:
        shorter = text.removesuffix(".").strip()
        for mark in "'\"":
            if len(shorter) > 1 and shorter[0] == shorter[-1] == mark and mark not in shorter[1:-1]:
                shorter = shorter[1:-1].strip()
        if shorter == text or not shorter:
            return text
        text = shorter


def same(reference: str, answer: str) -> bool:
    """`exact_match`: the answer is the reference."""
    return bare(reference) == bare(answer)


def includes(phrase: str, text: str, words: bool) -> bool:
    """`must_include`: the phrase is in the text, and not a part of a longer number.

    Args:
        words: the phrase must not be a part of a longer word either.
    """
    target = bare(phrase)
    before = after = ""
    if target[:1].isdigit():
        before = r"(?<!\d)(?<!\d\.)0*"
    elif words and target[:1].isalpha():
        before = rf"(?<!{_LETTER})"
    if target[-1:].isdigit():
        after = r"(?!\d|\.\d)"
    elif words and target[-1:].isalpha():
        after = rf"(?!{_LETTER})"
    return bool(target) and re.search(before + re.escape(target) + after, plain(text)) is not None
