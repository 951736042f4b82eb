from __future__ import annotations

from collections.abc import Callable

import pytest

from components.judge import needs_judge, reward
from components.records import Outcome, Termination, Trajectory, Verdict

Episode = Callable[..., Trajectory]
SAID: tuple[Outcome | None, ...] = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED, Outcome.ERROR)

# termination -> (value, masked) per verdict: success, failure, unparsed, error (OpenWebRL, appendix A.4)
ZERO, MASKED, MINUS = (0.0, False), (0.0, True), (-1.0, False)
TABLE = {
    Termination.DONE: [(1.0, False), ZERO, MASKED, MASKED],
    Termination.MAX_STEPS: [ZERO] * 4,
    Termination.RESPONSE_LENGTH: [ZERO] * 4,
    Termination.CONTEXT_LENGTH: [ZERO] * 4,
    Termination.FORMAT_ERROR: [MINUS] * 4,
    Termination.ENV_ERROR: [MASKED] * 4,
    Termination.ENV_INIT_ERROR: [MASKED] * 4,
    Termination.BLOCKED: [MASKED] * 4,
    Termination.SANDBOX_ERROR: [MASKED] * 4,
    Termination.HARNESS_ERROR: [MASKED] * 4,
    Termination.TASK_TIMEOUT: [MASKED] * 4,
    Termination.INFERENCE_TIMEOUT: [MASKED] * 4,
    Termination.REQUEST_REFUSED: [MASKED] * 4,
    Termination.ABORTED: [MASKED] * 4,
}
CASES = [
    (termination, outcome, *expected)
    for termination, row in TABLE.items()
    for outcome, expected in zip(SAID, row, strict=True)
]


def test_after_an_action_on_an_ended_page_no_judge_is_asked(episode: Episode) -> None:
    trajectory = episode(["done"]).model_copy(update={"late_actions": 1})
    assert not needs_judge(trajectory)
    for verdict in (None, says(Outcome.SUCCESS)):
        scored = reward(trajectory, verdict)
        assert (scored.value, scored.masked) == (0.0, False)


@pytest.mark.parametrize("clicks, value", [(1, 0.9), (4, 0.6), (9, 0.1), (50, 0.1)])
def test_a_success_costs_its_actions_and_a_failure_nothing(episode: Episode, clicks: int, value: float) -> None:
    trajectory = episode(["clicked"] * clicks)
    scored = [reward(trajectory, says(outcome), -1.0, 0.1).value for outcome in (Outcome.SUCCESS, Outcome.FAILURE)]
    assert scored == [pytest.approx(value), 0.0]


def says(outcome: Outcome | None, trajectory_id: str = "t") -> Verdict | None:
    if outcome is None:
        return None
    return Verdict(trajectory_id=trajectory_id, outcome=outcome, rationale="", judge="test", judge_version="1")


def test_the_table_has_every_termination() -> None:
    assert set(TABLE) == set(Termination)


@pytest.mark.parametrize("termination, outcome, value, masked", CASES)
def test_the_reward_of_each_ending_and_verdict(
    episode: Episode, termination: Termination, outcome: Outcome, value: float, masked: bool
) -> None:
    answer = "done" if termination is Termination.DONE else None
    result = reward(episode(["x"], termination=termination, answer=answer), says(outcome))
    assert (result.value, result.masked, result.outcome) == (value, masked, outcome)


def test_a_recipe_says_what_format_errors_are_worth(episode: Episode) -> None:
    wrong = episode(["x"], termination=Termination.FORMAT_ERROR, answer=None)
    assert (reward(wrong, None).value, reward(wrong, None, 0.0).value) == (-1.0, 0.0)
    assert reward(episode(["x"], termination=Termination.MAX_STEPS, answer=None), None, -0.5).value == 0.0


@pytest.mark.parametrize("termination", [t for t in Termination if t is not Termination.DONE])
def test_only_done_needs_a_judge(episode: Episode, termination: Termination) -> None:
    trajectory = episode(["x"], termination=termination, answer=None)
    assert not needs_judge(trajectory)
    expected = TABLE[termination][0]
    result = reward(trajectory, None)
    assert (result.value, result.masked, result.outcome) == (*expected, None)


def test_done_without_an_answer_is_zero_without_asking_a_judge(episode: Episode) -> None:
    trajectory = episode(["x"], answer=None)
    assert not needs_judge(trajectory)
    assert (reward(trajectory, None).value, reward(trajectory, None).masked) == (0.0, False)


def test_a_success_in_an_invalid_format_is_zero(episode: Episode) -> None:
    result = reward(episode(["x"], parse_error="no closing </think> tag"), says(Outcome.SUCCESS))
    assert (result.value, result.masked, result.format_ok) == (0.0, False, False)


def test_a_finished_trajectory_without_a_verdict_is_refused(episode: Episode) -> None:
    assert needs_judge(episode(["x"]))
    with pytest.raises(ValueError, match="ask a judge"):
        reward(episode(["x"]), None)


def test_a_verdict_on_another_trajectory_is_refused(episode: Episode) -> None:
    with pytest.raises(ValueError, match="join them by id"):
        reward(episode(["x"]), says(Outcome.SUCCESS, trajectory_id="other"))
