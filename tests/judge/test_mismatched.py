"""Failures for a judge to learn from: attempts that succeeded, with the task of another attempt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from components.judge import rules_verdict
from components.judge.mismatched import mismatched
from components.records import Outcome, Trajectory, Verdict
from tests.samples import a_task, a_trajectory, a_verdict

SITES = ("a/shop", "a/forum")


def attempts(count: int, sites: tuple[str, ...] = SITES) -> list[Trajectory]:
    tasks = [
        a_task(number, intent=f'Click on the "{number}" button.', website=sites[number % len(sites)])
        for number in range(count)
    ]
    return [a_trajectory(task, site_reward=1.0 if number % 3 else 0.0) for number, task in enumerate(tasks)]


def by_rules(trajectories: list[Trajectory]) -> dict[str, Verdict]:
    return {trajectory.trajectory_id: rules_verdict(trajectory) for trajectory in trajectories}


@given(st.floats(0, 1), st.integers(0, 1000))
def test_each_example_is_a_success_with_another_task_of_its_website(share, seed):
    known = attempts(24)
    examples, labels = mismatched(known, by_rules(known), share, seed)
    assert len(examples) == len(labels) == round(share * 16)
    original = {trajectory.task_id: trajectory for trajectory in known}
    intents = {site: {t.task.intent for t in known if t.task.website == site} for site in SITES}
    for example, label in zip(examples, labels, strict=True):
        source = original[example.task_id]
        assert source.site_reward == 1.0
        assert example.task.intent != source.task.intent
        assert example.task.intent in intents[source.task.website]
        assert (example.turns, example.answer) == (source.turns, source.answer)
        assert (label.outcome, label.trajectory_id) == (Outcome.FAILURE, example.trajectory_id)
    ids = [*(example.trajectory_id for example in examples), *(trajectory.trajectory_id for trajectory in known)]
    assert len(set(ids)) == len(ids)


def test_equal_seeds_give_equal_examples_and_others_do_not():
    known = attempts(24)
    verdicts = by_rules(known)
    assert mismatched(known, verdicts, 0.5, 1) == mismatched(known, verdicts, 0.5, 1)
    assert mismatched(known, verdicts, 0.5, 1) != mismatched(known, verdicts, 0.5, 2)


def test_a_website_with_one_wording_has_no_examples():
    known = [a_trajectory(a_task(number, intent="Click the button."), site_reward=1.0) for number in range(4)]
    assert mismatched(known, by_rules(known), 1.0, 0) == ([], [])


def test_rationales_are_in_the_words_of_the_judge_that_labelled():
    known = [t for t in attempts(6, ("a/shop",)) if t.site_reward]
    (example, *_), (by_rule, *_) = mismatched(known, by_rules(known), 1.0, 0)
    assert by_rule.rationale == rules_verdict(example).rationale
    by_model = {t.trajectory_id: a_verdict(t, judge="model") for t in known}
    (example, *_), (label, *_) = mismatched(known, by_model, 1.0, 0)
    source = next(t for t in known if t.task_id == example.task_id)
    expected = f'The agent did another task: "{source.task.intent}" The task is: "{example.task.intent}"'
    assert label.rationale == expected
