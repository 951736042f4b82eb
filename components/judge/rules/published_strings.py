"""WebArena's `string_match` as it was published, for comparison only (`waymark judge attack`); no verdict uses it.

After `evaluation_harness/evaluators.py` of WebArena (Zhou et al. 2024): texts are compared in lower case, without a
pair of quotation marks; `must_include` is a substring test, but for a task with one phrase of one character, which must
be a token. `fuzzy_match` asks a model, so it is not known here, but for the exact words of an "N/A".
"""

from __future__ import annotations

import re

from components.judge.rules.conditions import Exactly, Excludes, Includes, MeansSame, Satisfies, WebArenaRule
from components.judge.rules.published_eval import NOT_AVAILABLE

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|\w+|[^\w\s]")


def published_match(rule: WebArenaRule, answer: str) -> bool | None:
    """Whether the published code accepts an answer; None if it asks a model, or looks at pages or the address too."""
    if rule.pages or rule.images or rule.ends_at is not None or not rule.answer:
        return None
    given = _clean(answer)
    results: list[bool | None] = []
    for expectation in rule.answer:
        match expectation:
            case Exactly(text=text):
                results.append(given == _clean(text))
            case Includes(phrases=phrases):
                results += [_includes(alternatives, given, len(phrases) == 1) for alternatives in phrases]
            case MeansSame():
                results.append(None)
            case Excludes() | Satisfies():
                return None
            case _ if expectation.by_model:
                results.append(True if given == _clean(NOT_AVAILABLE) else None)
            case _:
                results.append(_clean(NOT_AVAILABLE) in given)
    if False in results:
        return False
    return None if None in results else True


def _includes(alternatives: list[str], given: str, is_only: bool) -> bool:
    phrase = _clean(alternatives[0])  # the published code does not know alternatives in must_include of answers
    return phrase in _TOKEN.findall(given) if is_only and len(phrase) == 1 else phrase in given


def _clean(text: str) -> str:
    text = text.strip()
    for mark in "'\"":
        text = text.removeprefix(mark).removesuffix(mark) if text.startswith(mark) and text.endswith(mark) else text
    return text.lower()
