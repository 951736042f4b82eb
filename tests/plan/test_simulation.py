"""The discrete-event core of `waymark plan`, against makespans and busy times worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.plan.simulation import Episode, Facilities, Turn, Usage, queue, roll_out


def scripted(pages: int, wait_s: float = 0.0, core_s: float = 0.0) -> Episode:
    """An episode that opens in no time and has some equal browser steps."""
    return Episode(0.0, 0.0, (Turn(0, 0, core_s, wait_s),) * pages)


@pytest.mark.parametrize(("jobs", "workers"), [(7, 3), (6, 3), (1, 4), (10, 1)])
def test_equal_jobs_take_as_many_rounds_as_the_workers_need(jobs, workers):
    usage = queue([2.0] * jobs, workers, "judge")
    assert usage.seconds == math.ceil(jobs / workers) * 2.0
    assert usage.busy == {"judge": 2.0 * jobs}


def test_no_jobs_take_no_time():
    assert queue([], 3, "judge").seconds == 0
    assert roll_out([], Facilities(browsers=2, cores=1)).seconds == 0


def test_five_episodes_on_two_browsers_take_three_rounds():
    # each has 3 steps of 4 s: rounds of 12 s, and 5 × 12 s in browsers
    usage = roll_out([scripted(3, wait_s=4.0)] * 5, Facilities(browsers=2, cores=1))
    assert usage.seconds == 36.0
    assert usage.busy["browsers"] == 60.0
    assert usage.busy["cores"] == 0.0


def test_work_of_browsers_waits_for_a_core():
    # 4 browsers, 2 cores: 4 × 3 steps of 1 s of a core take 12 / 2 s; two episodes end a second before the others
    usage = roll_out([scripted(3, core_s=1.0)] * 4, Facilities(browsers=4, cores=2))
    assert usage.seconds == 6.0
    assert usage.busy["cores"] == 12.0
    assert usage.busy["browsers"] == 2 * 5.0 + 2 * 6.0


def test_opening_a_page_comes_before_the_first_turn():
    usage = roll_out([Episode(1.0, 2.0, (Turn(0, 0, 3.0, 4.0),))], Facilities(browsers=1, cores=1))
    assert usage.seconds == 10.0


def answered(response: int, prompt: int = 0) -> Episode:
    return Episode(0.0, 0.0, (Turn(prompt, response, 0.0, 0.0),))


def test_sequences_that_are_decoded_together_share_a_server():
    # a step takes 1 s with one sequence and 1.5 s with two: 10 steps for both, then 10 for the longer one alone
    facilities = Facilities(browsers=2, cores=1, servers=1, token_s=lambda sequences: 0.5 + 0.5 * sequences)
    usage = roll_out([answered(10), answered(20)], facilities)
    assert usage.seconds == pytest.approx(10 * 1.5 + 10 * 1.0)
    assert usage.busy["servers"] == pytest.approx(25.0)


def test_prompts_are_read_before_decoding_goes_on():
    # two prompts of 100 tokens at 0.01 s, then 4 tokens of 1 s
    facilities = Facilities(2, 1, servers=1, prefill_s=lambda tokens: 0.01 * tokens, token_s=lambda sequences: 1.0)
    assert roll_out([answered(4, 100)] * 2, facilities).seconds == pytest.approx(2.0 + 4.0)


def test_a_server_without_a_free_slot_lets_requests_wait():
    facilities = Facilities(browsers=3, cores=1, servers=1, slots=1, token_s=lambda sequences: 1.0)
    assert roll_out([answered(5)] * 3, facilities).seconds == pytest.approx(15.0)


def test_requests_go_to_the_server_with_the_least_load():
    facilities = Facilities(browsers=4, cores=1, servers=2, slots=1, token_s=lambda sequences: 1.0)
    usage = roll_out([answered(5)] * 4, facilities)
    assert usage.seconds == pytest.approx(10.0)
    assert usage.busy["servers"] == pytest.approx(20.0)


def test_a_request_joins_a_sequence_that_is_being_decoded():
    # the second request arrives after 3 s; one step takes 1 s, whatever the number of sequences
    late = Episode(0.0, 3.0, (Turn(0, 10, 0.0, 0.0),))
    facilities = Facilities(browsers=2, cores=1, servers=1, token_s=lambda sequences: 1.0)
    assert roll_out([answered(10), late], facilities).seconds == pytest.approx(13.0)


def test_usages_add_up_one_after_the_other():
    total = Usage(2.0, {"judge": 4.0}) + Usage(3.0, {"trainer": 3.0}).times(2)
    assert total == Usage(8.0, {"judge": 4.0, "trainer": 6.0})


LENGTHS = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(1, 8))
def test_no_schedule_beats_the_work_per_worker_or_the_longest_job(jobs, workers):
    seconds = queue(jobs, workers, "judge").seconds
    longest, share = max(jobs), sum(jobs) / workers
    assert seconds >= max(longest, share) * (1 - 1e-9)
    assert seconds <= (share + longest) * (1 + 1e-9)  # Graham 1966: work in any order ends within this


STEPS = st.tuples(st.integers(0, 50), st.integers(1, 50), st.floats(0, 2), st.floats(0, 2)).map(
    lambda step: Turn(*step)
)
EPISODE = st.lists(STEPS, min_size=1, max_size=4).map(lambda turns: Episode(0.1, 0.1, tuple(turns)))
EPISODES = st.lists(EPISODE, min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(EPISODES, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_no_resource_is_busier_than_its_units_allow(episodes, browsers, cores, servers, slots):
    facilities = Facilities(
        browsers, cores, servers, slots, lambda tokens: 0.01 * tokens, lambda rows: 0.05 + 0.01 * rows
    )
    usage = roll_out(episodes, facilities)
    units = {"browsers": browsers, "cores": cores, "servers": servers}
    assert all(usage.busy[name] <= number * usage.seconds * (1 + 1e-9) for name, number in units.items())
    core_s = sum(episode.core_s + sum(turn.core_s for turn in episode.turns) for episode in episodes)
    assert usage.busy["cores"] == pytest.approx(core_s)
    alone = [
        episode.core_s + episode.wait_s
        + sum(0.01 * t.prompt_tokens + 0.06 * t.response_tokens + t.core_s + t.wait_s for t in episode.turns)
        for episode in episodes
    ]  # fmt: skip
    assert usage.seconds >= max(alone) * (1 - 1e-9)
