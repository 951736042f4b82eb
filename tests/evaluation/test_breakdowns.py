"""Breakdowns divide the judged tasks: counts add up, levels are the benchmark's own, intervals are Wilson's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from components.evaluation import success
from components.evaluation.breakdowns import AXES, HORIZONS, Facets, breakdowns, horizon, level
from components.records import Outcome, Termination
from components.statistics import wilson
from components.tasks import load_files
from tests.evaluation.run_records import DONE, task, trajectory, turn, verdict

ONLINE_MIND2WEB = Path(__file__).parents[3] / "shared/data/online_mind2web_300.json"


@pytest.mark.parametrize(
    ("difficulty", "evaluator", "expected"),
    [
        (1, {}, "easy"),
        (3, {}, "easy"),
        (4, {}, "medium"),
        (6, {}, "medium"),
        (7, {}, "hard"),
        (40, {}, "hard"),
        (0, {}, None),
        (None, {}, None),
        (1, {"level": "hard"}, "hard"),
        (None, {"level": "medium"}, "medium"),
        (5, {"level": 3}, "medium"),
    ],
)
def test_a_level_is_the_benchmarks_or_webgyms_band_of_facts(difficulty, evaluator, expected):
    assert level(task(difficulty=difficulty, evaluator=evaluator)) == expected


facets = st.builds(
    Facets,
    website=st.sampled_from(["a.com", "b.com"]),
    domain=st.sampled_from([None, "shopping", "travel"]),
    difficulty=st.sampled_from([None, "easy", "hard"]),
    horizon=st.sampled_from([None, *HORIZONS]),
)


@given(st.lists(st.tuples(facets, st.floats(0, 1)), min_size=1, max_size=30))
def test_counts_of_an_axis_add_up_and_its_rates_average_to_the_whole(rows):
    scores = {f"t{index}": score for index, (_, score) in enumerate(rows)}
    found = breakdowns(scores, {f"t{index}": one for index, (one, _) in enumerate(rows)})
    for axis in {one.axis for one in found}:
        slices = [one for one in found if one.axis == axis]
        assert sum(one.n for one in slices) == len(rows)
        assert sum(one.n * one.rate for one in slices) == pytest.approx(sum(scores.values()))
        assert len({one.value for one in slices}) == len(slices)


def test_slices_are_sorted_as_a_reader_expects():
    of = {
        "a": Facets(website="b.com", difficulty="hard", horizon="21 and more"),
        "b": Facets(website="a.com", difficulty=None, horizon="6 to 10"),
        "c": Facets(website="a.com", difficulty="easy", horizon=None),
        "d": Facets(website="a.com", difficulty="medium", horizon="11 to 20"),
    }
    found = breakdowns(dict.fromkeys(of, 1.0), of)
    assert [(one.axis, one.value, one.n) for one in found] == [
        ("website", "a.com", 3),
        ("website", "b.com", 1),
        ("difficulty", "easy", 1),
        ("difficulty", "medium", 1),
        ("difficulty", "hard", 1),
        ("difficulty", "not stated", 1),
        ("horizon", "6 to 10", 1),
        ("horizon", "11 to 20", 1),
        ("horizon", "21 and more", 1),
        ("horizon", "not stated", 1),
    ]


def test_a_summarys_slices_are_of_its_judged_tasks():
    rows = [
        (task("a", "click-tab", difficulty=2), Outcome.SUCCESS),
        (task("b", "click-tab", difficulty=8, horizon=30), Outcome.FAILURE),
        (task("c", "enter-text", difficulty=2), Outcome.ERROR),
        (task("d", "enter-text", difficulty=2), Termination.BLOCKED),
    ]
    trajectories = [
        trajectory(one, termination=what if isinstance(what, Termination) else Termination.DONE) for one, what in rows
    ]
    verdicts = [
        verdict(one, what) for one, (_, what) in zip(trajectories, rows, strict=True) if isinstance(what, Outcome)
    ]
    summary = success(trajectories, verdicts)
    assert [(one.axis, one.value, one.rate, one.n) for one in summary.breakdowns] == [
        ("website", "click-tab", 0.5, 2),
        ("website", "enter-text", 0.0, 1),
        ("difficulty", "easy", 0.5, 2),
        ("difficulty", "hard", 0.0, 1),
        ("horizon", "2", 0.5, 2),
        ("horizon", "21 and more", 0.0, 1),
    ]
    assert [one.value for one in summary.slices("difficulty")] == ["easy", "hard"]
    assert "domain" in AXES
    assert summary.slices("domain") == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"horizon": 30, "evaluator": {"reference_length": 4}, "difficulty": 2}, "21 and more"),
        ({"evaluator": {"reference_length": 10}, "difficulty": 2}, "6 to 10"),
        ({"evaluator": {"reference_length": 11}}, "11 to 20"),
        ({"evaluator": {"reference_length": 0}, "difficulty": 5}, "3 to 5"),
        ({"evaluator": {"reference_length": "many"}, "difficulty": 0}, None),
        ({"difficulty": 1}, "1"),
    ],
)
def test_a_tasks_length_is_its_budget_or_its_annotators_steps_or_its_facts(fields, expected):
    assert horizon(task(**fields)) == expected


@pytest.mark.skipif(not ONLINE_MIND2WEB.exists(), reason="the published file is not here")
def test_online_mind2web_is_broken_down_by_the_steps_of_its_annotators():
    last = turn(0, DONE)
    of = [trajectory(one, turns=[last]) for one in load_files([ONLINE_MIND2WEB]).tasks]
    short = [one.task.evaluator["reference_length"] <= 5 for one in of]
    verdicts = [
        verdict(one, Outcome.SUCCESS if is_short else Outcome.FAILURE) for one, is_short in zip(of, short, strict=True)
    ]
    summary = success(of, verdicts)
    assert [(one.value, one.rate, one.n) for one in summary.slices("horizon")] == [
        ("2", 1.0, 7),
        ("3 to 5", 1.0, 76),
        ("6 to 10", 0.0, 143),
        ("11 to 20", 0.0, 70),
        ("21 and more", 0.0, 4),
    ]


@given(st.integers(1, 400), st.data())
def test_the_wilson_interval_is_that_of_scipy(n, data):
    hits = data.draw(st.integers(0, n))
    expected = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_three_successes_of_three_still_have_an_interval():
    # (1 + z²/6) / (1 + z²/3) ± the same half width: low = 3 / (3 + z²) with z² = 3.8415
    assert wilson(1.0, 3) == pytest.approx((3 / 6.841459, 1.0))
