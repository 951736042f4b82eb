"""WebArena's and VisualWebArena's evaluators on the record of an episode: every part of the task's rule must hold.

Known from the record alone: the answer, the address of the page that the agent left, and what the rule asked of pages
(`Trajectory.ending`). Verdicts differ from the published code in these points:

- Success needs `done`. The published code also evaluates an episode that ran out of steps, with an empty answer.
- `fuzzy_match` asks a model one question about all references of a task, as WebArena-Lite does; WebArena asks one about
  each, so that "walking: 16min" is wrong for an answer that says how long driving takes too. An answer that
  differs only in spelling is right without a model; an empty answer and a bare "N/A" are wrong without one. If a model
  is needed and does not answer, there is no verdict. A page that contains every reference literally is right, too: the
  published code asks a model whether the HTML of a cart means the same as a product's name.
- An answer that begins with "N/A" is an "N/A", and lists of candidates are no answer (`candidates`). In the published
  code both contain what `must_include` asks for.
- Of a task that cannot be done, an answer that begins with "N/A" is right, whatever reason follows. Another wording is
  right if a model finds the authors' reason in it, where the published row asks for that. In the published code: with
  `fuzzy_match: "N/A"` the later WebArena code fails an assertion; with `["N/A"]` (WebArena-Lite) a model is asked
  whether the answer means "N/A"; with `must_include: ["N/A"]` an answer that mentions a field "N/A" is right.
- An answer in the unit that the intent asks for ("in billions": "$5.35 billion"), coordinates with the letters of the
  compass, and an answer with a date, an address or the number of a page beside it are right (`asked_units`, `details`).
- `must_exclude` wants a text: an element that is not there excludes nothing. A phrase is a phrase of whole words and
  numbers, so that "Art" is not in "Cart". In the published code a missing element has an empty text, which is right.
- `required_values` compares a number as it stands, with decimals: 700 is not below 700, and a text that is no number
  meets no bound. The published code adds 1e-8 to each bound, and reads texts as whole numbers only.
- An unreadable page gives no verdict, unless another part has failed already. In the published code it is an
  exception, or an empty text and so a failure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from components.judge.rules.addresses import leads_to
from components.judge.rules.asked_units import in_asked_unit, with_signs
from components.judge.rules.candidates import declines, too_long, without_candidates, without_dates, without_row_numbers
from components.judge.rules.conditions import (
    Comparison,
    EndsAt,
    Exactly,
    Excludes,
    Expectation,
    Includes,
    MeansSame,
    PageHas,
    Satisfies,
    Unachievable,
    WebArenaRule,
)
from components.judge.rules.details import without_details, without_versions
from components.judge.rules.image_checks import SeesAnswer, check_images
from components.judge.rules.matching import bare, includes, plain, same
from components.judge.rules.numbers import values
from components.judge.rules.rivals import is_the_answer
from components.judge.rules.two_units import in_one_unit
from components.records import Ending, Outcome, Reading

SameAnswer = Callable[[str, str, str], bool | None]
"""Takes a question, a reference and an answer; returns whether the answer means the same, None if that is unknown."""
NEEDS_MODEL = "needs a model judge"
_MAX_SHOWN = 60
"""Maximum characters of references in a rationale."""
_NOT_AVAILABLE = re.compile(r"\W*n\s?/?\s?a\W*", re.IGNORECASE)
_NUMBER = re.compile(r"[$€£]?\s*(-?\d+(?:,\d{3})*(?:\.\d+)?)")


class Finding(NamedTuple):
    """Whether a part of a rule holds (None: unknown) and a description of the part, for the rationale."""

    holds: bool | None
    part: str


def judge_webarena(
    rule: WebArenaRule,
    question: str,
    answer: str,
    ending: Ending | None,
    same_answer: SameAnswer | None = None,
    sees_answer: SeesAnswer | None = None,
) -> tuple[Outcome, str]:
    """Outcome and rationale of an episode that the agent ended with `done`.

    Args:
        question: the task's intent.
        same_answer, sees_answer: called where only a model can decide, and only if no other part has failed.
    """
    findings = _parts(rule, question, answer, ending, None, None)
    has_model = same_answer is not None or sees_answer is not None
    if has_model and not any(finding.holds is False for finding in findings):
        findings = _parts(rule, question, answer, ending, same_answer, sees_answer)
    words = {True: "yes", False: "no", None: "not known"}
    rationale = "; ".join(f"{finding.part}: {words[finding.holds]}" for finding in findings)
    if any(finding.holds is False for finding in findings):
        return Outcome.FAILURE, rationale
    return (Outcome.ERROR if any(finding.holds is None for finding in findings) else Outcome.SUCCESS), rationale


def _parts(
    rule: WebArenaRule,
    question: str,
    answer: str,
    ending: Ending | None,
    same_answer: SameAnswer | None,
    sees_answer: SeesAnswer | None,
) -> list[Finding]:
    findings = [_address(rule.ends_at, ending)] if rule.ends_at is not None else []
    findings += _pages(rule.pages, ending, question, same_answer)
    for index, check in enumerate(rule.images, start=len(rule.pages)):
        reading = _reading(index, check.url, check.selector, ending)
        findings += [Finding(*finding) for finding in check_images(check, reading, sees_answer)]
    return findings + [_meets(answer, expectation, True, question, same_answer) for expectation in rule.answer]


def _address(ends_at: EndsAt, ending: Ending | None) -> Finding:
    part = f"the last page is {_short(ends_at.addresses)}"
    if ending is None:
        return Finding(None, f"{part} (the record has no last address)")
    return Finding(any(leads_to(address, ending.url, ends_at.exact) for address in ends_at.addresses), part)


def _pages(
    pages: Sequence[PageHas], ending: Ending | None, question: str, same_answer: SameAnswer | None
) -> list[Finding]:
    findings = []
    for index, page in enumerate(pages):
        reading = _reading(index, page.url, page.locator, ending)
        where = f"{page.url} {page.locator}".strip()
        if reading is None or reading.text is None:
            reason = reading.error if reading is not None else "the record has no reading of this page"
            findings.append(Finding(None, f"{where} (not read: {reason})"))
            continue
        text = html.unescape(reading.text)
        for expectation in page.expects:
            finding = _meets(text, expectation, False, question, same_answer)
            findings.append(Finding(finding.holds, f"{where} {finding.part}"))
    return findings


def _reading(index: int, url: str, locator: str, ending: Ending | None) -> Reading | None:
    """The reading at a check's position, if it has the same address and locator; else None."""
    if ending is None or index >= len(ending.readings):
        return None
    reading = ending.readings[index]
    return reading if (reading.url, reading.locator) == (url, locator) else None


