"""Parses a task's `evaluator` into a rule: conditions on the answer and on pages.

An unknown form is an error before any episode.

The known forms are those that occur in WebArena's 812 tasks, WebArena-Lite's 165 and WebAgent-R1's 647 training tasks;
the `eval` object is taken as published, beside whatever else a task keeps in its evaluator. Published rows write in
several ways that a task cannot be done: `fuzzy_match: "N/A"`, `fuzzy_match: ["N/A"]`, `exact_match: "N/A"` or
`must_include: ["N/A"]`, all of them become `Unachievable`. A string in place of a list (`must_include: "yjlou"`) is one
phrase; the published code reads it as five letters. Not covered, since no published row has them: `must_exclude`,
`required_values`, `one_of`, `lambda:` locators and image queries of VisualWebArena.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from components.judge.rules.calls import PREFIX, AddressCall, TextCall, address_call, text_call
from components.records import Record, Task

OR = " |OR| "
NOT_AVAILABLE = "N/A"
LAST = "last"
_PLACEHOLDER = re.compile(r"__[A-Z][A-Z_]*[A-Z]__")
_SCRIPTS = ("document.", "[...document.")

_Approach = Literal["exact_match", "must_include", "fuzzy_match"]
"""How WebArena compares a text with a reference."""


class Exactly(Record):
    """The text equals `text` (`exact_match`)."""

    kind: Literal["exactly"] = "exactly"
    text: str


class Includes(Record):
    """The text contains one phrase of each list of alternatives (`must_include`)."""

    kind: Literal["includes"] = "includes"
    phrases: Annotated[list[Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]


class MeansSame(Record):
    """The text means the same as all references (`fuzzy_match`). Equality is decided by rule, all else needs a
    model."""

    kind: Literal["means_same"] = "means_same"
    references: Annotated[list[str], Field(min_length=1)]


class Unachievable(Record):
    """The task cannot be done, and the answer must say so. `reason` is the note of the task's authors, if any.

    `by_model`: a model decides about answers in other words.
    """

    kind: Literal["unachievable"] = "unachievable"
    reason: str
    by_model: bool


Expectation = Annotated[Exactly | Includes | MeansSame | Unachievable, Field(discriminator="kind")]


class EndsAt(Record):
    """The episode must end at one of these addresses, or below one unless `exact` (`url_match`)."""

    addresses: Annotated[list[str], Field(min_length=1)]
    exact: bool


class PageHas(Record):
    """A page must meet the expectations at the end of the episode (`program_html`).

    `url` and `locator` are as published. `page` is the page to read: an address, a call that returns one, or None for
    the agent's last page. `text_source` is a call that returns the text, a JavaScript expression, or "" for the whole
    page.
    """

    url: str
    locator: str
    page: AddressCall | str | None
    text_source: TextCall | str
    prepare: list[str]
    expects: list[Expectation]


class WebArenaRule(Record):
    """All conditions must hold; a part that the task does not have is empty."""

    type: Literal["webarena"] = "webarena"
    answer: list[Expectation]
    ends_at: EndsAt | None
    pages: list[PageHas]


class QARule(Record):
    """The answer must equal one of these (open QA)."""

    type: Literal["qa"] = "qa"
    answers: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class SiteRewardRule(Record):
    """The reward of the world's own pages or server decides."""

    type: Literal["site_reward"] = "site_reward"


class HintRule(Record):
    """A reference answer that cannot decide: pages change, or it is one of many (WebVoyager)."""

    type: Literal["webvoyager"] = "webvoyager"
    answer_type: Literal["golden", "possible"]
    notice: str = ""


class NoRule(Record):
    """No rule: a judge model must decide. `type` is the benchmark's, or empty."""

    type: str


Rule = WebArenaRule | QARule | SiteRewardRule | HintRule | NoRule


class RuleError(ValueError):
    """An evaluator that cannot be used; the message names the part and the reason."""


def rule_of(evaluator: Mapping[str, Any]) -> Rule:
    """The rule of a task's evaluator: `{"type": "webarena", "eval": …}`, `{"type": "qa", "answers": […]}`,
    `{"type": "site_reward"}`, `{"type": "webvoyager", "answer_type": …, "notice": …}`; the last and any other type
    cannot decide.

    Raises:
        RuleError: the evaluator's form is unknown.
    """
    kind = evaluator.get("type", "")
    try:
        if kind == "webarena":
            return _webarena(evaluator["eval"])
        if kind == "qa":
            return QARule(answers=evaluator["answers"])
        if kind == "webvoyager" and "answer_type" in evaluator:
            return HintRule(answer_type=evaluator["answer_type"], notice=evaluator.get("notice", ""))
    except KeyError as error:
        raise RuleError(f"the {kind} evaluator has no {error}: copy it from the published benchmark") from error
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(map(str, detail["loc"]))
        raise RuleError(f"the {kind} evaluator's {place}: {detail['msg']}") from error
    except ValueError as error:
        raise RuleError(f"the {kind} evaluator: {error}") from error
    return SiteRewardRule() if kind == "site_reward" else NoRule(type=str(kind))


