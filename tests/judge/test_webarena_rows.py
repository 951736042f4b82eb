"""Every row, ours and those of the published files where they are: its own reference is right, nothing is wrong."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from components.judge import rules_verdict
from components.judge.rules import probes_of
from components.judge.rules.conditions import MeansSame, Unachievable
from components.records import Outcome
from tests.judge.webarena_episodes import ANNOTATED, FILES, OURS, PUBLISHED, episode, right, rows, rule_of_row, task_of

PATHS = [OURS, ANNOTATED, *(PUBLISHED / name for name in FILES)]


@pytest.fixture(params=PATHS, ids=lambda path: path.name)
def file(request) -> Path:
    if not request.param.exists():
        pytest.skip("the published files are not here")
    return request.param


def needs_model(row: dict) -> bool:
    """Whether an answer in other words than the reference's can be judged by a model only."""
    rule = rule_of_row(row)
    every = [*rule.answer, *(one for page in rule.pages for one in page.expects)]
    return any(isinstance(one, MeansSame) or (isinstance(one, Unachievable) and one.by_model) for one in every)


def test_the_references_of_a_row_are_right_and_need_no_model(file):
    wrong = [row["task_id"] for row in rows(file) if rules_verdict(right(row)).outcome is not Outcome.SUCCESS]
    both = [
        row["task_id"]
        for row in rows(file)
        if len(rule_of_row(row).answer) == 2  # must_include and fuzzy_match: no text is equal to a part of itself
    ]
    assert wrong == both
    verdicts = [rules_verdict(right(row), lambda question, wanted, answer: True) for row in rows(file)]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.SUCCESS}


def test_an_empty_answer_on_a_page_elsewhere_is_wrong_and_needs_no_model(file):
    def never(question: str, wanted: str, answer: str) -> bool:
        raise AssertionError("no model may be asked")

    assert {rules_verdict(episode(row, ""), never).outcome for row in rows(file)} == {Outcome.FAILURE}


def test_another_answer_is_wrong_or_a_question_to_a_model(file):
    for row in rows(file):
        rule = rule_of_row(row)
        texts = ["something else"] * len(rule.pages)
        trajectory = episode(row, "something else entirely", texts=texts)
        alone, asked = rules_verdict(trajectory), rules_verdict(trajectory, lambda question, wanted, answer: False)
        assert asked.outcome is Outcome.FAILURE
        assert alone.outcome in ({Outcome.ERROR, Outcome.FAILURE} if needs_model(row) else {Outcome.FAILURE})


def test_an_episode_with_an_unreadable_page_is_masked(file):
    for row in rows(file):
        pages = rule_of_row(row).pages
        if pages:
            given = right(row)
            first, *others = given.ending.readings
            unread = first.model_copy(update={"text": None, "error": "status 503"})
            ending = given.ending.model_copy(update={"readings": [unread, *others]})
            verdict = rules_verdict(given.model_copy(update={"ending": ending}))
            assert verdict.outcome is Outcome.ERROR
            assert "status 503" in verdict.rationale


def test_every_page_check_is_a_probe_that_the_rule_knows_again(file):
    for row in rows(file):
        probes = probes_of(task_of(row), "http://forum.example/f/books/17/a-post/-/comment/3")
        assert [(probe.url, probe.locator) for probe in probes] == [
            (page.url, page.locator) for page in rule_of_row(row).pages
        ]
        assert not any("func:" in probe.script or "__last_url__" in (probe.address or "") for probe in probes)


REFUSED = {
    "webarena_812.raw.json": {
        7: "the annotation is the address of another place than the reference",
        9: "the annotation is the address of another place than the reference",
        10: "the annotation has another street and postcode of the second airport",
        25: "the annotation repeats the name of an avatar: GoldfishGoldfish",
        26: "the annotation repeats the name of an avatar: RemyRRemyR",
        43: "the annotation says Race where the reference says Racer",
        76: 'the reference begins with "The order is"',
        164: "the annotation has no space between two phrases: DryUneven",
        386: "the annotation is 3.1 stars, the reference 65 percent or 3",
    },
    "webarena_lite_165.raw.json": {
        54: "the annotation is N/A, and the reference is the reason",
        56: "the annotation is a reason, and the row asks for the words N/A",
        86: "the annotation is a reason, and the row asks for the words N/A",
        94: "the annotation is 3.1 stars, the reference 65 percent or 3",
    },
    "webarena_lite_train_647.json": {
        20: "the annotation repeats the name of an avatar: GoldfishGoldfish",
        21: "the annotation repeats the name of an avatar: RemyRRemyR",
    },
}
"""Rows whose references refuse the answer that their authors noted, and why that is the row's own contradiction."""


def refused_by(path: Path) -> list[int]:
    """The rows of a file whose references refuse the answer that their authors noted."""
    refused = []
    for row in rows(path):
        answer = row["eval"].get("reference_answer_raw_annotation")
        if answer and row["eval"]["eval_types"] == ["string_match"]:
            verdict = rules_verdict(episode(row, answer), lambda question, wanted, given: True)
            if verdict.outcome is not Outcome.SUCCESS:
                refused.append(row["task_id"])
    return refused


