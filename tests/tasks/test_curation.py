from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.params import CurateParams
from components.records import Image, Observation, Outcome, Reward, Task, Termination, Trajectory, Turn, Verdict
from components.tasks import curate, curate_rft, mix

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


def test_the_seed_and_not_the_order_decides_which_tasks_pass_the_caps() -> None:
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
    with pytest.raises(ValueError, match="1 verdicts are duplicates"):
        curate(trajectories, label([*trajectories, trajectories[0]]), params, 0)


# ---- rejection fine-tuning ------------------------------------------------------------------------------------------


def reward(trajectory: Trajectory, value: float | None) -> Reward:
    """None is masked."""
    return Reward(
        trajectory_id=trajectory.trajectory_id, value=value or 0.0, masked=value is None, format_ok=value != -1.0
    )


def attempts(task_id: str, *outcomes: tuple[int, float | None], source: str = "nq") -> list[tuple[Trajectory, Reward]]:
    """One attempt per pair of turns and reward."""
    made = [episode(task_id, attempt, [1] * turns) for attempt, (turns, _) in enumerate(outcomes)]
    made = [one.model_copy(update={"task": one.task.model_copy(update={"source": source})}) for one in made]
    return [(one, reward(one, value)) for one, (_, value) in zip(made, outcomes, strict=True)]


def rft(*pairs: tuple[Trajectory, Reward], caps: dict[str, int] | None = None, seed: int = 0) -> list[str]:
    return [t.trajectory_id for t in curate_rft([t for t, _ in pairs], [r for _, r in pairs], caps, seed)[0]]


def test_rft_takes_the_right_attempt_with_most_turns_of_a_mixed_question() -> None:
    assert rft(*attempts("q", (2, 1), (4, 1), (9, 0), (3, 1))) == ["q#1"]


def test_rft_takes_the_first_of_equally_long_attempts_in_any_order() -> None:
    pairs = attempts("q", (1, 0), (4, 1), (4, 1), (2, 1))
    assert rft(*pairs) == rft(*pairs[::-1]) == ["q#1"]


def test_rft_leaves_out_questions_that_are_always_right_or_never() -> None:
    pairs = [*attempts("always", (1, 1), (2, 1)), *attempts("never", (1, 0), (2, -1)), *attempts("now", (1, 1), (1, 0))]
    assert rft(*pairs) == ["now#0"]


def test_a_masked_attempt_makes_no_question_mixed_and_is_never_chosen() -> None:
    assert rft(*attempts("q", (2, 1), (9, None))) == []
    assert rft(*attempts("q", (2, 1), (9, None), (1, 0))) == ["q#0"]


def test_a_malformed_answer_counts_as_wrong() -> None:
    assert rft(*attempts("q", (2, 1), (9, -1))) == ["q#0"]


def test_rft_caps_each_source_by_a_seeded_draw_that_ignores_the_order() -> None:
    pairs = [pair for i in range(20) for pair in attempts(f"n{i}", (1, 1), (1, 0))]
    pairs += [pair for i in range(5) for pair in attempts(f"h{i}", (1, 1), (1, 0), source="hotpotqa")]
    some = rft(*pairs, caps={"nq": 4}, seed=1)
    assert [name[0] for name in some] == ["n"] * 4 + ["h"] * 5, "a source without a cap stays whole"
    assert sorted(some) == sorted(rft(*pairs[::-1], caps={"nq": 4}, seed=1))
    assert some != rft(*pairs, caps={"nq": 4}, seed=2)


def test_the_rft_funnel_counts_what_each_step_dropped() -> None:
    pairs = [
        *attempts("mixed", (2, 1), (4, 1), (9, 0), (1, None)),
        *attempts("other", (1, 1), (1, 0), source="hotpotqa"),
        *attempts("always", (1, 1), (2, 1)),
        *attempts("never", (1, 0), (2, 0), (2, 0)),
    ]
    _, funnel = curate_rft([t for t, _ in pairs], [r for _, r in pairs], {"hotpotqa": 0})
    assert [(row["step"], row["dropped"], row["left"]) for row in funnel.rows()] == [
        ("all", 0, 11),
        ("masked", 1, 10),
        ("question never right", 3, 7),
        ("question never wrong", 2, 5),
        ("wrong", 2, 3),
        ("not the question's longest", 1, 2),
        ("source cap", 1, 1),
    ]
    assert funnel.steps[4].examples == ["mixed (attempt 0)"]


OUTCOMES = st.lists(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from([1.0, 0.0, -1.0, None])), max_size=4), max_size=6
)


@given(OUTCOMES)
def test_rft_keeps_only_the_longest_success_of_each_mixed_question(questions: list) -> None:
    pairs = [pair for i, outcomes in enumerate(questions) for pair in attempts(f"q{i}", *outcomes)]
    chosen, funnel = curate_rft([t for t, _ in pairs], [r for _, r in pairs])
    expected = []
    for i, outcomes in enumerate(questions):
        scored = [(turns, value) for turns, value in outcomes if value is not None]
        right = [turns for turns, value in scored if value > 0]
        if right and len(right) < len(scored):
            expected.append((f"q{i}", max(right)))
    assert [(t.task_id, len(t.turns)) for t in chosen] == expected
    assert funnel.left == len(chosen)


def test_missing_and_double_rewards_are_refused() -> None:
    (one, right), (other, _) = attempts("q", (1, 1), (1, 0))
    with pytest.raises(ValueError, match="1 trajectories have no reward"):
        curate_rft([one, other], [right])
    with pytest.raises(ValueError, match="1 rewards are duplicates"):
        curate_rft([one], [right, right])


@given(st.integers(0, 30), st.floats(0, 1), st.integers(0, 3))
def test_a_share_of_the_demonstrations_is_mixed_in_behind_the_chosen(number: int, share: float, seed: int) -> None:
    new, old = episode("new", 0, [1]), [episode(f"old{i}", 0, [1]) for i in range(number)]
    both, funnel = mix([new], old, share, seed)
    assert both[0] is new
    assert len(both) == 1 + round(share * number) == 1 + funnel.left
    assert [t for t in old if t in both] == both[1:], "in their order, none twice"
    assert both == mix([new], old, share, seed)[0]
