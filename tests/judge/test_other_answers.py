"""Attempts with other answers: which are changed, by what, and that labels stay theirs."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from components.judge.other_answers import WithOtherAnswers
from components.records import ToolCall, Trajectory
from tests.samples import a_task, a_trajectory, a_turn

WITHOUT_ANSWER = {"type": "site_reward"}
WITH_ANSWER = {"type": "qa", "answers": ["4"]}


def attempts(count: int, evaluator: dict = WITHOUT_ANSWER, answer: str | None = "done") -> list[Trajectory]:
    tasks = [
        a_task(number, intent=f'Click on the "{number}" button.', source="miniwob", evaluator=evaluator,
               start_url="http://miniwob.test/click-button.html", website="miniwob/click-button")
        for number in range(count)
    ]  # fmt: skip
    return [a_trajectory(task, site_reward=float(number % 2), answer=answer) for number, task in enumerate(tasks)]


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_half_of_the_answers_are_others_in_both_classes_alike(seed):
    known = attempts(200)
    shown = WithOtherAnswers(known, 0.5, seed)
    changed = [new for old, new in zip(known, shown, strict=True) if new.answer != old.answer]
    by_class = Counter(trajectory.site_reward for trajectory in changed)
    assert by_class.total() in range(60, 140)
    assert all(count in range(25, 75) for count in by_class.values())
    assert all(new.model_copy(update={"answer": old.answer}) == old for old, new in zip(known, shown, strict=True)), (
        "nothing else differs, so the label is the attempt's"
    )
    assert len({trajectory.answer for trajectory in changed}) > len(changed) / 4


def test_the_call_of_done_has_the_other_answer_too():
    """A prompt with the calls would show both answers otherwise, and a judge would know the example by that."""
    response = '<think>Done.</think><tool_call>{"name": "done", "arguments": {"answer": "done"}}</tool_call>'
    done = ToolCall(name="done", arguments={"answer": "done"})
    known = [
        attempt.model_copy(update={"turns": [a_turn(0, response=response, tool_calls=[done])]})
        for attempt in attempts(40)
    ]
    changed = [shown for shown in WithOtherAnswers(known, 0.5, 3) if shown.answer != "done"]
    assert len(changed) > 10
    for shown in changed:
        assert shown.turns[-1].tool_calls[0].arguments == {"answer": shown.answer}
        assert json.dumps({"answer": shown.answer}, ensure_ascii=False) in shown.turns[-1].response


def test_equal_seeds_show_equal_answers_however_they_are_read():
    known = attempts(40)
    shown = WithOtherAnswers(known, 0.5, 3)
    assert [*shown] == [*WithOtherAnswers(known, 0.5, 3)] == [shown[place] for place in range(40)]
    assert [*shown[10:20]] == [*shown][10:20]
    assert [*shown] != [*WithOtherAnswers(known, 0.5, 4)]


def test_runs_of_one_seed_show_equal_answers():
    """The id of a trajectory names its run."""
    ours, theirs = (
        [known.model_copy(update={"trajectory_id": f"{run}{place}"}) for place, known in enumerate(attempts(40))]
        for run in ("a", "b")
    )
    shown = [[one.answer for one in WithOtherAnswers(known, 0.5, 3)] for known in (ours, theirs)]
    assert shown[0] == shown[1]
    assert len({*shown[0]}) > 5


def test_an_answer_that_a_rule_reads_stays():
    known = attempts(40, WITH_ANSWER, "4")
    assert [*WithOtherAnswers(known, 1.0, 0)] == known


def test_an_attempt_without_an_answer_gets_none():
    known = attempts(40, answer=None)
    assert [*WithOtherAnswers(known, 1.0, 0)] == known
