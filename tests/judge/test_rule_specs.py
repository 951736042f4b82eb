"""Unknown forms are errors that name the part, before any episode; known ones are typed."""

from __future__ import annotations

import copy

import pytest

from components.judge.rules import RuleError, probes_of, require_decisive_rules, require_rules, rule_of
from components.judge.rules.calls import AddressCall, TextCall, address_call, text_call
from components.judge.rules.conditions import Includes, Unachievable
from components.judge.rules.specs import NoRule, QARule, SiteRewardRule
from tests.judge.webarena_episodes import ours, rule_of_row, task_of
from tests.samples import a_task


def changed(number: int, **changes: object) -> dict:
    evaluation = copy.deepcopy(ours(number)["eval"]) | changes
    return {"type": "webarena", "eval": evaluation}


def target(**changes: object) -> dict:
    page = {"url": "last", "locator": "", "required_contents": {"must_include": ["x"]}} | changes
    return {"type": "webarena", "eval": {"eval_types": ["program_html"], "program_html": [page]}}


def images(**changes: object) -> dict:
    query = {
        "eval_image_url": "last",
        "eval_image_class": ".photo",
        "eval_vqa": [{"question": "Is it red?", "answer": "yes"}],
    }
    return {
        "type": "visualwebarena",
        "eval": {"eval_types": ["page_image_query"], "page_image_query": [query | changes]},
    }


@pytest.mark.parametrize(
    ("evaluator", "said"),
    [
        (changed(1, eval_types=["image_match"]), "eval_types.0"),
        (changed(1, eval_types=[]), "eval_types"),
        (changed(1, reference_answers={"any_of": ["a"]}), "reference_answers"),
        (changed(1, reference_answers={"required_values": ["12"]}), "no bound"),
        (changed(1, eval_types=["page_image_query"]), "page_image_query is empty"),
        (images(eval_vqa=[]), "asks nothing"),
        (images(eval_vqa=[{"question": "Is it red?", "answer": " "}]), "without text"),
        (images(eval_image_url="javascript:1"), "address"),
        (changed(1, reference_answers={"exact_match": 3}), "reference_answers.exact_match"),
        (changed(1, reference_answers={"exact_match": ["a", "b"]}), "can be but one"),
        (changed(1, reference_answers={"must_include": []}), "at least 1"),
        (changed(1, reference_answers={"must_include": ["a", " "]}), "empty reference"),
        (changed(1, reference_answers=None), "reference_answers is empty"),
        (changed(1, new_key=1), "new_key"),
        (changed(14, url_note="PRED in GOLD"), "url_note"),
        (changed(14, reference_url=""), "reference_url is empty"),
        (changed(14, reference_url="http://[x/"), "has 'http://\\[x/', which is no address"),
        (changed(17, program_html=[]), "program_html is empty"),
        (target(locator="window.x"), "locator"),
        (target(url="javascript:1"), "address"),
        (target(url="func:os.system('x')"), "call"),
        (target(url="func:open('x')"), "calls none of"),
        (target(url="func:reddit_get_post_url('http://x')"), "takes"),
        (target(url="func:shopping_get_latest_order_url(1)"), "takes"),
        (target(url="func:("), "not a function call"),
        (target(locator="func:reddit_get_post_url('__last_url__')"), "calls none of"),
        (target(locator="func:shopping_get_sku_latest_review_author(sku='x')"), "positional arguments"),
        (target(locator="func:gitlab_get_project_memeber_role(page, 'x')"), "takes"),
        (target(required_contents={}), "requires nothing"),
        (target(required_contents={"must_exclude": [" "]}), "empty reference"),
        (target(locator="func:get_query_text('h1')"), "takes"),
        ({"type": "webarena"}, "eval"),
        ({"type": "qa"}, "answers"),
        ({"type": "qa", "answers": []}, "answers"),
        ({"type": "qa", "answers": [""]}, "answers"),
    ],
)
def test_an_unknown_form_is_an_error_that_says_where(evaluator, said):
    with pytest.raises(RuleError, match=said):
        rule_of(evaluator)


