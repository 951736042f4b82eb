"""Why the environment ended episodes, and when that stops a stage."""

from __future__ import annotations

import pytest

from components.records import Termination, Trajectory
from components.rollout import AllEndedByEnvironment, commonest_reason, require_agents_endings, termination_counts
from tests.samples import a_task, a_trajectory


def ended(number: int, termination: Termination, error: str | None = None) -> Trajectory:
    diagnostics = {} if error is None else {"error": error}
    return a_trajectory(a_task(number), termination=termination, answer=None, diagnostics=diagnostics)


REFUSED = [ended(i, Termination.ENV_INIT_ERROR, f"http://h{i}.org/: refused after {i} s\nlog") for i in range(3)]
OTHERS = [ended(3, Termination.ENV_ERROR, "the page did not answer"), ended(4, Termination.TASK_TIMEOUT)]


def test_reasons_that_differ_in_numbers_and_addresses_are_one():
    assert commonest_reason([*OTHERS, *REFUSED]) == 'env_init_error in 3 of 5: "http://h0.org/: refused after 0 s"'


def test_a_reason_without_a_message_is_its_termination():
    assert commonest_reason(OTHERS[1:]) == "task_timeout in 1 of 1"


def test_a_stage_that_the_environment_ended_fails_with_the_reason():
    with pytest.raises(AllEndedByEnvironment, match=r"all 5 episodes were ended .*refused after 0 s"):
        require_agents_endings([*OTHERS, *REFUSED])


def test_one_episode_that_the_agent_ended_is_enough():
    require_agents_endings([*REFUSED, ended(9, Termination.MAX_STEPS)])
    require_agents_endings([])


def test_terminations_are_counted_by_name():
    counts = termination_counts(trajectory.termination for trajectory in [*REFUSED, *OTHERS])
    assert counts == {"env_error": 1, "env_init_error": 3, "task_timeout": 1}
