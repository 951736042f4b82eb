"""The examples of a report are chosen by rule and differ from one another."""

from __future__ import annotations

from components.evaluation.episodes import Episode
from components.evaluation.taxonomy import FailureKind
from components.records import Termination
from components.reports.examples import choose_examples
from tests.evaluation.run_records import task


def episode(policy, task_id, name, success, turns=2, failure=FailureKind.WRONG, termination=Termination.DONE):
    return Episode(
        trajectory_id=f"{policy}-{task_id}",
        task_id=task_id,
        family=task(task_id, name).family,
        split="eval",
        success=success,
        failure=None if success else failure,
        termination=termination,
        turns=turns,
        response_tokens=10,
    )


RL = [
    *[
        episode("rl", f"{name}{i}", name, True, turns)
        for name, turns in zip("abcdef", range(7, 1, -1), strict=True)
        for i in (0, 1)
    ],
    episode("rl", "lost0", "a", False, 9),
    episode("rl", "lost1", "a", False, 8),
    episode("rl", "lost2", "b", False, 3, FailureKind.FORMAT),
    episode("rl", "down", "b", False, 12, FailureKind.PAGE_UNAVAILABLE, Termination.ENV_INIT_ERROR),
]
SFT = [episode("sft", e.task_id, e.family, e.task_id == "a0", e.turns) for e in RL]


def test_eight_trajectories_are_shown_and_none_twice():
    examples = choose_examples({"base": [], "sft": SFT, "rl": RL})
    assert len({p.trajectory_id for p in examples}) == 8


def test_the_first_two_are_one_task_before_and_after_rl():
    before, after = choose_examples({"base": [], "sft": SFT, "rl": RL})[:2]
    assert (before.trajectory_id, after.trajectory_id) == ("sft-a1", "rl-a1")


def test_shown_successes_are_the_longest_ones_of_different_families():
    assert [p.trajectory_id for p in choose_examples({"base": [], "sft": SFT, "rl": RL})[2:6]] == [
        "rl-a0",
        "rl-b0",
        "rl-c0",
        "rl-f0",
    ]


def test_failures_are_of_different_kinds_and_the_agents_own_first():
    assert [p.trajectory_id for p in choose_examples({"base": [], "sft": SFT, "rl": RL})[6:]] == [
        "rl-lost0",
        "rl-lost2",
    ]


def test_a_run_that_solved_nothing_still_shows_failures():
    lost = [episode("rl", f"t{i}", "a", False) for i in range(3)]
    assert [p.policy for p in choose_examples({"base": [], "sft": [], "rl": lost})] == ["rl", "rl"]


def test_failures_are_in_the_order_in_which_their_kinds_occur():
    """The kinds A, B, A, C in this order: the first A comes before B, and C third."""
    kinds = [FailureKind.WRONG, FailureKind.FORMAT, FailureKind.WRONG, FailureKind.LOOP]
    failed = [episode("rl", f"t{place}", "a", False, 9 - place, kind) for place, kind in enumerate(kinds)]
    chosen = choose_examples({"base": [], "sft": [], "rl": failed}, failures=3)
    assert [example.trajectory_id for example in chosen] == ["rl-t0", "rl-t1", "rl-t3"]
