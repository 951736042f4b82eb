"""Success rates, intervals and comparisons, with numbers worked out by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from components.evaluation import (
    Difference,
    EvaluationError,
    beats,
    deserves_promotion,
    join_verdicts,
    paired_difference,
    scores,
    success,
)
from components.evaluation.comparison import exact_paired_p
from components.records import Outcome, Termination
from tests.evaluation.run_records import task, trajectory, turn, verdict

SUCCESS, FAILURE, ERROR, UNPARSED = Outcome.SUCCESS, Outcome.FAILURE, Outcome.ERROR, Outcome.UNPARSED


def judged(*rows):
    """Rows of (task id, outcome or a termination that is the environment's or agent's, family, split)."""
    trajectories, verdicts = [], []
    for task_id, what, *rest in rows:
        family, split = (*rest, *("click-test", "eval")[len(rest) :])
        ended = isinstance(what, Termination)
        one = trajectory(task(task_id, family, split=split), termination=what if ended else Termination.DONE)
        trajectories.append(one)
        if not ended:
            verdicts.append(verdict(one, what))
    return trajectories, verdicts


def summary(*rows, **changes):
    return success(*judged(*rows), **changes)


def test_three_successes_of_four_are_a_rate_of_three_quarters():
    one = summary(("a", SUCCESS), ("b", SUCCESS), ("c", SUCCESS), ("d", FAILURE))
    assert (one.rate, one.n) == (0.75, 4)


def test_the_wilson_interval_is_that_of_the_textbook():
    # n = 10, k = 5, z = 1.959964: centre 0.5, half width z / (n + z²) * sqrt(n / 4 + z² / 4) = 0.263405
    one = summary(*[(f"t{i}", SUCCESS if i < 5 else FAILURE) for i in range(10)])
    assert one.wilson95 == pytest.approx((0.236595, 0.763405), abs=1e-5)


def test_the_interval_is_about_two_standard_errors_wide():
    # 100 tasks, half solved: standard error 0.05, so 0.5 ± 0.098
    one = summary(*[(f"t{i}", SUCCESS if i % 2 else FAILURE) for i in range(100)])
    assert one.ci95 == pytest.approx((0.402, 0.598), abs=0.011)


def test_an_aborted_task_fails_the_official_rate_and_leaves_the_other():
    one = summary(("a", SUCCESS), ("b", FAILURE), ("c", Termination.BLOCKED), ("d", Termination.SANDBOX_ERROR))
    assert (one.rate, one.n) == (0.25, 4)
    assert (one.rate_without_aborted, one.n_without_aborted, one.aborted) == (0.5, 2, 2)


def test_running_out_of_steps_counts_against_the_agent():
    one = summary(("a", SUCCESS), ("b", Termination.MAX_STEPS))
    assert (one.rate, one.rate_without_aborted, one.aborted) == (0.5, 0.5, 0)


@pytest.mark.parametrize("outcome", [ERROR, UNPARSED])
def test_a_judges_outage_is_no_failure(outcome):
    one = summary(("a", SUCCESS), ("b", FAILURE), ("c", outcome))
    assert (one.rate, one.n, one.unjudged) == (0.5, 2, 1)


def test_an_evaluation_with_more_aborted_episodes_than_allowed_is_invalid():
    rows = [("a", Termination.BLOCKED), *[(f"t{i}", SUCCESS) for i in range(9)]]
    assert summary(*rows, max_aborted=0.1).valid
    assert not summary(*rows, max_aborted=0.09).valid


@pytest.mark.parametrize(
    ("max_aborted", "why"),
    [
        (0.1, "0 of 1 episodes were ended by the environment and 1 were not judged (evaluation.max_aborted is 0.1)"),
        (1.0, "none of 1 episodes was judged"),
    ],
)
def test_held_out_tasks_without_a_verdict_leave_the_main_table(max_aborted, why):
    rows = ("a", SUCCESS), ("b", FAILURE), ("c", ERROR, "click-pie", "heldout")
    one = summary(*rows, max_aborted=max_aborted)
    assert (one.rate, one.n, one.heldout, one.heldout_unjudged) == (0.5, 2, None, 1)
    assert (one.valid, one.problems, one.heldout_problems) == (True, [], [why])


def test_held_out_tasks_of_which_too_few_are_judged_have_no_rate():
    apart = [(f"h{i}", SUCCESS if i < 7 else ERROR, "click-pie", "heldout") for i in range(10)]
    one = summary(("a", SUCCESS), *apart, max_aborted=0.2)
    assert (one.valid, one.heldout, one.heldout_unjudged, len(one.heldout_problems)) == (True, None, 3, 1)
    one = summary(("a", SUCCESS), *apart, max_aborted=0.3)
    assert (one.heldout.rate, one.heldout.n, one.heldout.unjudged, one.heldout_problems) == (1.0, 7, 3, [])


def test_main_tasks_without_a_verdict_are_an_error_beside_judged_others():
    with pytest.raises(EvaluationError, match="none of 1 episodes has a verdict"):
        summary(("a", ERROR), ("c", SUCCESS, "click-pie", "heldout"))


def test_families_never_trained_on_are_apart_from_the_headline_rate():
    one = summary(("a", SUCCESS), ("b", SUCCESS), ("c", FAILURE, "click-pie", "heldout"))
    assert (one.rate, one.n) == (1.0, 2)
    assert (one.heldout.rate, one.heldout.n, list(one.heldout.families)) == (0.0, 1, ["click-pie"])
    assert "click-pie" not in one.families


def test_families_are_reported_without_their_sites_name():
    one = summary(("a", SUCCESS, "click-tab"), ("b", FAILURE, "click-tab"), ("c", SUCCESS, "enter-text"))
    assert {name: (share.rate, share.n) for name, share in one.families.items()} == {
        "click-tab": (0.5, 2),
        "enter-text": (1.0, 1),
    }


def test_attempts_at_one_task_are_one_task():
    of = task("a")
    attempts = [trajectory(of, attempt=index) for index in range(4)]
    other = trajectory(task("b"))
    verdicts = [verdict(one, SUCCESS if index < 3 else FAILURE) for index, one in enumerate(attempts)] + [
        verdict(other, FAILURE)
    ]
    one = success([*attempts, other], verdicts)
    assert (one.rate, one.n) == (0.375, 2)  # (3/4 + 0) / 2


def test_turns_and_tokens_are_means_over_episodes():
    one = summary(("a", SUCCESS), ("b", FAILURE))
    assert (one.turns_mean, one.response_tokens_mean) == (2.0, 86.0)  # two turns of 43 tokens each


def test_a_finished_trajectory_without_a_verdict_is_refused_by_name():
    one = trajectory(task("a"))
    with pytest.raises(EvaluationError, match=f"1 finished trajectories have no verdict.*{one.trajectory_id}"):
        success([one], [])


def test_nothing_to_evaluate_is_refused():
    with pytest.raises(EvaluationError, match="no episode to evaluate: give tasks"):
        success([], [])


def test_the_summary_survives_its_json():
    one = summary(("a", SUCCESS), ("b", FAILURE, "click-pie", "heldout"))
    assert type(one).model_validate(one.model_dump(mode="json", exclude_none=True)) == one


def test_a_paired_difference_is_first_minus_second():
    # four tasks: +1, 0, 0, +1
    one = paired_difference({"a": 1.0, "b": 1.0, "c": 0.0, "d": 1.0}, {"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0}, 2000, 0)
    assert (one.diff, one.n) == (0.5, 4)


def test_pairing_narrows_the_interval_where_tasks_agree():
    # 100 tasks, half easy for both, ten of the hard ones newly solved: differences: mean 0.1, standard error 0.03
    before = {f"t{i}": float(i < 50) for i in range(100)}
    after = {f"t{i}": float(i < 60) for i in range(100)}
    assert paired_difference(after, before, 4000, 0).ci95 == pytest.approx((0.041, 0.159), abs=0.012)


def test_a_paired_difference_that_never_varies_is_no_certainty():
    # Wilson's upper limit of 0 among 2 tasks is z² / (2 + z²) = 0.657620; the others may differ by -1
    one = paired_difference({"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, 100, 0)
    assert one.ci95 == pytest.approx((1 - 2 * 0.657620, 1.0), abs=1e-5)
    ties = paired_difference({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0}, 100, 0)
    assert ties.ci95 == pytest.approx((-0.657620, 0.657620), abs=1e-5)


@pytest.mark.parametrize(
    ("diffs", "p_value"),
    [
        ([1], 1.0),
        ([0, 0, 0], 1.0),
        ([1, 1, 1, 1, 1], 2 / 32),
        ([1, 1, 1, 1, 1, 1, 0, 0], 2 / 64),  # McNemar: ties say nothing
        ([1, 1, 1, 1, 1, -1], 2 * 7 / 64),
        ([0.5, 0.5, 1.0], 2 / 8),
        ([0.5, -1.0], 1.0),
    ],
)
def test_the_exact_paired_test_counts_the_signs_that_go_further(diffs, p_value):
    assert exact_paired_p(np.array(diffs, dtype=float)) == pytest.approx(p_value)


@pytest.mark.parametrize(("diffs", "attempts"), [([-2, 1, 3, 3, 1, 2, 1, -1, 3, 0, 3], 8), ([1, 2, -1, 3, 2, 2], 7)])
def test_shares_of_any_number_of_attempts_are_tested_exactly(diffs, attempts):
    signs = np.array(list(product((-1, 1), repeat=len(diffs))))
    expected = np.mean(np.abs(signs @ np.abs(diffs)) >= abs(sum(diffs)))
    assert exact_paired_p(np.array(diffs) / attempts) == pytest.approx(expected)


def test_the_p_value_of_unusual_shares_is_an_upper_bound():
    diffs_N = np.array([1 / 11, 2 / 13, 3 / 17, 4 / 19, 5 / 23, -1 / 29])
    signs = np.array(list(product((-1, 1), repeat=len(diffs_N))))
    exact = np.mean(np.abs(signs @ np.abs(diffs_N)) >= abs(diffs_N.sum()) - 1e-12)
    assert exact <= exact_paired_p(diffs_N) <= 2 * exact


def test_a_success_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="number"):
        paired_difference({"a": float("nan"), "b": 1.0}, {"a": 0.0, "b": 0.0}, 100, 0)


@given(st.integers(0, 30), st.integers(0, 30))
def test_on_single_attempts_the_exact_test_is_mcnemars(won, lost):
    expected = binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert exact_paired_p(np.array([1.0] * won + [-1.0] * lost + [0.0] * 3)) == pytest.approx(expected)


def test_an_equal_model_is_promoted_in_fewer_than_one_of_twenty_runs():
    rng, promoted = np.random.default_rng(3), 0
    for _ in range(300):
        a_N, b_N = rng.binomial(1, 0.4, (2, 30)).astype(float)
        sides = ({f"t{i}": float(value) for i, value in enumerate(side_N)} for side_N in (a_N, b_N))
        promoted += deserves_promotion(paired_difference(*sides, 200, 0), 10)
    assert promoted <= 15


@pytest.mark.parametrize(("n", "least", "promoted"), [(1, 1, False), (5, 1, False), (6, 1, True), (6, 7, False)])
def test_promotion_needs_enough_tasks_and_an_exact_test(n, least, promoted):
    names = [f"t{number}" for number in range(n)]
    difference = paired_difference(dict.fromkeys(names, 1.0), dict.fromkeys(names, 0.0), 200, 0)
    assert deserves_promotion(difference, least) is promoted


def test_pairing_names_the_tasks_that_one_side_lacks():
    with pytest.raises(EvaluationError, match="the second lacks a, b; the first lacks d"):
        paired_difference({"a": 1.0, "b": 0.0, "c": 1.0}, {"c": 1.0, "d": 0.0}, 100, 0)


def test_tasks_unjudged_on_one_side_leave_the_comparison():
    one = paired_difference({"a": 1.0, "b": None}, {"a": 0.0, "b": 1.0}, 100, 0)
    assert (one.diff, one.n) == (1.0, 1)


def test_scores_say_none_for_an_unjudged_task():
    assert scores(join_verdicts(*judged(("a", SUCCESS), ("b", FAILURE), ("c", ERROR)))) == {
        "a": 1.0,
        "b": 0.0,
        "c": None,
    }


@pytest.mark.parametrize(("low", "promoted"), [(0.01, True), (0.0, False), (-0.02, False)])
def test_only_an_interval_above_zero_promotes(low, promoted):
    assert beats(Difference(diff=0.1, ci95=(low, 0.2))) is promoted


def test_held_out_families_that_never_loaded_make_the_evaluation_invalid():
    trained = [(f"t{i}", SUCCESS) for i in range(40)]
    apart = [(f"h{i}", SUCCESS if i else FAILURE, "click-option", "heldout") for i in range(10)]
    broken = [(f"h{i}", Termination.ENV_INIT_ERROR, "click-option", "heldout") for i in range(9)]
    assert summary(*trained, *apart).valid
    lost = summary(*trained, *broken, apart[-1])
    assert (lost.valid, lost.heldout) == (False, None)
    assert lost.problems == [f"of the held-out tasks, {problem}" for problem in lost.heldout_problems]


def test_one_family_that_never_loaded_makes_the_evaluation_invalid():
    rows = [
        (f"t{i}", Termination.ENV_INIT_ERROR if i < 20 else SUCCESS, f"family-{i // 20}", "eval") for i in range(220)
    ]
    assert summary(*rows).aborted / 220 < 0.1
    assert not summary(*rows).valid
    assert summary(*rows).problems == ["20 of 20 episodes of family-0 were ended by the environment"]


def test_failures_are_counted_by_group():
    one = summary(("a", SUCCESS), ("b", FAILURE), ("c", Termination.BLOCKED), ("d", Termination.MAX_STEPS))
    assert one.failures == {"blocked": 1, "out_of_steps": 1, "wrong": 1}
    assert one.failure_groups == {"access": 1, "reasoning": 1, "unclear": 1}


def test_attempts_give_pass_at_k():
    of = [trajectory(task(name), attempt=index) for name in "ab" for index in range(2)]
    one = success(of, [verdict(each, SUCCESS if index == 0 else FAILURE) for index, each in enumerate(of)])
    assert {k: (each.rate, each.n) for k, each in one.pass_at_k.items()} == {"1": (0.25, 2), "2": (0.5, 2)}


def test_usage_is_summed_from_turns_diagnostics_and_verdicts():
    # two turns of 212 prompt tokens, 0.412 s of the policy and 0.083 s of the browser
    a = trajectory(task("a"), diagnostics={"wall_s": 3.0, "start": {"navigate": 1.0}, "usd": 0.02})
    b = trajectory(task("b"), diagnostics={"wall_s": 5.0, "usd": 0.03})
    verdicts = [
        verdict(each).model_copy(update={"tokens": 900 + extra, "cost_usd": 0.01, "latency_s": 2.0 + extra})
        for each, extra in ((a, 0), (b, 2))
    ]
    usage = success([a, b], verdicts).usage
    assert usage.model_dump() == pytest.approx(
        {
            "prompt_tokens_mean": 424,
            "policy_s_mean": 0.824,
            "browser_s_mean": 0.166 + 0.5,
            "wall_s_mean": 4.0,
            "policy_usd": 0.05,
            "judged": 2,
            "judge_tokens_mean": 901,
            "judge_s_mean": 3.0,
            "judge_usd": 0.02,
        }
    )


def test_an_endpoints_tokens_are_those_it_billed():
    turns = [turn(0, token_ids=[], logprobs=[])]
    one = trajectory(turns=turns, termination=Termination.MAX_STEPS, diagnostics={"response_tokens": 70})
    assert success([one], []).response_tokens_mean == 70


def test_unrecorded_figures_are_none_and_not_zero():
    usage = summary(("a", Termination.MAX_STEPS)).usage
    assert (usage.wall_s_mean, usage.policy_usd, usage.judge_usd, usage.judged) == (None, None, None, 0)


def test_the_checksum_is_of_the_tasks_whatever_their_order_and_outcome():
    rows = [("a", SUCCESS), ("b", FAILURE)]
    assert summary(*rows).task_set == summary(*rows[::-1]).task_set == summary(("b", SUCCESS), ("a", ERROR)).task_set
    assert summary(*rows).task_set != summary(("a", SUCCESS)).task_set


def test_a_summary_of_an_earlier_version_is_still_read():
    one = summary(("a", SUCCESS), ("b", FAILURE))
    later = {"failure_groups", "pass_at_k", "breakdowns", "markers", "usage", "task_set"}
    earlier = one.model_dump(mode="json", exclude_none=True, exclude=later)
    assert type(one).model_validate(earlier).rate == 0.5
    renamed = one.model_dump(mode="json", exclude_none=True)
    renamed["proxies"] = renamed.pop("markers")
    assert type(one).model_validate(renamed) == one
