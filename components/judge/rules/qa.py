"""Open questions with short golden answers: exact match (EM) and two other scores (BrowserAgent, section 3.2).

EM is SQuAD's, as in the question-answering papers that BrowserAgent compares itself with: lower case, without the
articles a, an and the, without punctuation, with single spaces. An answer is right if its normal form equals that of a
golden answer, and if both have the same numbers in the same order and the same currency, comparison and percent signs.
Without punctuation alone, -5 would be 5, 1.5 would be 15, 22-2 would be 2-22, and €5 would be $5. An answer that begins
with "N/A" declines and is no answer, so that it is not "Na", unless a golden answer begins so, too.

BrowserAgent's published code (its `val_answer.py`) computes another EM: it keeps the letters A–Z and digits of both
texts, and accepts an answer that contains the golden one or has the same characters in any order. So "silent" is right
for "listen", and 1991 for 1919; a golden answer in another script has no characters left and is in every answer; "no"
is in "unknown"; and only the first of several golden answers counts. The anagrams are a defect and are not
reproduced. `contains` is the rest of that score, by whole words. It is the nearest to the figures in the paper's
tables, and is no verdict. EM is therefore stricter than those figures.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from components.judge.rules.candidates import declines
from components.judge.rules.matching import plain
from components.judge.rules.numbers import meant
from components.numerals import with_ascii_digits
from components.records import Record

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


class AnswerScores(Record):
    """Scores of an answer, each against the best golden answer."""

    exact: bool
    f1: float
    """F1 over words, 0 to 1 (SQuAD; the paper does not report it)."""
    contains: bool
    """The answer contains a golden answer as whole words."""


def normal(text: str) -> str:
    """SQuAD's normal form; a text of only articles or punctuation becomes the text in lower case."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", with_ascii_digits(text)).casefold())
    kept = "".join(letter for letter in text if not unicodedata.category(letter).startswith(("P", "S")))
    return " ".join(_ARTICLE.sub(" ", kept).split()) or " ".join(text.split())


def score_answer(answer: str, golden: Sequence[str]) -> AnswerScores:
    """Score an answer against at least one golden answer. The rule's verdict is `exact`."""
    if declines(answer):
        golden = [text for text in golden if declines(text)]
    if not golden:
        return AnswerScores(exact=False, f1=0.0, contains=False)
    normal_answer = normal(answer)
    references = [normal(text) for text in golden]
    meaning = meant(plain(answer))
    return AnswerScores(
        exact=any(normal(text) == normal_answer and meant(plain(text)) == meaning for text in golden),
        f1=max(_f1(normal_answer.split(), text.split()) for text in references),
        contains=any(f" {text} " in f" {normal_answer} " for text in references),
    )


def _f1(answer: list[str], reference: list[str]) -> float:
    shared = sum((Counter(answer) & Counter(reference)).values())
    return 2 * shared / (len(answer) + len(reference)) if shared else 0.0
