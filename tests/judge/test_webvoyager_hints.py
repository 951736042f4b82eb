from __future__ import annotations

import json

import pytest

from components.judge import RuleError, rules_verdict
from components.judge.rules import hint_of
from components.records import Outcome
from tests.judge.webarena_episodes import PUBLISHED
from tests.samples import a_task, a_trajectory

FILE = PUBLISHED / "webvoyager_reference_answer.json"


def a_hinted_task(answer: str = "42", kind: str = "golden", notice: str = ""):
    return a_task(reference_answer=answer, evaluator={"type": "webvoyager", "answer_type": kind, "notice": notice})


def test_the_hint_says_the_kind_of_answer_and_that_pages_take_precedence():
    assert hint_of(a_hinted_task(notice=" prices change")) == (
        "An answer that was right when the task was written: 42. Note on the site: prices change. "
        "Pages change; believe what was seen."
    )
    assert "One of several answers" in hint_of(a_hinted_task(kind="possible"))


def test_tasks_without_a_reference_answer_have_no_hint():
    assert hint_of(a_task(evaluator={"type": "webvoyager"})) is None
    assert hint_of(a_task(reference_answer="42", evaluator={"type": "site_reward"})) is None


def test_another_kind_of_answer_is_an_error():
    with pytest.raises(RuleError, match="answer_type"):
        hint_of(a_hinted_task(kind="maybe"))


def test_a_reference_answer_does_not_decide_the_verdict():
    assert rules_verdict(a_trajectory(a_hinted_task(), answer="42")).outcome is Outcome.ERROR


@pytest.mark.skipif(not FILE.exists(), reason="the published file is not here")
def test_every_published_reference_answer_is_a_hint():
    sites = json.loads(FILE.read_text())
    hints = [
        hint_of(a_hinted_task(answer["ans"], answer["type"], site["notice"]))
        for site in sites.values()
        for answer in site["answers"]
    ]
    assert len(hints) == 643
    assert sum(hint.startswith("An answer") for hint in hints) == 143
