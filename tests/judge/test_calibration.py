"""Agreement with intervals, by hand and by sense."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.judge import agreement
from components.judge.calibration import METRICS, Calibration, NothingToCompare, calibrate
from components.judge.calibration_table import as_text
from components.records import Outcome, Verdict
from components.statistics import wilson

S, F, U, E = Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNPARSED, Outcome.ERROR


def verdict(outcome: Outcome, **changes: object) -> Verdict:
    fields = {"trajectory_id": "t", "outcome": outcome, "rationale": "down", "judge": "j", "judge_version": "1"}
    return Verdict.model_validate(fields | changes)


def of(labels: list[Outcome], said: list[Outcome], tasks: list[str] | None = None) -> Calibration:
    names = tasks or [f"task{number}" for number in range(len(labels))]
    return calibrate("j", names, labels, [verdict(outcome) for outcome in said], 500, 0)


def test_all_figures_are_those_worked_out_by_hand():
    found = of([S, S, S, F, F, F, F, F], [S, S, F, S, F, F, F, F])
    values = {name: estimate.value for name, estimate in found.estimates.items()}
    assert values == pytest.approx(
        {
            "accuracy": 6 / 8,
            "precision": 2 / 3,
            "recall": 2 / 3,
            "f1": 2 / 3,
            "kappa": (48 / 64 - 34 / 64) / (1 - 34 / 64),
        }
    )
    assert found.said_by_label == {
        "success": {"success": 2, "failure": 1, "unparsed": 0},
        "failure": {"success": 1, "failure": 4, "unparsed": 0},
    }
    assert (found.n, found.tasks, found.majority_accuracy) == (8, 8, 5 / 8)


def test_an_unreadable_verdict_is_wrong_and_a_missing_one_is_left_out():
    found = of([S, F, S, F], [U, U, S, E])
    assert (found.n, found.unparsed, found.outages, found.accuracy.value) == (3, 2, 1, 1 / 3)
    assert found.said_by_label["failure"] == {"success": 0, "failure": 0, "unparsed": 1}


def test_an_unreachable_judge_has_no_figures():
    with pytest.raises(NothingToCompare, match="on any of 2 labelled trajectories: down"):
        of([S, F], [E, E])


def test_kappa_is_1_if_perfect_0_if_constant_and_negative_if_contrary():
    labels = [S, F] * 10
    assert of(labels, labels).kappa.value == 1
    assert of(labels, [F] * 20).kappa.value == 0
    assert of(labels, [F, S] * 10).kappa.value == -1


def test_intervals_hold_the_figure_and_shrink_with_more_tasks():
    few, many = (of([S, F, S, F] * n, [S, F, S, S] * n) for n in (5, 100))
    for name in METRICS:
        low, high = few.estimates[name].ci95
        assert low <= few.estimates[name].value <= high
        assert many.estimates[name].ci95[1] - many.estimates[name].ci95[0] <= high - low


def test_attempts_at_one_task_are_resampled_together():
    labels, said = [S, F] * 20, [S, S] * 20
    apart = of(labels, said).recall, of(labels, said).accuracy
    together = of(labels, said, [f"task{number // 20}" for number in range(40)]).accuracy
    assert together.ci95 == wilson(0.5, 2), "each task has the same share"
    assert together.ci95[0] < apart[1].ci95[0] < 0.5 < apart[1].ci95[1] < together.ci95[1]


def test_a_judge_without_a_mistake_is_not_certain():
    found = of([S, F] * 5, [S, F] * 5)
    assert found.accuracy.ci95 == wilson(1, 10)
    assert found.precision.ci95 == found.recall.ci95 == found.f1.ci95 == wilson(1, 5)
    assert found.kappa.ci95 == pytest.approx((2 * wilson(1, 10).low - 1, 1))


def test_the_same_seed_gives_the_same_intervals():
    assert of([S, F, F], [S, S, F]) == of([S, F, F], [S, S, F])


@given(st.lists(st.tuples(st.sampled_from([S, F]), st.sampled_from([S, F, U])), min_size=1, max_size=30))
@settings(max_examples=60)
def test_calibration_and_agreement_give_the_same_figures(pairs: list[tuple[Outcome, Outcome]]):
    labels, said = [list(side) for side in zip(*pairs, strict=True)]
    found, known = of(labels, said), agreement(labels, said)
    for name in ("accuracy", "precision", "recall", "f1"):
        estimate = found.estimates[name]
        assert (0.0 if estimate is None else estimate.value) == pytest.approx(getattr(known, name))
    assert found.kappa is None or -1 <= found.kappa.value <= 1


def test_cost_and_time_are_those_of_the_verdicts():
    said = [verdict(S, cost_usd=0.5, latency_s=2.0), verdict(F, cost_usd=0.25, latency_s=4.0)]
    found = calibrate("j", ["a", "b"], [S, F], said, 10, 0)
    assert (found.cost_usd, found.latency_s) == (0.75, 3.0)


def test_the_table_has_figures_intervals_confusion_and_what_was_published():
    table = {"Judge-8B": {"accuracy": 89.8, "precision": 89.5, "recall": 94.8, "f1": 92.1}}
    partly = {"Judge-8B": {"precision": 72.8, "recall": 72.5, "f1": 72.7, "precision WA": 73.5}}
    text = as_text([of([S, S, F, F], [S, U, F, S])], {"one, table 3": table, "one, table 9": partly})
    assert "50.0 [15.0, 85.0]" in text
    assert "said unparsed" in text
    assert "one, table 3\n" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("Judge-8B")]
    assert rows == [["Judge-8B", "89.8", "89.5", "94.8", "92.1"], ["Judge-8B", "–", "72.8", "72.5", "72.7"]]


def test_the_false_positive_rate_comes_first_with_its_name():
    """One of two failures is called a success; the unreadable verdict on a success is no matter of it."""
    head, row, empty, accuracy, *_ = as_text([of([S, S, F, F], [S, U, F, S])], {}).splitlines()
    assert head.split() == ["judge", "false-positive", "rate", "failures", "tasks"]
    assert row.split()[1:] == ["50.0", "[9.5,", "90.5]", "2", "2"]
    assert (empty, "accuracy" in accuracy) == ("", True)


def test_a_judge_without_a_verdict_on_a_failure_has_no_rate():
    _, row, *_ = as_text([of([S, S], [S, F])], {}).splitlines()
    assert row.split()[1:] == ["–", "0", "0"]


def test_recall_is_as_uncertain_as_the_successes_are_few():
    found = of([S, S, *[F] * 18], [S, S, *[F] * 18])
    assert found.recall.ci95 == found.precision.ci95 == found.f1.ci95 == wilson(1, 2)
    assert found.accuracy.ci95 == wilson(1, 20)


def test_a_figure_of_no_trajectories_is_not_known():
    found = of([F, F, F], [F, F, F])
    assert found.precision is found.recall is found.f1 is found.kappa is None
    assert found.accuracy.value == 1.0
    assert as_text([found], {}).splitlines()[4].split().count("–") == 4
