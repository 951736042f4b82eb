"""The judge that rewards, compared with an auditor: the figures by hand, and the phases that they end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from components.records import Outcome, Termination, Trajectory, Verdict
from components.training.audit import audit_figures, ended_by_imprecision
from components.training.rl import TrainedPhase
from tests.samples import a_trajectory, a_verdict
from tests.training import rl_without_pages

S, F, U, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED, Outcome.ERROR


def verdicts(*outcomes: Outcome) -> list[Verdict]:
    return [a_verdict(a_trajectory(attempt=attempt), outcome) for attempt, outcome in enumerate(outcomes)]


def figures(said: list[Verdict], audited: list[Verdict]) -> dict[str, float]:
    return audit_figures({verdict.trajectory_id: verdict for verdict in said}, audited)


def test_agreement_and_precision_are_those_worked_out_by_hand():
    found = figures(verdicts(S, S, S, F, F), verdicts(S, S, F, F, S))
    assert found == {
        "judge_audited": 5,
        "judge_agreement": 0.6,
        "judge_precision": pytest.approx(2 / 3),
        "judge_success": 0.6,
        "audited_success": 0.6,
    }


def test_reward_and_true_success_are_shares_of_the_same_attempts():
    """The unreadable verdict on an audited success, and the attempt without an audit are in neither share."""
    found = figures(verdicts(S, S, S, F, U), [*verdicts(S, F, F), *verdicts(F, F, F, F, S)[4:]])
    assert (found["judge_success"], found["audited_success"]) == (1.0, pytest.approx(1 / 3))


def test_trajectories_without_both_verdicts_do_not_count():
    assert figures(verdicts(S, U, E, F), verdicts(S, F, S, E)) == {
        "judge_audited": 1,
        "judge_agreement": 1.0,
        "judge_precision": 1.0,
        "judge_success": 1.0,
        "audited_success": 1.0,
    }


def test_a_sample_gives_the_figures_and_no_verdicts_give_none():
    assert figures(verdicts(S, F, S), verdicts(S, F, S)[1:2]) == {
        "judge_audited": 1,
        "judge_agreement": 1.0,
        "judge_success": 0.0,
        "audited_success": 0.0,
    }
    assert figures(verdicts(S), []) == {}


def history(*precisions: float | None) -> list[dict[str, float]]:
    return [{} if precision is None else {"judge_precision": precision} for precision in precisions]


@pytest.mark.parametrize(
    ("precisions", "ends"),
    [
        ((), False),
        ((0.5, 0.5), False),
        ((0.5, 0.5, 0.5), True),
        ((1.0, 0.75, 0.5), False),
        ((1.0, 0.75, 0.25), True),
        ((0.1, 0.1, 0.9, 0.9, 0.9), False),
        ((0.9, 0.5, None, None, 0.5), True),
    ],
)
def test_a_phase_ends_when_the_mean_of_three_precisions_is_too_low(precisions, ends):
    assert (ended_by_imprecision(history(*precisions), 0.75) is not None) is ends
    assert ended_by_imprecision(history(*precisions), 0.0) is None, "0 never ends a phase"


def test_precision_before_a_rollback_does_not_count():
    back = history(0.9, 0.1, 0.1)
    back[-1]["rolled_back_to"] = 1.0
    assert ended_by_imprecision(back, 0.75) is None
    assert ended_by_imprecision([*back, *history(0.1, 0.1)], 0.75) is None
    assert ended_by_imprecision([*back, *history(0.1, 0.1, 0.1)], 0.75) is not None


def test_the_reason_names_the_measured_precision_and_the_limit():
    reason = ended_by_imprecision(history(0.7, 0.8, 0.9), 0.85)
    assert reason is not None
    assert "the auditor calls 80.0% successes, less than judge.trust.min_precision = 85.0%" in reason


@pytest.fixture
def pleased(tmp_path, monkeypatch) -> Callable[..., TrainedPhase]:
    """Runs a phase of 6 iterations with a judge that calls every other attempt a success, and an auditor who agrees
    until the policy had two updates, and then never, neither on training nor on validation tasks."""

    def agrees(trajectory: Trajectory) -> bool:
        return trajectory.policy.startswith(("test@0", "test@1")) and rl_without_pages.even_attempts(trajectory)

    def run(
        least: float = 0.5, ends: Callable[..., Termination] = rl_without_pages.done, every: int = 2
    ) -> TrainedPhase:
        options = {"ends": ends, "validate": every, "audited": agrees, "min_precision": least}
        return rl_without_pages.train(monkeypatch, tmp_path, 6, **options)[0]

    return run


def test_a_policy_that_pleases_its_judge_ends_the_phase(pleased):
    trained = pleased()
    assert [figures["judge_precision"] for figures in trained.figures] == [1, 1, 0, 0]
    assert trained.ended is not None
    assert "less than judge.trust.min_precision = 50.0%" in trained.ended
    assert [validation.iteration for validation in trained.validations] == [0, 2, 4]
    assert [validation.success.rate for validation in trained.validations] == [1, 0, 0]
    assert trained.published.iteration == 0


def test_the_kl_to_sft_is_measured_in_the_iteration_that_ends_the_phase(pleased):
    """No validation was planned after iteration 4."""
    (_, last, of_end) = pleased(every=3).validations
    assert (last.iteration, of_end.iteration) == (3, 4)
    assert last.kl_sft is not None
    assert of_end.kl_sft is not None


def test_without_a_limit_the_phase_goes_on_with_a_judge_that_errs(pleased):
    trained = pleased(least=0.0)
    assert trained.ended is None
    assert len(trained.figures) == 6


def test_a_phase_that_is_killed_after_it_ended_stays_ended(pleased):
    with pytest.raises(rl_without_pages.Killed):
        pleased(ends=rl_without_pages.killed_in_validation(4))
    first, again = pleased(), pleased()
    assert (first.published.iteration, len(first.figures)) == (0, 4)
    assert again == first, "a run after the end changes nothing"
