"""The status of a benchmark's result: complete, partial or invalid, by what each judge decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.benchmarks.judging import JudgedEpisodes
from components.benchmarks.options import Options
from components.benchmarks.result_assembly import _progress, _status, _summarise, _unjudged
from components.benchmarks.results import Progress
from components.benchmarks.spec import load_benchmark
from components.benchmarks.task_selection import SelectedTasks
from components.evaluation import success
from components.records import Outcome
from tests.samples import a_task, a_trajectory, a_verdict, recipe

ROOT = Path(__file__).parents[2]


def test_a_set_with_rows_that_are_no_tasks_is_never_complete():
    progress = Progress(tasks=147, rejected=3, asked=147, done=147, skipped={}, retried=0, stopped_by=None)
    said = "147 of 147 tasks are done, 3 of 150 rows of the file are no tasks"
    trajectory = a_trajectory()
    headline = success([trajectory], [a_verdict(trajectory)])
    assert _status(headline, progress, 147, []) == ("partial", said)
    assert _status(headline, progress.model_copy(update={"rejected": 0}), 147, []) == ("complete", None)


@pytest.mark.parametrize("undecided", [Outcome.ERROR, Outcome.UNPARSED])
def test_a_benchmark_with_unjudged_tasks_is_not_complete(undecided):
    benchmark = load_benchmark(ROOT / "recipes/benchmarks/webvoyager-595.yaml")
    tasks = [a_task(number) for number in range(20)]
    trajectories = [a_trajectory(task, turns=2) for task in tasks]
    outcomes = [undecided, *[Outcome.SUCCESS] * 19]
    verdicts = [a_verdict(*pair) for pair in zip(trajectories, outcomes, strict=True)]
    selected = SelectedTasks(tasks=tasks, in_set=20, rejected=0, skipped={})
    unjudged = {trajectories[0].trajectory_id}
    progress = _progress(benchmark, selected, trajectories, unjudged, 0, None)
    status, problem = _status(success(trajectories, verdicts), progress, 20, [])
    assert (progress.done, status) == (19, "partial")
    assert problem is not None
    assert problem.startswith("19 of 20 tasks are done, 1 episodes have no verdict that can be read: run again")
    everything = _progress(benchmark, selected, trajectories, set(), 0, None)
    assert everything.done == 20


DECIDED_NONE = (
    "the official judge decided none of 3 episodes: start the model of judge.model, or name one if the rules need it"
)


@pytest.mark.parametrize(
    ("official", "also", "summarised", "steps", "status", "problem"),
    [
        (
            Outcome.SUCCESS,
            Outcome.ERROR,
            ["webvoyager"],
            [1, 30],
            "partial",
            "3 of 3 tasks are done, not judged by rules",
        ),
        (Outcome.ERROR, Outcome.SUCCESS, ["rules"], [1], "invalid", DECIDED_NONE),
        (Outcome.ERROR, Outcome.ERROR, [], [1], "invalid", DECIDED_NONE),
        (Outcome.SUCCESS, Outcome.SUCCESS, ["webvoyager", "rules"], [1, 30], "complete", None),
    ],
)
def test_a_judge_that_decided_nothing_does_not_lose_the_result(official, also, summarised, steps, status, problem):
    benchmark = load_benchmark(ROOT / "recipes/benchmarks/webvoyager-595.yaml").model_copy(update={"max_steps": 30})
    trajectories = [a_trajectory(a_task(number), turns=2) for number in range(3)]
    verdicts = {
        name: [a_verdict(trajectory, outcome) for trajectory in trajectories]
        for name, outcome in (("webvoyager", official), ("rules", also))
    }
    judged = JudgedEpisodes(verdicts, 0.0, 3, None, [])
    summaries, curve, undecided = _summarise(recipe(), benchmark, Options(steps=(1, 30)), trajectories, judged)
    assert ([*summaries], [point.steps for point in curve]) == (summarised, steps)
    progress = Progress(tasks=3, rejected=0, asked=3, done=3, skipped={}, retried=0, stopped_by=None)
    assert _status(summaries.get(benchmark.judge), progress, 3, undecided) == (status, problem)


@pytest.mark.parametrize(("steps", "unjudged"), [(1, 0), (2, 1)])
def test_an_episode_that_goes_on_beyond_the_budget_needs_no_verdict(steps, unjudged):
    benchmark = load_benchmark("webvoyager-595").model_copy(update={"max_steps": steps})
    trajectory = a_trajectory(turns=2)
    assert len(_unjudged(benchmark, [trajectory], [a_verdict(trajectory, Outcome.ERROR)])) == unjudged


def test_a_further_judge_that_left_episodes_open_makes_the_result_partial():
    benchmark = load_benchmark("webvoyager-595")
    trajectories = [a_trajectory(a_task(number), turns=2) for number in range(3)]
    outcomes = {"webvoyager": [Outcome.SUCCESS] * 3, "rules": [Outcome.SUCCESS, Outcome.UNPARSED, Outcome.ERROR]}
    verdicts = {name: [*map(a_verdict, trajectories, outcomes[name])] for name in outcomes}
    judged = JudgedEpisodes(verdicts, 0.0, 3, None, [])
    summaries, _, undecided = _summarise(recipe(), benchmark, Options(), trajectories, judged)
    assert summaries["rules"].n == 1
    progress = Progress(tasks=3, rejected=0, asked=3, done=3, skipped={}, retried=0, stopped_by=None)
    problem = "3 of 3 tasks are done, not judged by rules on 2 episodes"
    assert _status(summaries["webvoyager"], progress, 3, undecided) == ("partial", problem)
