"""Parses the `eval` objects of WebArena's and VisualWebArena's files, as they are published, into a `WebArenaRule`.

The known forms are those that occur in WebArena's 812 tasks, WebArena-Lite's 165, WebAgent-R1's 647 training tasks and
VisualWebArena's 910. Published rows write in several ways that a task cannot be done: `fuzzy_match: "N/A"`,
`fuzzy_match: ["N/A"]`, `exact_match: "N/A"` or `must_include: ["N/A"]`, all of them become `Unachievable`. A string in
place of a list (`must_include: "yjlou"`) is one phrase; the published code reads it as five letters. An address without
`url_note` is the beginning of the last one in WebArena, and the whole of it in VisualWebArena, as in their code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from components.judge.rules.addresses import is_address
from components.judge.rules.calls import PREFIX, AddressCall, address_call, text_call
from components.judge.rules.conditions import (
    Comparison,
    EndsAt,
    Exactly,
    Excludes,
    Expectation,
    ImageAnswer,
    ImagesShow,
    Includes,
    MeansSame,
    PageHas,
    Satisfies,
    Unachievable,
    WebArenaRule,
)
from components.records import Record

OR = " |OR| "
NOT_AVAILABLE = "N/A"
LAST = "last"
SIMILARITY = 0.8
"""VisualWebArena's least similarity of an image and its copy, where a row names none."""
_SCRIPTS = ("document.", "[...document.")
_LAMBDA = "lambda:"
_BOUND = re.compile(r"\s*(<=|>=|==|<|>)\s*(-?\d+(?:\.\d+)?)\s*")

_Approach = Literal["exact_match", "must_include", "fuzzy_match", "must_exclude", "required_values", "one_of"]
"""How a text is compared with a reference; the last three are VisualWebArena's."""
_EvalType = Literal["string_match", "url_match", "program_html", "page_image_query"]


class _Target(Record):
    """One entry of `program_html`."""

    url: str
    locator: str
    required_contents: dict[_Approach, str | list[str]]
    prep_actions: list[str] = Field(default_factory=list)


class _ImageQuery(Record):
    """One entry of `page_image_query`."""

    eval_image_url: str
    eval_image_class: str
    eval_vqa: list[ImageAnswer] = Field(default_factory=list)
    eval_fuzzy_image_match: str | None = None
    ssim_threshold: float = SIMILARITY


class _Published(Record):
    """The published `eval` object. Of the authors' notes only `string_note` is used."""

    eval_types: Annotated[list[_EvalType], Field(min_length=1)]
    reference_answers: dict[_Approach, str | list[str]] | None = None
    reference_url: str | None = None
    program_html: list[_Target] = Field(default_factory=list)
    page_image_query: list[_ImageQuery] = Field(default_factory=list)
    url_note: Literal["GOLD in PRED", "EXACT"] | None = None
    string_note: str | None = None
    reference_answer_raw_annotation: str | None = None
    annotation_note: str | None = None


def webarena_rule(raw: Any, is_visual: bool) -> WebArenaRule:
    """The rule of an `eval` object.

    Args:
        is_visual: the row is VisualWebArena's.

    Raises:
        ValueError: its form is unknown; the message names the part.
    """
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
        note = published.url_note or ("EXACT" if is_visual else "GOLD in PRED")
        addresses = published.reference_url.split(OR)
        if wrong := next((address for address in addresses if not is_address(address)), None):
            raise ValueError(f"eval.reference_url has {wrong!r}, which is no address: correct it")
        ends_at = EndsAt(addresses=addresses, exact=note == "EXACT")
    pages = [_page(target) for target in published.program_html] if "program_html" in types else []
    if "program_html" in types and not pages:
        raise ValueError("eval.program_html is empty, and program_html is asked for")
    images = [_images(query) for query in published.page_image_query] if "page_image_query" in types else []
    if "page_image_query" in types and not images:
        raise ValueError("eval.page_image_query is empty, and page_image_query is asked for")
    return WebArenaRule(answer=answer, ends_at=ends_at, pages=pages, images=images)


def _page(target: _Target) -> PageHas:
    locator = target.locator.strip()
    if locator and not locator.startswith((*_SCRIPTS, PREFIX, _LAMBDA)):
        raise ValueError(
            f"the locator {locator!r} is neither empty, nor {PREFIX}…, nor {_LAMBDA}…, nor JavaScript on the document"
        )
    expects = _expectations(target.required_contents, None)
    if not expects:
        raise ValueError(f"eval.program_html requires nothing of {target.url}")
    return PageHas(
        url=target.url,
        locator=target.locator,
        page=_address(target.url),
        text_source=text_call(locator) if locator.startswith(PREFIX) else locator.removeprefix(_LAMBDA),
        prepare=target.prep_actions,
        expects=expects,
    )


def _images(query: _ImageQuery) -> ImagesShow:
    if not query.eval_vqa and not query.eval_fuzzy_image_match:
        raise ValueError(f"eval.page_image_query asks nothing about the images of {query.eval_image_url}")
    if not all(expected.question.strip() and expected.answer.strip() for expected in query.eval_vqa):
        raise ValueError("eval.page_image_query has a question or an answer without text")
    return ImagesShow(
        url=query.eval_image_url,
        selector=query.eval_image_class,
        page=_address(query.eval_image_url),
        questions=query.eval_vqa,
        copies=[part.strip() for part in (query.eval_fuzzy_image_match or "").split(OR) if part.strip()],
        threshold=query.ssim_threshold,
    )


def _address(url: str) -> AddressCall | str | None:
    """The page of a check: an address, a call that returns one, or None for the agent's last page."""
    if url != LAST and not url.startswith(("http://", "https://", "__", PREFIX)):
        raise ValueError(f"the address {url!r} is neither {LAST!r}, nor {PREFIX}…, nor an http(s) address")
    return None if url == LAST else address_call(url) if url.startswith(PREFIX) else url


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
        case "one_of":
            return Includes(phrases=[texts])
        case "must_exclude":
            return Excludes(phrases=texts)
        case "required_values":
            return Satisfies(bounds=[[_comparison(part) for part in text.split(OR)] for text in texts])
    return MeansSame(references=texts)


def _alternatives(phrase: str) -> list[str]:
    """The parts of `A |OR| B`; of an address on www.reddit.com, whose place the forum takes, its path too."""
    parts = [part for part in phrase.split(OR) if part.strip()]
    real = "http://www.reddit.com/f/"
    return [*parts, *("/f/" + part.removeprefix(real) for part in parts if part.startswith(real))]


def _comparison(text: str) -> Comparison:
    bound = _BOUND.fullmatch(text)
    if bound is None:
        raise ValueError(f"required_values has {text!r}, which is no bound such as '< 700'")
    return Comparison.model_validate({"operator": bound[1], "value": bound[2]})