def _meets(
    text: str, expectation: Expectation, is_answer: bool, question: str, same_answer: SameAnswer | None
) -> Finding:
    match expectation:
        case Exactly(text=reference):
            given = in_asked_unit(text, question, [reference]) if is_answer else text
            return Finding(same(reference, text) or same(reference, given), f"is {_short([reference])}")
        case Includes(phrases=phrases):
            searched = _settled(text, phrases, question) if is_answer else text
            missing = [
                alternatives
                for alternatives in phrases
                if not any(includes(phrase, searched, is_answer) for phrase in alternatives)
            ]
            note = _unsearched(text, phrases, missing) if is_answer and missing else ""
            return Finding(not missing, f"has {_short([alternatives[0] for alternatives in missing or phrases])}{note}")
        case Excludes(phrases=phrases):
            there = [phrase for phrase in phrases if includes(phrase, text, words=True)]
            note = "" if text.strip() else " (there is no text)"
            return Finding(not there and not note, f"is without {_short(there or phrases)}{note}")
        case Satisfies(bounds=bounds):
            number = _NUMBER.fullmatch(bare(in_asked_unit(text, question, []) if is_answer else text))
            value = float(number[1].replace(",", "")) if number else None
            met = value is not None and all(any(_meets_bound(value, bound) for bound in either) for either in bounds)
            words = " and ".join(
                " or ".join(f"{bound.operator} {bound.value:g}" for bound in either) for either in bounds
            )
            return Finding(met, f"is a number {words}")
        case MeansSame(references=references):
            reference = ", ".join(references)
            part = f"says the same as {_short([reference])}"
            is_on_page = not is_answer and all(includes(part, text, words=False) for part in references)
            if is_on_page or same(reference, text):
                return Finding(True, part)
            if not bare(text) or (is_answer and _NOT_AVAILABLE.fullmatch(bare(text))):
                return Finding(False, part)
            return _ask_model(same_answer, question, reference, text, part)
        case Unachievable(reason=reason, by_model=by_model):
            part = "says that the task cannot be done"
            if declines(text):
                return Finding(True, part)
            if not bare(text) or not by_model:
                return Finding(False, part)
            reference = f"The task cannot be done{f': {reason}' if reason else '.'}"
            return _ask_model(same_answer, question, reference, text, part)


def _meets_bound(value: float, bound: Comparison) -> bool:
    comparisons = {
        "<": value < bound.value,
        "<=": value <= bound.value,
        "==": value == bound.value,
        ">=": value >= bound.value,
        ">": value > bound.value,
    }
    return comparisons[bound.operator]


def _settled(answer: str, phrases: Sequence[Sequence[str]], question: str) -> str:
    """The parts of an answer in which phrases are looked for: none if it declines and no phrase does."""
    every = [phrase for alternatives in phrases for phrase in alternatives]
    if (declines(answer) and not any(declines(phrase) for phrase in every)) or too_long(answer, every) is not None:
        return ""
    answer = without_versions(answer, every, question)
    answer = with_signs(in_asked_unit(without_dates(answer, question, every), question, every), every)
    answer = without_details(answer, phrases, question)
    if len(phrases) == 1 and not any(_is_given(answer, phrase, question) for phrase in every):
        return ""
    return without_candidates(answer, every, question)


def _is_given(answer: str, phrase: str, question: str) -> bool:
    numbers = values(plain(phrase))
    text = "\n".join(in_one_unit(plain(line), numbers) for line in without_row_numbers(answer).splitlines())
    return includes(phrase, answer, words=True) and is_the_answer(text, [phrase], question)


def _unsearched(answer: str, phrases: Sequence[Sequence[str]], missing: Sequence[Sequence[str]]) -> str:
    """Why phrases were not looked for in the whole answer, for the rationale; empty if they were."""
    every = [phrase for alternatives in phrases for phrase in alternatives]
    if declines(answer) and not any(declines(phrase) for phrase in every):
        return ' (not looked for: the answer begins with "N/A")'
    if (excess := too_long(answer, every)) is not None:
        return f" (not looked for: the answer is a list or a copy of a page, it has {excess})"
    if all(any(includes(phrase, answer, words=True) for phrase in alternatives) for alternatives in missing):
        return " (only among candidates, which are no answer)"
    return ""


def _ask_model(same_answer: SameAnswer | None, question: str, reference: str, text: str, part: str) -> Finding:
    if same_answer is None:
        return Finding(None, f"{part} ({NEEDS_MODEL})")
    judgement = same_answer(question, reference, text)
    return Finding(judgement, part if judgement is not None else f"{part} (the model judge did not tell)")


def _short(references: Sequence[str]) -> str:
    shown = " and ".join(f'"{reference}"' for reference in references)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
