"""What a validation says of a policy, by hand, and which families give no gradient."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.records import Outcome, Reward, Task, Termination, Trajectory
from components.reports.rl_validation import WatchedPhase
from components.rollout import Group, SampledGroups
from components.statistics import Rate, newcombe, wilson
from components.training.stalls import stalls
from components.training.validation import (
    FamilyTally,
    NothingValidated,
    ValidationWarning,
    tallied,
    validation,
    validation_line,
    validation_metrics,
    validation_tables,
)
from tests.samples import a_task, a_trajectory, a_verdict
from tests.training import rl_without_pages
from tests.training.validations import figures, watched


def episode(number: int, family: str, split: str = "validation", **changes: object) -> Trajectory:
    task = a_task(number, task_id=f"miniwob/{family}/{number}", website=f"miniwob/{family}", split=split)
    return a_trajectory(task, **changes)


def group(task: Task, *values: float) -> Group:
    trajectories = [a_trajectory(task, turns=1, attempt=attempt) for attempt in range(len(values))]
    rewards = [
        Reward(trajectory_id=trajectory.trajectory_id, value=value, masked=False, format_ok=True)
        for trajectory, value in zip(trajectories, values, strict=True)
    ]
    return Group(task, trajectories, rewards)


def test_figures_of_a_validation_are_those_worked_out_by_hand():
    """Two of three judged tasks of one family, none of one of another; a held-out one; one that the browser ended."""
    won = [episode(1, "tab"), episode(2, "tab"), episode(5, "option", "heldout_validation")]
    lost = [episode(3, "tab"), episode(4, "link", termination=Termination.MAX_STEPS, answer=None)]
    died = episode(6, "link", termination=Termination.SANDBOX_ERROR, answer=None)
    verdicts = [a_verdict(one) for one in won] + [a_verdict(lost[0], Outcome.FAILURE)]
    tallies = tallied(
        {},
        SampledGroups(
            [
                group(a_task(7, website="miniwob/tab"), 1.0, 0.0),
                group(a_task(8, website="miniwob/tab"), 1.0, 1.0),
                group(a_task(9, website="miniwob/link"), 0.0, 0.0),
            ]
        ),
        {"tab": (0.5, 10)},
    )
    record = validation(4, [*won, *lost, died], verdicts, tallies, seconds=2.0)
    assert (record.success.rate, record.success.n) == (0.5, 4)
    assert record.heldout is not None
    assert (record.heldout.rate, record.heldout.n) == (1.0, 1)
    assert record.unjudged == 1
    assert record.training_success == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert record.effective_share == pytest.approx(1 / 3)
    assert record.kl_sft == 0.05
    assert record.entropy == pytest.approx(0.25), "each turn's three tokens have 0.5, 0.25 and 0 nats"
    by_name = {figures.family: figures for figures in record.families}
    tab, link = by_name["tab"], by_name["link"]
    assert (tab.n, tab.groups, tab.effective_groups, tab.training_success) == (3, 2, 1, 0.75)
    assert tab.rate == pytest.approx(2 / 3)
    assert tab.wilson95 == wilson(2 / 3, 3)
    assert (link.n, link.rate, link.groups, link.kl_sft) == (1, 0.0, 1, None)
    assert by_name["option"].heldout
    assert sorted(record.scores) == ["miniwob/link/4", "miniwob/tab/1", "miniwob/tab/2", "miniwob/tab/3"]
    assert "50.0% of 4" in validation_line(record)
    logged = validation_metrics(record)["families"]["tab"]
    assert (logged["effective_share"], logged["groups"], logged["scored_groups"]) == (0.5, 2, 2)
    assert (logged["rate_low"], logged["rate_high"], logged["n"]) == (*wilson(2 / 3, 3), 3)
    tables = validation_tables([record])
    (row,) = tables["validation"]
    assert (row["success"]["rate"], row["success"]["n"], row["heldout"]["n"]) == (0.5, 4, by_name["option"].n)
    assert WatchedPhase.model_validate(tables).validation[0].success == record.success
    assert [row["family"] for row in tables["families"]] == ["link", "tab", "option"]


def test_warnings_are_rows_of_the_stages_result_and_a_number_in_mlflow():
    fall = ValidationWarning(name="tab", text="tab falls: 94% of 15 training groups at iteration 7, now 17% of 15")
    quiet = watched(7, [figures("tab", 1.0, 3, 0.94, 15)])
    fallen = watched(14, [figures("tab", 0.0, 3, 0.17, 15)]).model_copy(update={"warnings": [fall]})
    tables = validation_tables([quiet, fallen])
    assert tables["warnings"] == [{"iteration": 14, "name": "tab", "warning": fall.text}]
    assert [row.warning for row in WatchedPhase.model_validate(tables).warnings or []] == [fall.text]
    assert [validation_metrics(record)["warnings"] for record in (quiet, fallen)] == [0, 1]


def test_a_validation_without_a_judged_episode_is_refused():
    died = episode(1, "tab", termination=Termination.SANDBOX_ERROR, answer=None)
    with pytest.raises(NothingValidated, match="none of the 1 validation episodes after iteration 3"):
        validation(3, [died], [], {}, 1.0)


def test_tallies_of_two_iterations_add_up_and_the_earlier_ones_stay():
    sampled = SampledGroups([group(a_task(website="miniwob/tab"), 1.0, 0.0)])
    first = tallied({}, sampled, {})
    second = tallied(first, sampled, {})
    assert (first["tab"].groups, second["tab"].groups) == (1, 2)
    sums = {"groups": 2, "effective": 2, "scored": 2, "success": 1.0, "tokens": 12, "surprise": pytest.approx(3.0)}
    assert second["tab"] == FamilyTally(**sums)


def test_a_familys_training_success_is_that_of_the_first_members():
    task, tally = a_task(website="miniwob/tab"), FamilyTally()
    tally.add(group(task, 0.0, 0.0).joined(group(task, 1.0, 0.0)))
    tally.add(group(task, 1.0, 0.0))
    assert (tally.groups, tally.effective, tally.scored, tally.success) == (2, 2, 2, 0.5)
    assert tally.tokens == 6 * 3, "the entropy is over all members"


def test_an_auditor_decides_on_the_success_of_groups_that_it_saw():
    """The judge that rewards is pleased by both finished attempts. The third one was not finished, so no judge was
    asked. The fourth is a further attempt."""
    task = a_task(website="miniwob/tab")
    first = group(task, 1.0, 1.0, 0.0).joined(group(task, 1.0))
    attempts = [t.model_copy(update={"trajectory_id": str(number)}) for number, t in enumerate(first.trajectories)]
    attempts[2] = attempts[2].model_copy(update={"termination": Termination.MAX_STEPS, "answer": None})
    sampled = SampledGroups([replace(first, trajectories=attempts)])

    def success(audited: dict[str, bool]) -> float:
        return tallied({}, sampled, {}, audited)["tab"].success

    assert success({"0": False, "1": True, "3": True}) == pytest.approx(1 / 3)
    assert success({"0": False}) == success({}) == pytest.approx(2 / 3), "by rewards: one attempt was not audited"


def test_newcombes_interval_is_that_of_his_paper():
    """Newcombe 1998, table II: 56 of 70 against 48 of 80, method 10."""
    interval = newcombe(Rate(rate=56 / 70, n=70), Rate(rate=48 / 80, n=80))
    assert interval == pytest.approx((0.0524, 0.3339), abs=5e-5)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_newcombes_interval_holds_the_difference_and_mirrors(n, m, data):
    first = Rate(rate=data.draw(st.integers(0, n)) / n, n=n)
    second = Rate(rate=data.draw(st.integers(0, m)) / m, n=m)
    low, high = newcombe(first, second)
    assert low - 1e-9 <= first.rate - second.rate <= high + 1e-9
    assert newcombe(second, first) == pytest.approx((-high, -low))


def test_a_family_without_a_gradient_that_is_not_solved_is_named():
    """As seen: 9 groups of a family, none with a spread of rewards, a third of them all successes."""
    stuck, learning = figures("checkboxes", 0.0, 2, 1 / 3, 9), figures("tab", 0.5, 2, 0.3, 9)
    solved, rare = figures("link", 1.0, 2, 0.95, 9), figures("text", 0.0, 2, 0.0, 4)
    learning = learning.model_copy(update={"effective_groups": 1})
    (stall,) = stalls(watched(12, [stuck, learning, solved, rare]))
    assert str(stall).startswith("checkboxes gives no gradient: in each of its 9 groups since the last validation all")
    assert "33% succeed" in str(stall)


def test_attempts_that_disagree_are_no_stall():
    """As seen: the judge rewards every attempt, and the auditor calls half of them failures."""
    task = a_task(7, website="miniwob/tab")
    rewarded = group(task, 1.0, 1.0)
    audited = {t.trajectory_id: number == 0 for number, t in enumerate(rewarded.trajectories)}
    one_scored = group(a_task(8, website="miniwob/tab"), 0.0, 0.0)
    one_scored.rewards[1] = one_scored.rewards[1].model_copy(update={"masked": True})
    tally = FamilyTally()
    for sampled in (rewarded, one_scored, group(a_task(9, website="miniwob/tab"), 0.0, 0.0)):
        tally.add(sampled, audited)
    assert (tally.scored, tally.agreeing, tally.effective) == (3, 1, 0)
    disagreeing = figures("tab", 0.0, 2, 0.5, 9).model_copy(update={"agreeing_groups": 8})
    assert stalls(watched(12, [disagreeing])) == []


@pytest.mark.slow
def test_the_wait_for_rollouts_before_a_validation_is_no_time_of_it(tmp_path, monkeypatch):
    def pause_s(spec):
        return 0.0 if "validation" in spec.policy_version else 2.0

    keys = {"max_staleness": 1}
    trained, _ = rl_without_pages.train(monkeypatch, tmp_path, 3, validate=1, keys=keys, pause_s=pause_s)
    assert max(figures["waited_s"] for figures in trained.figures[1:]) > 0.5
    assert all(figures["iteration_s"] >= figures["waited_s"] for figures in trained.figures)
