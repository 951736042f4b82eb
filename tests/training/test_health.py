"""The judge that rewards is held against an auditor in each iteration."""

from __future__ import annotations

import pytest

from components.records import Outcome, Verdict
from components.training.health import audit_figures, health_line
from tests.samples import a_trajectory, a_verdict

S, F, U, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED, Outcome.ERROR


def verdicts(*outcomes: Outcome) -> list[Verdict]:
    return [a_verdict(a_trajectory(attempt=attempt), outcome) for attempt, outcome in enumerate(outcomes)]


def figures(said: list[Verdict], audited: list[Verdict]) -> dict[str, float]:
    return audit_figures({verdict.trajectory_id: verdict for verdict in said}, audited)


def test_agreement_and_precision_by_hand():
    found = figures(verdicts(S, S, S, F, F), verdicts(S, S, F, F, S))
    assert found == {"judge_audited": 5, "judge_agreement": 0.6, "judge_precision": pytest.approx(2 / 3)}


def test_what_either_could_not_judge_is_no_disagreement():
    assert figures(verdicts(S, U, E, F), verdicts(S, F, S, E)) == {
        "judge_audited": 1,
        "judge_agreement": 1.0,
        "judge_precision": 1.0,
    }


def test_a_sample_is_enough_and_nothing_gives_no_figure():
    assert figures(verdicts(S, F, S), verdicts(S, F, S)[1:2]) == {"judge_audited": 1, "judge_agreement": 1.0}
    assert figures(verdicts(S), []) == {}


def test_the_health_line_says_loudly_that_a_run_does_not_pack():
    names = (
        "iteration reward_mean pool_reward effective_groups sampled_groups ratio_mean clip_fraction logprob_gap_max "
        "entropy_estimate grad_norm turns_mean response_tokens_mean masked_share tokens_per_s rollout_s judge_s "
        "train_s waited_s packed packing_gap"
    )
    one = dict.fromkeys(names.split(), 0.0) | {"packing_gap": 0.0312}
    assert "  NOT PACKED (off 3.1e-02)  " in health_line(one)
    assert "  packed (off 3.1e-02)  " in health_line(one | {"packed": 1.0})


def test_the_health_line_tells_of_it_where_there_is_an_auditor():
    names = (
        "iteration reward_mean pool_reward effective_groups sampled_groups ratio_mean clip_fraction logprob_gap_max "
        "entropy_estimate grad_norm turns_mean response_tokens_mean masked_share tokens_per_s rollout_s judge_s "
        "train_s waited_s packed packing_gap"
    )
    one = dict.fromkeys(names.split(), 0.0)
    assert health_line(one | {"judge_agreement": 0.75, "judge_audited": 40.0}).endswith("judge agrees 0.75 of 40")
    assert "agrees" not in health_line(one)
