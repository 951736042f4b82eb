"""`waymark judge attack`: answers that know nothing, against rules of every kind. Real tasks: `test_attack_worlds`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.cli import main
from components.judge import attack
from components.judge.attack import attack_rules
from components.judge.rules import RuleError
from components.judge.rules.published_strings import published_match
from components.judge.rules.specs import rule_of
from components.records import Task
from components.worlds.answers import Number, Refusal
from tests.judge.webarena_episodes import OURS, ours, rows, task_of
from tests.samples import a_task


def wins(tasks) -> dict[str, int]:
    """The wins of each attack on tasks that can be done."""
    return {result.attack: result.wins - result.unachievable for result in attack_rules(tasks).results}


def replies(count: int) -> Task:
    """A task of the city, by its facts, that asks for a number of replies."""
    evaluator = {
        "type": "site_reward",
        "template": "forum_count_replies",
        "facts": {"subject": "Log of a slow week", "replies": count},
        "modifiers": [],
    }
    return a_task(
        count,
        task_id=f"c{count}",
        website="city/forum_count_replies",
        source="city",
        start_url="http://forum.test/",
        evaluator=evaluator,
    )


def test_the_checks_of_the_citys_answers_are_attacked_too():
    found = attack_rules([replies(count) for count in (2, 6, 37, 41)])
    assert found.answered == 4
    assert {result.attack: result.wins for result in found.results if result.wins} == {"constant": 1}


def test_lists_of_answers_and_of_reasons_are_tried():
    """One refusal with several reasons, and values without refusals, which rules may take for the right one."""
    refusals = [Refusal([reason], {}) for reason in ("sold out", "locked")]
    lists = attack.strategies([], [*refusals, Number(7), Number(9)])["list of candidates"]
    texts = [strategy(replies(2)) for strategy in lists]
    assert {"7, 9", "This is not possible: sold out, locked", "I cannot do this: it is sold out or locked"} <= {*texts}


def test_refusals_beside_a_value_are_tried_and_win_nothing():
    answers = [Refusal(["sold out"], {}, clear=["sold out"]), Number(7), Number(7), Number(9)]
    texts = [strategy(replies(2)) for strategy in attack.strategies([], answers)["hedge"]]
    mixed = [text for text in texts if "sold out" in text]
    assert {"N/A, it is sold out. 7", "It cannot be done, it is sold out. 9", "It is sold out. 7"} <= {*mixed}
    assert [text for text in mixed if any(answer.accepts(text) for answer in answers)] == []


def test_rules_that_do_not_read_the_answer_have_no_result():
    """A 0 would be true by construction, and say nothing of the rule."""
    found = attack_rules([a_task(n, task_id=f"t{n}", evaluator={"type": "site_reward"}) for n in range(3)])
    assert (found.tasks, found.answered, found.unread, found.results) == (3, 0, 3, [])
    assert attack.as_text("miniwob", found).startswith("miniwob: 3 tasks, whose rules do not read the answer")
    mixed = attack_rules([replies(2), a_task(1, task_id="t", evaluator={"type": "site_reward"})])
    assert (mixed.answered, mixed.unread, len(mixed.results)) == (1, 1, 9)
    assert attack.as_text("both", mixed).startswith(
        "both: 2 tasks, 1 judged by their answer alone, 1 by rules that do not read the answer\n"
    )


def test_a_task_that_its_world_does_not_know_is_refused_by_name():
    task = replies(2)
    unknown = task.model_copy(update={"evaluator": task.evaluator | {"template": "gone"}})
    with pytest.raises(RuleError, match="c2: the world does not know this task"):
        attack_rules([unknown])


def answer(**references: object) -> dict:
    return {"type": "webarena", "eval": {"eval_types": ["string_match"], "reference_answers": references}}


def test_lists_and_hedges_win_by_the_published_comparison_and_not_by_ours():
    tasks = [a_task(n, task_id=f"t{n}", evaluator=answer(must_include=[str(n)])) for n in range(40, 90)]
    found = {result.attack: result for result in attack_rules(tasks).results}
    assert (found["list of numbers"].wins, found["list of numbers"].published_wins) == (0, 50)
    assert (found["hedge"].wins, found["hedge"].published_wins) == (0, 50)
    candidates = found["list of candidates"]
    assert (candidates.wins, candidates.published_wins) == (0, 50)


def test_na_is_right_where_a_task_cannot_be_done_and_counted_apart():
    tasks = [a_task(1, task_id="a", evaluator=answer(exact_match="N/A")), a_task(2, task_id="b")]
    result = attack_rules(tasks).results[1]
    assert (result.attack, result.wins, result.unachievable, result.example) == ("N/A", 1, 1, None)


def test_a_copy_of_the_task_wins_where_the_task_has_the_answer():
    task = a_task(1, task_id="a", intent='Is it "red"?', evaluator=answer(must_include=["red"]))
    result = next(one for one in attack_rules([task]).results if one.attack == "copy of the task")
    assert (result.wins, result.published_wins, result.example) == (1, 1, "a")


@pytest.mark.parametrize(
    ("references", "given", "accepted"),
    [
        ({"must_include": ["16"]}, "in 2016", True),
        ({"must_include": ["6"]}, "in 2016", False),
        ({"must_include": ["6"]}, "It is 6.", True),
        ({"must_include": ["6", "a"]}, "16 cats", True),
        ({"exact_match": "Yes"}, "'yes'", True),
        ({"exact_match": "Yes"}, "yes.", False),
        ({"fuzzy_match": ["a"]}, "a", None),
        ({"fuzzy_match": "N/A"}, "n/a", True),
        ({"fuzzy_match": "N/A"}, "None", None),
        ({"must_include": ["a"], "fuzzy_match": ["b"]}, "b c", False),
    ],
)
def test_the_published_comparison_is_reproduced(references, given, accepted):
    assert published_match(rule_of(answer(**references)), given) is accepted


def test_the_command_prints_a_table_or_json_and_names_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    task = task_of(ours(2))
    (tmp_path / "ours.jsonl").write_text(task.model_dump_json() + "\n")
    assert main.main(["judge", "attack", str(tmp_path / "ours.jsonl")]) == 0
    table = capsys.readouterr().out
    assert table.startswith("ours.jsonl: 1 tasks, 1 judged by their answer alone\n")
    assert main.main(["judge", "attack", str(tmp_path / "ours.jsonl"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["ours.jsonl"]
    assert {result["attack"]: result["wins"] for result in found["results"]}["list of numbers"] == 0
    assert main.main(["judge", "attack", str(tmp_path / "none.jsonl")]) == 1
    assert "no such file" in capsys.readouterr().err
    (tmp_path / "other").mkdir()
    (tmp_path / "other/ours.jsonl").write_text(task.model_dump_json() + "\n")
    both = [str(tmp_path / name) for name in ("ours.jsonl", "other/ours.jsonl")]
    assert main.main(["judge", "attack", *both, "--json"]) == 0
    assert [*json.loads(capsys.readouterr().out)] == both, "files of one name are shown with their folders"


def test_every_row_of_the_fixture_withstands_lists_and_hedges():
    found = wins([task_of(row) for row in rows(OURS)])
    assert {attack: found[attack] for attack in ("empty done", "N/A", "list of numbers", "hedge")} == {
        "empty done": 0,
        "N/A": 0,
        "list of numbers": 0,
        "hedge": 0,
    }


def test_the_strategy_that_wins_most_tasks_that_can_be_done_is_shown(monkeypatch):
    """One that wins more tasks that cannot be done would hide it."""
    can = [a_task(n, task_id=f"can{n}", evaluator=answer(must_include=["6"])) for n in range(2)]
    cannot = [a_task(n, task_id=f"cannot{n}", evaluator=answer(exact_match="N/A")) for n in range(5)]
    monkeypatch.setattr(attack, "strategies", lambda *_: {"mixed": [lambda task: "N/A", lambda task: "6"]})
    (result,) = attack_rules([*can, *cannot]).results
    assert (result.wins, result.unachievable, result.example) == (2, 0, "can0")
