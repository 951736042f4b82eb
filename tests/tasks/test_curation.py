from __future__ import annotations

import pytest

from components.params import CurateParams
from components.records import Image, Observation, Outcome, Task, Termination, Trajectory, Turn, Verdict
from components.tasks import curate

PAGE = Observation(url="https://a.example/", tabs=[], viewport=(160, 210), screenshot=Image.of(b"page"))


def episode(
    task_id: str, attempt: int, turn_tokens: list[int], website: str = "a.example", parse_error: str | None = None
) -> Trajectory:
    """One turn per entry of `turn_tokens`, with that many response tokens."""
    task = Task(task_id=task_id, intent="Do it.", start_url="https://a.example/", website=website, source="test")
    turns = [
        Turn(
            index=index,
            observation=PAGE,
            prompt_sha256="",
            prompt_tokens=1,
            response="x",
            token_ids=[0] * tokens,
            logprobs=[0.0] * tokens,
            finish_reason="stop",
            tool_calls=[],
            feedback=[],
            parse_error=parse_error,
        )
        for index, tokens in enumerate(turn_tokens)
    ]
    return Trajectory(
        trajectory_id=f"{task_id}#{attempt}",
        task=task,
        attempt=attempt,
        policy="teacher",
        protocol="openwebrl",
        seed=0,
        turns=turns,
        termination=Termination.DONE,
        answer="done",
    )


def label(trajectories: list[Trajectory], failed: tuple[str, ...] = ()) -> list[Verdict]:
    return [
        Verdict(
            trajectory_id=t.trajectory_id,
            outcome=Outcome.FAILURE if t.trajectory_id in failed else Outcome.SUCCESS,
            rationale="",
            judge="test",
            judge_version="1",
        )
        for t in trajectories
    ]


def chosen(
    trajectories: list[Trajectory], failed: tuple[str, ...] = (), caps: tuple[int, int] = (100, 100), seed: int = 0
) -> list[str]:
    params = CurateParams(max_trajectories=caps[0], max_per_website=caps[1])
    return [t.trajectory_id for t in curate(trajectories, label(trajectories, failed), params, seed)[0]]


def test_fewest_turns_wins_even_with_more_tokens() -> None:
    assert chosen([episode("t", 0, [5, 5]), episode("t", 1, [90])]) == ["t#1"]


def test_equal_turns_are_decided_by_response_tokens_then_by_attempt() -> None:
    attempts = [episode("t", 0, [9, 9]), episode("t", 1, [3, 14]), episode("t", 2, [14, 3])]
    assert chosen(attempts) == ["t#1"]


def test_a_shorter_failure_is_not_chosen() -> None:
    assert chosen([episode("t", 0, [1]), episode("t", 1, [1, 1])], failed=("t#0",)) == ["t#1"]


def test_a_success_whose_last_response_did_not_parse_is_not_chosen() -> None:
    assert chosen([episode("t", 0, [1], parse_error="no closing </think> tag")]) == []


def test_caps_hold_per_website_and_in_all() -> None:
    trajectories = [episode(f"{site}{i}", 0, [1], website=site) for site in ("a", "b", "c") for i in range(5)]
    per_website = chosen(trajectories, caps=(100, 2))
    assert sorted(name[0] for name in per_website) == ["a", "a", "b", "b", "c", "c"]
    assert chosen(trajectories, caps=(4, 2)) == per_website[:4]


def test_the_seed_decides_which_tasks_pass_the_caps_and_the_input_order_does_not() -> None:
    trajectories = [episode(f"t{i}", 0, [1]) for i in range(30)]
    assert chosen(trajectories, caps=(5, 30), seed=1) == chosen(trajectories[::-1], caps=(5, 30), seed=1)
    assert chosen(trajectories, caps=(5, 30), seed=1) != chosen(trajectories, caps=(5, 30), seed=2)


def test_the_funnel_counts_trajectories_at_each_step() -> None:
    trajectories = [episode(f"t{i}", attempt, [1]) for i in range(4) for attempt in range(2)]
    verdicts = label(trajectories, failed=("t0#0", "t0#1"))
    _, funnel = curate(trajectories, verdicts, CurateParams(max_trajectories=1, max_per_website=2), seed=0)
    assert [(row["step"], row["dropped"], row["left"]) for row in funnel.rows()] == [
        ("all", 0, 8),
        ("not a success", 2, 6),
        ("not the task's shortest", 3, 3),
        ("website cap", 1, 2),
        ("total cap", 1, 1),
    ]


def test_missing_and_double_verdicts_are_refused() -> None:
    trajectories = [episode("t", 0, [1]), episode("t", 1, [1])]
    params = CurateParams(max_trajectories=1, max_per_website=1)
    with pytest.raises(ValueError, match="1 trajectories have no verdict"):
        curate(trajectories, label(trajectories[:1]), params, 0)
    with pytest.raises(ValueError, match="1 verdicts are double"):
        curate(trajectories, label([*trajectories, trajectories[0]]), params, 0)
