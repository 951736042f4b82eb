"""Verdicts that vote: one verdict with the cost of all."""

import pytest

from components.judge.protocols import voted
from components.records import ErrorCause, Outcome
from tests.samples import a_task, a_trajectory, a_verdict


def test_a_vote_costs_what_all_cost_and_takes_as_long_as_the_slowest():
    one = a_trajectory()
    verdicts = [
        a_verdict(one, outcome, tokens=10, cost_usd=0.5, latency_s=float(number), judge_version=str(number))
        for number, outcome in enumerate([Outcome.SUCCESS, Outcome.FAILURE, Outcome.SUCCESS])
    ]
    found = voted(verdicts)
    assert (found.outcome, found.trajectory_id) == (Outcome.SUCCESS, one.trajectory_id)
    assert (found.tokens, found.cost_usd, found.latency_s, found.judge_version) == (30, 1.5, 2.0, "0+1+2")


def test_verdicts_on_different_trajectories_do_not_vote_together():
    with pytest.raises(ValueError, match="join them by id"):
        voted([a_verdict(a_trajectory(a_task(number))) for number in range(2)])


def test_a_vote_without_a_majority_says_why_its_judges_gave_no_verdict():
    one = a_trajectory()
    down = [a_verdict(one, Outcome.ERROR, error_cause=cause) for cause in ("endpoint", "endpoint", "environment")]
    assert voted(down).error_cause is ErrorCause.ENDPOINT
    assert voted([*down[:1], *[a_verdict(one)] * 2]).error_cause is None
