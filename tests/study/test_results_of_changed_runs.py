"""What a study says of runs that were killed, restored or changed, and of arms with few tasks or uneven seeds."""

from __future__ import annotations

import json
import re
from pathlib import Path

from components.records import Outcome, Trajectory, Verdict
from components.store import read_json, read_table, write_json, write_table
from components.study import compare
from components.study.page import charts, write_page
from components.study.results import RunResult, read_runs


def test_stages_that_were_restored_later_did_not_run_here(study, finish):
    finish()
    events = [("train_sft", "ran", 60.0), ("train_rl@short", "ran", 6000.0), ("train_rl@short", "restored", 1.0)]
    Path(".waymark/studies/mine/events.jsonl").write_text(
        "".join(
            json.dumps({"run": "plain-seed0", "stage": stage, "outcome": outcome, "seconds": seconds}) + "\n"
            for stage, outcome, seconds in events
        )
    )
    assert first_run(study).ran == {"train_sft": 60.0}


def test_the_seconds_of_a_stage_are_those_of_all_its_tries(study, finish):
    finish()
    Path(".waymark/studies/mine/events.jsonl").write_text(
        '{"run": "plain-seed0", "stage": "train_rl@short", "outcome": "ran", "seconds": 5.1}\n'
    )
    assert first_run(study).ran == {"train_rl@short": 60.0}


def test_a_run_of_another_recipe_has_not_failed(study, finish):
    finish(plain_seed0="failed")
    path = Path(".waymark/studies/mine/runs.json")
    states = read_json(path)
    states["plain-seed0"]["recipe"] = "another"
    write_json(path, states)
    run = first_run(study)
    assert (run.state, run.stage, run.error, run.ran) == ("unfinished", "", "", {})


def test_the_page_says_on_how_many_new_tasks_an_effect_rests(study, finish):
    finish()
    for run in study.runs:
        folder = Path(f".waymark/studies/mine/{run.name}/data/evaluation/rl")
        task_of = {
            record.trajectory_id: record.task_id for record in read_table(folder / "trajectories.parquet", Trajectory)
        }
        verdicts = [
            verdict.model_copy(update={"outcome": Outcome.ERROR})
            if "heldout" in task_of[verdict.trajectory_id] and not task_of[verdict.trajectory_id].endswith("/0")
            else verdict
            for verdict in read_table(folder / "verdicts.parquet", Verdict)
        ]
        write_table(folder / "verdicts.parquet", Verdict, verdicts)
    page = write_page(compare(study, read_runs(study))).read_text()
    row = re.search(r"<tr><th>worse</th>.*?</tr>", page, re.S)
    assert row is not None
    assert "1 task (7 left out)" in row[0]


def test_a_curve_ends_where_one_of_its_seeds_does(study, finish):
    finish()
    for seed, iterations, reward in ((0, 1, 0.1), (1, 1, 0.1), (2, 6, 0.9)):
        for phase, count in (("short", iterations), ("long", 0)):
            path = Path(f".waymark/studies/mine/plain-seed{seed}/reports/stages/train_rl@{phase}.json")
            row = {"effective_groups": 2, "sampled_groups": 4, "episodes": 20, "pool_reward": reward}
            write_json(path, read_json(path) | {"iterations": [row] * count, "validation": []})
    (training,) = (chart for chart in charts(compare(study, read_runs(study))) if chart.title == "Training reward")
    (plain,) = (series for series in training.series if series.name == "plain")
    assert len(plain.dots) == 1


def first_run(study) -> RunResult:
    return next(measured.run for measured in read_runs(study) if measured.run.name == "plain-seed0")