def require_rules(tasks: Iterable[Task]) -> None:
    """Refuse tasks whose rule has an unknown form, or is about a site without an address.

    Raises:
        RuleError: names the tasks, and the error of the first.
    """
    wrong = {}
    for task in tasks:
        try:
            rule = rule_of(task.evaluator)
        except RuleError as error:
            wrong[task.task_id] = str(error)
            continue
        sites = set(_PLACEHOLDER.findall(rule.model_dump_json())) if isinstance(rule, WebArenaRule) else set()
        if sites:
            wrong[task.task_id] = f"the address of {', '.join(sorted(sites))} is unknown; give it in tasks.sites"
    if wrong:
        first, reason = next(iter(wrong.items()))
        others = f" and {len(wrong) - 1} others" if len(wrong) > 1 else ""
        raise RuleError(f"{first}{others} cannot be judged by their rules; {first}: {reason}")


def require_decisive_rules(tasks: Iterable[Task]) -> None:
    """Refuse tasks that rules alone can never judge.

    Raises:
        RuleError: names the tasks.
    """
    undecidable = [task.task_id for task in tasks if isinstance(rule_of(task.evaluator), NoRule | HintRule)]
    if undecidable:
        raise RuleError(
            f"{len(undecidable)} tasks have no rule that could judge them ({', '.join(undecidable[:3])}…), and "
            "judge.labels is rules: name a judge model in judge.model.endpoint and set judge.labels and judge.reward "
            "to model, or take their file out of tasks.files"
        )


class _Published(Record):
    """The published `eval` object. Of the authors' notes only `string_note` is used."""

    eval_types: Annotated[list[Literal["string_match", "url_match", "program_html"]], Field(min_length=1)]
    reference_answers: dict[_Approach, str | list[str]] | None = None
    reference_url: str | None = None
    program_html: list[_Target] = Field(default_factory=list)
    url_note: Literal["GOLD in PRED", "EXACT"] | None = None
    string_note: str | None = None
    reference_answer_raw_annotation: str | None = None
    annotation_note: str | None = None


class _Target(Record):
    """One entry of `program_html`."""

    url: str
    locator: str
    required_contents: dict[_Approach, str | list[str]]
    prep_actions: list[str] = Field(default_factory=list)


def _webarena(raw: Any) -> WebArenaRule:
    published = _Published.model_validate(raw)
    types = published.eval_types
    answer: list[Expectation] = []
    if "string_match" in types:
        answer = _expectations(published.reference_answers or {}, published.string_note or "")
        if not answer:
            raise ValueError("eval.reference_answers is empty, and string_match is asked for")
    ends_at = None
    if "url_match" in types:
        if not published.reference_url:
            raise ValueError("eval.reference_url is empty, and url_match is asked for")
        ends_at = EndsAt(addresses=published.reference_url.split(OR), exact=published.url_note == "EXACT")
    pages = [_page(target) for target in published.program_html] if "program_html" in types else []
    if "program_html" in types and not pages:
        raise ValueError("eval.program_html is empty, and program_html is asked for")
    return WebArenaRule(answer=answer, ends_at=ends_at, pages=pages)


def _page(target: _Target) -> PageHas:
    url, locator = target.url, target.locator.strip()
    if locator and not locator.startswith((*_SCRIPTS, PREFIX)):
        raise ValueError(f"the locator {locator!r} is neither empty, nor {PREFIX}…, nor JavaScript on the document")
    if url != LAST and not url.startswith(("http://", "https://", "__", PREFIX)):
        raise ValueError(f"the address {url!r} is neither {LAST!r}, nor {PREFIX}…, nor an http(s) address")
    expects = _expectations(target.required_contents, None)
    if not expects:
        raise ValueError(f"eval.program_html requires nothing of {url}")
    page = None if url == LAST else address_call(url) if url.startswith(PREFIX) else url
    text_source = text_call(locator) if locator.startswith(PREFIX) else locator
    return PageHas(
        url=url,
        locator=target.locator,
        page=page,
        text_source=text_source,
        prepare=target.prep_actions,
        expects=expects,
    )


def _expectations(references: Mapping[_Approach, str | list[str]], note: str | None) -> list[Expectation]:
    return [_expectation(approach, reference, note) for approach, reference in references.items()]


def _expectation(approach: _Approach, reference: str | list[str], note: str | None) -> Expectation:
    """What one approach asks. `note`: why a task cannot be done; None on pages, which may well hold "N/A"."""
    texts = [reference] if isinstance(reference, str) else reference
    if not all(text.strip() for text in texts):
        raise ValueError(f"{approach} has an empty reference, which every text would meet")
    if texts == [NOT_AVAILABLE] and note is not None:
        return Unachievable(reason=note, by_model=approach == "fuzzy_match")
    match approach:
        case "exact_match":
            if len(texts) != 1:
                raise ValueError(f"exact_match has {len(texts)} references, and a text can be but one of them")
            return Exactly(text=texts[0])
        case "must_include":
            return Includes(phrases=[_alternatives(text) for text in texts])
    return MeansSame(references=texts)


def _alternatives(phrase: str) -> list[str]:
    """The parts of `A |OR| B`; of an address on www.reddit.com, whose place the forum takes, its path too."""
    parts = [part for part in phrase.split(OR) if part.strip()]
    real = "http://www.reddit.com/f/"
    return [*parts, *("/f/" + part.removeprefix(real) for part in parts if part.startswith(real))]
