"""Clean success: done, and nothing else done; and how many actions a success took, beside the teacher's."""

from __future__ import annotations

import pytest

from components.evaluation import FailureKind, join_verdicts, success, summarise_actions
from components.judge import rules_verdict
from components.records import StateCheck, Termination, ToolCall, Trajectory
from tests.evaluation.run_records import DONE, task, trajectory, turn

CLICK, SCROLL = ToolCall(name="click", arguments={"x": 250, "y": 500}), ToolCall(name="scroll", arguments={})
UNREADABLE = ToolCall(name="click", error="x is missing")


def episode(
    name: str, calls: list[ToolCall], family: str = "click-test", late: int | None = 0, **changes
) -> Trajectory:
    of = task(name, family, evaluator={"type": "site_reward"})
    return trajectory(of, [turn(0, *calls, DONE)], late_actions=late, **changes)


def summarise(*episodes: Trajectory):
    return success(episodes, [rules_verdict(episode) for episode in episodes])


def test_a_task_done_with_a_late_action_is_completed_and_no_success():
    summary = summarise(
        episode("a", [CLICK]),
        episode("b", [CLICK, CLICK], late=1),
        episode("c", [CLICK, CLICK], late=1, site_reward=-1.0),
        episode("d", [CLICK], site_reward=0.0),
    )
    assert (summary.rate, summary.completed) == (0.25, 0.5)
    assert summary.failures == {"overdone": 1, "wrong": 2}


@pytest.mark.parametrize(
    ("ending", "completed"),
    [
        (Termination.MAX_STEPS, 1.0),
        (Termination.FORMAT_ERROR, 1.0),
        (Termination.SANDBOX_ERROR, 0.0),
    ],
)
def test_a_task_that_its_page_ended_is_completed_however_the_agent_ends(ending, completed):
    late = trajectory(task("a"), [turn(0, CLICK)], late_actions=2, site_reward=1.0, termination=ending)
    undone = trajectory(task("b"), [turn(0, CLICK)], late_actions=0, site_reward=0.0, termination=ending)
    judged = join_verdicts([late, undone], [])
    assert [episode.success for episode in judged] == [False, False]
    assert [float(episode.completed) for episode in judged] == [completed, 0.0]


def test_a_side_effect_beside_a_finished_task_is_overdone():
    check = StateCheck(reward=0.0, credit=1.0, side_effects=["also added 1 row"])
    half = check.model_copy(update={"credit": 0.5})
    episodes = [
        episode(name, [CLICK], late=None, site_reward=0.0, state_check=state)
        for name, state in (("a", check), ("b", half))
    ]
    judged = join_verdicts(episodes, [rules_verdict(part) for part in episodes])
    assert [part.failure for part in judged] == [FailureKind.OVERDONE, FailureKind.WRONG]
    assert [(part.success, part.completed) for part in judged] == [(False, True), (False, False)]


def test_episodes_of_an_earlier_version_count_by_the_first_ending():
    assert summarise(episode("a", [CLICK, CLICK], late=None)).rate == 1.0


def test_actions_are_counted_over_successes_by_call_and_not_by_turn():
    summary = summarise(
        episode("a", [CLICK, SCROLL, CLICK]),
        episode("b", [CLICK, UNREADABLE], family="click-tab"),
        episode("c", [CLICK] * 9, site_reward=0.0),
        trajectory(task("d"), [turn(0, CLICK)], termination=Termination.MAX_STEPS),
    )
    assert summary.actions is not None
    assert (summary.actions.mean, summary.actions.n) == (1.5, 2)
    assert {name: part.mean for name, part in summary.actions.families.items()} == {"click-tab": 1.0, "click-test": 2.0}


def test_the_ratio_compares_families_that_both_solve():
    def actions(*counts: tuple[str, int]):
        episodes = [episode(f"{index}", [CLICK] * count, family) for index, (family, count) in enumerate(counts)]
        made = summarise_actions(join_verdicts(episodes, [rules_verdict(part) for part in episodes]))
        assert made is not None
        return made

    own = actions(("easy", 2), ("easy", 2), ("long", 6), ("alone", 50))
    teacher = actions(("easy", 1), ("long", 4), ("long", 6), ("unsolved", 9))
    # (2 + 2 + 6) actions; the teacher takes 1 + 1 + 5 for the same
    assert own.ratio(teacher) == pytest.approx(10 / 7)
    assert actions(("alone", 1)).ratio(teacher) is None
