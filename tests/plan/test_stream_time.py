"""The planned time of an iteration whose groups stream."""

from __future__ import annotations

import pytest

from components.plan.stages import iteration_time
from tests.plan.test_time_plan import SLOW_JUDGE, setting

BY_MODEL = {"judge__reward": "model", "judge__trust__min_agreement": 0.0, "judge__model": SLOW_JUDGE}


def rolled(open_groups, **changed):
    return iteration_time(setting(rl__open_groups=open_groups, **changed), "short").rolled


def busy(rollouts):
    seconds = rollouts.rollouts.usage.seconds + rollouts.judging.usage.seconds
    return rollouts.rollouts.usage.busy["browsers"] / setting().params.browser.concurrency / seconds


def test_a_stream_keeps_browsers_busy_that_waves_leave_idle():
    waves, stream = rolled(None), rolled(48)
    assert busy(stream) > 0.85 > 0.7 > busy(waves)
    assert stream.judging.usage.seconds < 0.2 * waves.judging.usage.seconds, "groups are judged while others run"
    assert stream.effective >= waves.effective * 0.9
    assert stream.waves == 0


def test_both_ways_ask_the_judge_about_as_many_questions():
    waves, stream = rolled(None), rolled(48)
    assert stream.judging.tokens.judge_calls / stream.trajectories == pytest.approx(
        waves.judging.tokens.judge_calls / waves.trajectories, rel=0.01
    )
    assert stream.rollouts.tokens.prompt / stream.trajectories == pytest.approx(
        waves.rollouts.tokens.prompt / waves.trajectories, rel=0.1
    )


def test_one_open_group_at_a_time_is_slower_than_waves():
    assert rolled(1).rollouts.usage.seconds > 3 * rolled(None).rollouts.usage.seconds


def test_a_slow_judge_decides_how_long_a_stream_takes():
    slow = rolled(48, **BY_MODEL)
    seconds = slow.rollouts.usage.seconds + slow.judging.usage.seconds
    assert seconds >= slow.judging.usage.busy["judge"] * 0.99, "it has one question at a time"
    assert slow.judging.usage.seconds > 10 * rolled(48).judging.usage.seconds


@pytest.mark.parametrize("open_groups", [None, 48])
def test_a_fast_endpoint_judges_beside_the_episodes(open_groups):
    endpoint = SLOW_JUDGE["endpoint"] | {"max_in_flight": 64}
    chosen = setting(rl__open_groups=open_groups, **BY_MODEL | {"judge__model": {"endpoint": endpoint}})
    rollouts = iteration_time(chosen, "short").rolled
    question_s = chosen.rates.judge_s
    rounds = max(rollouts.waves, 1)
    assert question_s * 0.99 <= rollouts.judging.usage.seconds <= question_s * (rounds + 1)
    assert rollouts.judging.usage.busy["judge"] > 100 * question_s, "it answered all questions"


def test_further_attempts_at_failed_tasks_are_planned():
    assert rolled(48, rl__extra_attempts=5).trajectories > rolled(48).trajectories