@pytest.mark.parametrize("name", FILES)
def test_the_authors_own_answer_is_right(name):
    if not (PUBLISHED / name).exists():
        pytest.skip("the published files are not here")
    assert refused_by(PUBLISHED / name) == list(REFUSED[name])


def test_the_authors_own_answer_is_right_in_rows_like_the_published_ones():
    """The published files are not everywhere, and these rows are."""
    assert refused_by(ANNOTATED) == [row["task_id"] for row in rows(ANNOTATED) if "refused" in row]
    refused = {(name, number) for row in rows(ANNOTATED) if "refused" in row for name, number in row["like"].items()}
    assert refused == {(name, number) for name, numbers in REFUSED.items() for number in numbers}


COORDINATES = [row for row in rows(ANNOTATED) if row["intent"].endswith("in DD format")]


@pytest.mark.parametrize("row", COORDINATES, ids=lambda row: row["intent"][24:-13])
def test_a_coordinate_is_right_with_more_digits_and_wrong_with_others(row):
    north, west = row["eval"]["reference_answer_raw_annotation"].split(", ")
    assert rules_verdict(episode(row, f"{north}, {west}")).outcome is Outcome.SUCCESS
    assert rules_verdict(episode(row, f"Latitude {north}, longitude {west}.")).outcome is Outcome.SUCCESS
    last = north.index(".") + 3
    another = north[:last] + str((int(north[last]) + 1) % 10) + north[last + 1 :]
    others = [another, north.replace("51.", "151."), north[: last - 1], f"-{north}"]
    for other in others:
        assert rules_verdict(episode(row, f"{other}, {west}")).outcome is Outcome.FAILURE, other
    for elsewhere in COORDINATES:
        answer = elsewhere["eval"]["reference_answer_raw_annotation"]
        assert elsewhere is row or rules_verdict(episode(row, answer)).outcome is Outcome.FAILURE, answer


def form_of(row: dict) -> tuple[str, ...]:
    """How the references of a row are compared and how its coordinates are written."""
    references = row["eval"]["reference_answers"]
    texts = [row["eval"]["reference_answer_raw_annotation"], *references.get("must_include", [])]
    written = [re.sub(r"\d", "0", text) for text in texts if re.match(r"-?\d+\.\d+(, |$)", text)]
    counts = [f"{kind} {len(texts) if isinstance(texts, list) else 1}" for kind, texts in references.items()]
    return (*counts, *written)


@pytest.mark.parametrize("name", FILES)
def test_the_rows_of_our_own_have_the_forms_of_the_published_ones(name):
    if not (PUBLISHED / name).exists():
        pytest.skip("the published files are not here")
    published = {row["task_id"]: row for row in rows(PUBLISHED / name)}
    alike = [(row, published[row["like"][name]]) for row in rows(ANNOTATED) if name in row["like"]]
    assert alike
    assert [form_of(ours) for ours, _ in alike] == [form_of(theirs) for _, theirs in alike]


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        (
            "webarena_812.raw.json",
            {"rows": 812, "exactly": 45, "includes": 176, "means_same": 82, "unachievable": 36, "ends_at": 205,
             "has pages": 411, "pages": 651, "page exactly": 188, "page includes": 463,
             "may need a model": 118, "need the site": 487},
        ),
        (
            "webarena_lite_165.raw.json",
            {"rows": 165, "exactly": 2, "includes": 36, "means_same": 33, "unachievable": 10, "ends_at": 39,
             "has pages": 67, "pages": 90, "page exactly": 27, "page includes": 59, "page means_same": 4,
             "may need a model": 40, "need the site": 87},
        ),
        (
            "webarena_lite_train_647.json",
            {"rows": 647, "exactly": 1, "includes": 98, "means_same": 133, "unachievable": 25, "ends_at": 166,
             "has pages": 339, "pages": 556, "page exactly": 152, "page includes": 372, "page means_same": 32,
             "may need a model": 186, "need the site": 400},
        ),
    ],
)  # fmt: skip
def test_the_published_files_have_the_known_forms_of_rules(name, forms):
    if not (PUBLISHED / name).exists():
        pytest.skip("the published files are not here")
    counts: Counter[str] = Counter()
    for row in rows(PUBLISHED / name):
        rule = rule_of_row(row)
        counts["rows"] += 1
        counts.update(one.kind for one in rule.answer)
        counts["ends_at"] += rule.ends_at is not None
        counts["has pages"] += bool(rule.pages)
        counts["pages"] += len(rule.pages)
        counts.update(f"page {one.kind}" for page in rule.pages for one in page.expects)
        counts["may need a model"] += needs_model(row)
        counts["need the site"] += bool(rule.pages) or rule.ends_at is not None
    assert {form: count for form, count in counts.items() if count} == forms
