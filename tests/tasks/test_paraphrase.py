"""Tasks in other words: what a wording must keep, and what a model is told about one that does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.params import ConstructionParams
from components.records import Task
from components.tasks import Answer, Unusable
from components.tasks.construction import paraphrase
from components.tasks.paraphrase import facts_of, other_wordings, paraphrased, require_same_facts

INTENT = 'Put 2 pieces of "Brass cleat, 120 mm" into the cart of Dana Whitfield at shop.test. Do not order yet.'
GOOD = 'Dana Whitfield, at shop.test, wants "Brass cleat, 120 mm" in the cart, 2 pieces. She will not order it today.'
FACTS = ["2", "Brass cleat, 120 mm", "Dana Whitfield", "shop.test"]
PARAMS = ConstructionParams.model_validate(
    {"endpoint": {"url": "http://127.0.0.1/v1", "model": "m", "max_in_flight": 2}, "max_tries": 2}
)


class ScriptedModel:
    """Says one thing after the other, the last one for ever, at a cent each."""

    def __init__(self, *says: list[str]) -> None:
        self.says = [json.dumps({"wordings": said}) for said in says]
        self.asked: list[str] = []

    async def __call__(self, system: str, user: str) -> Answer:
        self.asked.append(user)
        return Answer(self.says[min(len(self.asked), len(self.says)) - 1], usd=0.01)


@pytest.fixture
def cleat(task: Callable[..., Task]) -> Task:
    evaluator = {"type": "site_reward", "template": "shop_add", "facts": {"title": "Brass cleat, 120 mm", "count": 2}}
    return task("cleat", intent=INTENT, evaluator=evaluator)


def test_facts_are_quotes_names_numbers_addresses_and_known_values(cleat: Task) -> None:
    assert facts_of(cleat) == FACTS
    lower = cleat.model_copy(
        update={"intent": "find the brass cleat", "evaluator": {"facts": {"title": "brass cleat"}}}
    )
    assert facts_of(lower) == ["brass cleat"], "no pattern finds it, the evaluator does"


@pytest.mark.parametrize(
    ("intent", "facts"),
    [
        ("Find a hotel in Österreich, and Éric's in Łódź", ["Österreich", "Éric", "Łódź"]),
        ("Найди отель в Москве", ["Москве"]),
        ("Look up a city (Berlin) — Rome, too. Then stop", ["Berlin", "Rome"]),
        ("Compare Stratford-upon-Avon and O'Fallon", ["Stratford-upon-Avon", "O'Fallon"]),
        ("Send 'it's here' to the owners' list", ["it's here"]),
        ("Envoie « rapport final » à «b» et ‘c’", ["rapport final", "b", "c"]),
        ("Find hotels of the '90s for the guests' rooms", []),
        ('Write "All is well." Change nothing', ["All is well."]),
    ],
)
def test_names_and_quotes_of_many_languages_are_facts(task: Callable[..., Task], intent: str, facts: list[str]) -> None:
    assert facts_of(task("any", intent=intent, evaluator={})) == facts


def test_a_wording_with_all_facts_is_taken_and_has_its_cost(cleat: Task) -> None:
    model = ScriptedModel([GOOD])
    assert asyncio.run(other_wordings(cleat, 1, model, 3)) == ([GOOD], 0.01)
    assert json.loads(model.asked[0]) == {"task": INTENT, "wordings": 1, "keep": FACTS}


@pytest.mark.parametrize(
    ("wordings", "told"),
    [
        ([GOOD.replace("Dana Whitfield", "Dana")], "has not the fact 'Dana Whitfield'"),
        ([GOOD.replace("120 mm", "12 mm")], "has not the fact 'Brass cleat, 120 mm'"),
        ([GOOD.replace("2 pieces", "22 pieces")], "has not the fact '2'"),
        ([GOOD.replace("shop.test", "the shop")], "has not the fact 'shop.test'"),
        ([GOOD + " It costs 7.50."], "has a new number, '7.50'"),
        ([GOOD + ' Write "thanks".'], "has a new quoted text, 'thanks'"),
        ([GOOD + " See desk.test."], "has a new address, 'desk.test'"),
        ([GOOD.replace("not order it today", "order it today")], r"rules nothing out, and the task does ('not')"),
        ([INTENT.upper()], "has not the fact"),
        ([GOOD, GOOD + " Please."], "there are 2 and not 1"),
        ([" ".join(INTENT.split()) + " "], "is the task, or another wording, again"),
    ],
)
def test_a_wording_with_other_facts_is_asked_for_again(cleat: Task, wordings: list[str], told: str) -> None:
    model = ScriptedModel(wordings, [GOOD])
    assert asyncio.run(other_wordings(cleat, 1, model, 2)) == ([GOOD], 0.02)
    assert told in model.asked[1]


def test_a_task_without_a_usable_wording_stays_and_the_reason_is_kept(cleat: Task) -> None:
    other = cleat.model_copy(update={"task_id": "other", "intent": "Open the cart of Dana Whitfield.", "evaluator": {}})
    built = asyncio.run(paraphrase([cleat, other], {}, ScriptedModel([GOOD]), PARAMS, lambda *_: None))
    assert [task.task_id for task in built.tasks] == ["cleat", "cleat~1", "other"]
    assert built.tasks[1] == cleat.model_copy(update={"task_id": "cleat~1", "intent": GOOD})
    (rejection,) = built.rejections
    assert (rejection.field, built.usd) == ("intent", pytest.approx(0.03))
    assert "no usable answer in 2 tries" in rejection.reason


def test_a_model_that_never_keeps_the_facts_is_asked_as_often_as_it_may(cleat: Task) -> None:
    model = ScriptedModel(["Buy something."])
    with pytest.raises(Unusable, match=r"no usable answer in 3 tries; the last: .* has not the fact"):
        asyncio.run(other_wordings(cleat, 1, model, 3))
    assert len(model.asked) == 3


@given(st.text(), st.text())
def test_any_text_has_facts_that_its_own_words_keep(intent: str, wording: str) -> None:
    task = Task(task_id="t", intent=f"x{intent}", start_url="http://a.test", website="a.test", source="files")
    facts = facts_of(task)
    require_same_facts(task.intent, task.intent, facts)
    require_same_facts(task.intent, f"{task.intent} please", facts)
    assert paraphrased(task, [wording])[0].intent == wording


def test_a_second_run_makes_no_wordings_of_wordings(cleat: Task) -> None:
    other = cleat.model_copy(update={"task_id": "other"})
    model = ScriptedModel([GOOD])
    first = asyncio.run(paraphrase([cleat], {}, model, PARAMS, lambda *_: None)).tasks
    again = asyncio.run(paraphrase([*first, other], {}, model, PARAMS, lambda *_: None)).tasks
    assert [task.task_id for task in again] == ["cleat", "cleat~1", "other", "other~1"]
    assert len(model.asked) == 2, "what was paid for is not asked for again"