def test_evaluators_other_than_webarena_are_read():
    assert rule_of({"type": "qa", "answers": ["a", "b"]}) == QARule(answers=["a", "b"])
    assert rule_of({"type": "site_reward", "family": "click-button"}) == SiteRewardRule()
    assert rule_of({"type": "deepshop", "level": "easy"}) == NoRule(type="deepshop")
    assert rule_of({}) == NoRule(type="")


@pytest.mark.parametrize("number", [7, 8, 9, 10])
def test_each_spelling_of_an_impossible_task_is_one_rule(number):
    (expectation,) = rule_of_row(ours(number)).answer
    assert isinstance(expectation, Unachievable)
    assert expectation.by_model == (number in (7, 8))


def test_a_string_where_a_list_belongs_is_one_phrase():
    assert rule_of_row(ours(4)).answer == [Includes(phrases=[["yjlou"]])]


def test_alternatives_are_split():
    assert rule_of_row(ours(3)).answer == [Includes(phrases=[["Ann Lo"], ["T. Gannon"], ["65", "3"]])]
    assert rule_of_row(ours(16)).ends_at.addresses == ["__REDDIT__/f/pittsburgh", "__REDDIT__/f/driving"]


def test_parts_that_eval_types_do_not_name_are_ignored():
    row = ours(16)
    rule = rule_of({"type": "webarena", "eval": row["eval"] | {"eval_types": ["url_match"]}})
    assert (rule.answer, rule.pages) == ([], [])


def test_calls_are_parsed_and_not_run():
    assert address_call("func:reddit_get_post_url('__last_url__')") == AddressCall(function="reddit_get_post_url")
    assert text_call("func:gitlab_get_project_memeber_role(__page__, 'a\\'b')") == TextCall(
        function="gitlab_get_project_memeber_role", arguments=["a'b"]
    )


def test_a_name_of_the_tasks_is_quoted_in_our_expressions():
    row = copy.deepcopy(ours(19))
    row["eval"]["program_html"][0]["locator"] = "func:gitlab_get_project_memeber_role(__page__, '\"); alert(1); (\"')"
    (probe,) = probes_of(task_of(row), "http://x.example/")
    assert '\'@\' + "\\"); alert(1); (\\""' in probe.script


def test_a_probe_has_the_address_and_locator_to_read():
    def of(number: int, final_url: str = "http://r.example/f/books/17/a-post/-/comment/3"):
        row = ours(number)
        return probes_of(task_of(row | {"start_url": "http://shop.example:7770/some/page"}), final_url)

    assert of(1) == []
    (post,) = of(16)
    assert post.address == "http://r.example/f/books/17/"
    (order,) = of(17)
    assert order.address == "http://shop.example:7770"
    assert "V1/orders" in order.resolve
    rating, author = of(18)
    assert rating.must_answer
    assert author.must_answer
    assert '"B01J4MM3KO"' in rating.script
    (last,) = of(20)
    assert (last.address, last.prepare) == (None, ["document.querySelector('.admin__collapsible-title').click()"])
    (whole,) = of(21)
    assert (whole.address, whole.script) == ("__SHOPPING_ADMIN__/../jaw.html", "")


def test_tasks_that_cannot_be_judged_are_refused_before_any_episode():
    placed = copy.deepcopy(ours(15))
    placed["eval"]["reference_url"] = "http://shop.example/contact"
    require_rules([task_of(ours(1)), task_of(placed), a_task(evaluator={"type": "site_reward"})])
    with pytest.raises(RuleError, match=r"webarena/14 and 1 others .* address of __SHOPPING__ is unknown"):
        require_rules([task_of(ours(1)), task_of(ours(14)), a_task(evaluator={"type": "qa"})])


def test_tasks_that_rules_alone_can_never_judge_are_refused_with_the_fix():
    require_decisive_rules(
        [a_task(evaluator={"type": "site_reward"}), a_task(evaluator={"type": "qa", "answers": ["x"]})]
    )
    hinted = a_task(task_id="wv/1", evaluator={"type": "webvoyager", "answer_type": "golden"})
    with pytest.raises(RuleError, match=r"2 tasks.*wv/1, deep/2.*judge\.labels"):
        require_decisive_rules([hinted, a_task(task_id="deep/2", evaluator={"type": "deepshop"})])
