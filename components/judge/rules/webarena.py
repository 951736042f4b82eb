"""WebArena's evaluators on the record of an episode: every part of the task's rule must hold.

Known from the record alone: the answer, the address of the page that the agent left, and what the rule asked of pages
(`Trajectory.ending`). How a verdict comes about differs from the published code:

- Success needs `done`. Published, an episode that ran out of steps is evaluated too, with an empty answer.
- `fuzzy_match` asks a model one question about all references of a task, as WebArena-Lite does; WebArena asks one about
  each, so that "walking: 16min" is wrong for an answer that says how long driving takes too. What is equal but for
  spelling is right without a model, an empty answer and a bare "N/A" are wrong without one. Where a model is needed and
  does not answer, there is no verdict. A page that holds every reference word for word is right, too: published, a
  model is asked whether the HTML of a cart means the same as a product's name.
- Of a task that cannot be done, an answer that begins with "N/A" is right, whatever reason follows. Other words are
  right if a model finds the authors' reason in them, where the published row asks for that. Published: with
  `fuzzy_match: "N/A"` the later WebArena code fails an assertion; with `["N/A"]` (WebArena-Lite) a model is asked
  whether the answer means "N/A"; with `must_include: ["N/A"]` an answer that mentions a field "N/A" is right.
- A page that nobody could read is no verdict, unless another part has failed already. Published, it is an exception, or
  an empty text and so a failure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from components.judge.rules.addresses import leads_to
from components.judge.rules.matching import bare, includes, same
from components.judge.rules.specs import (
    NOT_AVAILABLE,
    EndsAt,
    Exactly,
    Expectation,
    Includes,
    MeansSame,
    PageHas,
    Unachievable,
    WebArenaRule,
)
from components.records import Ending, Outcome, Reading

SameAnswer = Callable[[str, str, str], bool | None]
"""Of a question, a reference and an answer: whether the answer says the same; None if nobody could tell."""
NEEDS_MODEL = "needs a model judge"
_DECLINED = re.compile(r"n/a(?![\w/])")
_SHOWN = 60
"""Characters of a reference in a rationale."""


class Found(NamedTuple):
    """Whether a part of a rule holds (None: nobody could tell) and what was looked at, for the rationale."""

    holds: bool | None
    what: str


def judge_webarena(
    rule: WebArenaRule, question: str, answer: str, ending: Ending | None, same_answer: SameAnswer | None = None
) -> tuple[Outcome, str]:
    """Outcome and rationale of an episode that the agent ended with `done`.

    Args:
        question: the task's intent.
        same_answer: asked where only a model can tell, and only if nothing else has failed.
    """
    found = _parts(rule, question, answer, ending, None)
    if same_answer is not None and not any(one.holds is False for one in found):
        found = _parts(rule, question, answer, ending, same_answer)
    words = {True: "yes", False: "no", None: "not known"}
    rationale = "; ".join(f"{one.what}: {words[one.holds]}" for one in found)
    if any(one.holds is False for one in found):
        return Outcome.FAILURE, rationale
    return (Outcome.ERROR if any(one.holds is None for one in found) else Outcome.SUCCESS), rationale


def _parts(
    rule: WebArenaRule, question: str, answer: str, ending: Ending | None, same_answer: SameAnswer | None
) -> list[Found]:
    found = [_address(rule.ends_at, ending)] if rule.ends_at is not None else []
    found += _pages(rule.pages, ending, question, same_answer)
    return found + [_meets(answer, expectation, True, question, same_answer) for expectation in rule.answer]


def _address(ends_at: EndsAt, ending: Ending | None) -> Found:
    what = f"the last page is {_short(ends_at.addresses)}"
    if ending is None:
        return Found(None, f"{what} (the record has no last address)")
    return Found(any(leads_to(address, ending.url, ends_at.exact) for address in ends_at.addresses), what)


def _pages(
    pages: Sequence[PageHas], ending: Ending | None, question: str, same_answer: SameAnswer | None
) -> list[Found]:
    found = []
    for index, page in enumerate(pages):
        reading = _reading(index, page, ending)
        where = f"{page.url} {page.locator}".strip()
        if reading is None or reading.text is None:
            why = reading.error if reading is not None else "nobody looked at the end of the episode"
            found.append(Found(None, f"{where} (not read: {why})"))
            continue
        text = html.unescape(reading.text)
        for expectation in page.expects:
            one = _meets(text, expectation, False, question, same_answer)
            found.append(Found(one.holds, f"{where} {one.what}"))
    return found


def _reading(index: int, page: PageHas, ending: Ending | None) -> Reading | None:
    """The reading of a page check: in its place, and of what the rule asks for now."""
    if ending is None or index >= len(ending.readings):
        return None
    reading = ending.readings[index]
    return reading if (reading.url, reading.locator) == (page.url, page.locator) else None


def _meets(
    text: str, expectation: Expectation, is_answer: bool, question: str, same_answer: SameAnswer | None
) -> Found:
    match expectation:
        case Exactly(text=reference):
            return Found(same(reference, text), f"is {_short([reference])}")
        case Includes(phrases=phrases):
            missing = [one for one in phrases if not any(includes(phrase, text, is_answer) for phrase in one)]
            return Found(not missing, f"has {_short([alternatives[0] for alternatives in missing or phrases])}")
        case MeansSame(references=references):
            reference = ", ".join(references)
            what = f"says the same as {_short([reference])}"
            is_there = not is_answer and all(includes(one, text, words=False) for one in references)
            if is_there or same(reference, text):
                return Found(True, what)
            if not bare(text) or (is_answer and bare(text) == bare(NOT_AVAILABLE)):
                return Found(False, what)
            return _asked(same_answer, question, reference, text, what)
        case Unachievable(reason=reason, by_model=by_model):
            what = "says that the task cannot be done"
            if _DECLINED.match(bare(text)):
                return Found(True, what)
            if not bare(text) or not by_model:
                return Found(False, what)
            reference = f"The task cannot be done{f': {reason}' if reason else '.'}"
            return _asked(same_answer, question, reference, text, what)


def _asked(same_answer: SameAnswer | None, question: str, reference: str, text: str, what: str) -> Found:
    if same_answer is None:
        return Found(None, f"{what} ({NEEDS_MODEL})")
    says = same_answer(question, reference, text)
    return Found(says, what if says is not None else f"{what} (the model judge did not tell)")


def _short(references: Sequence[str]) -> str:
    shown = " and ".join(f'"{reference}"' for reference in references)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
