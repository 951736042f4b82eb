"""Where the time of RL went, on the page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from components.reports import build, read_episodes, read_results, write_report
from components.reports.charts import BAR_WIDTH, StackedBar, stacked_bar
from components.reports.rl_validation import CheckpointRow, ValidationRow, WatchedPhase
from components.reports.stage_results import RLIteration
from components.reports.time_spent import time_spent
from components.statistics import Interval, SuccessRate
from components.store import read_json, write_json

EPISODES = {"episodes_s": 40.0, "browser_s": 12.0, "policy_s": 24.0, "queue_s": 1.0}
POLICY = {"vision_s": 1.0, "prefill_s": 2.0, "decode_s": 3.0}
UPDATE = {"train_s": 6.0, "encoding_s": 0.5, "forward_s": 2.0, "backward_s": 3.0, "optimizer_s": 0.25}
ITERATION = {"iteration_s": 20.0, "waited_s": 12.0, "weights_s": 1.0, "rollout_s": 9.0, "judge_s": 1.5}
FIGURES = {**ITERATION, **EPISODES, **POLICY, **UPDATE}


def iterations(*figures: dict[str, float]) -> list[RLIteration]:
    return [RLIteration(effective_groups=1, sampled_groups=1, phase="short", **row) for row in figures]


def seconds(bar: StackedBar) -> dict[str, float]:
    return {part.name: round(part.value, 6) for part in bar.parts}


def test_a_bar_is_divided_in_proportion_and_leaves_out_zeros():
    bar = stacked_bar("t", {"a": 1.0, "b": 0.0, "c": 3.0}, {"a": 4, "b": 1, "c": 2})
    assert bar.total == 4
    assert [(part.name, part.slot, part.x, part.width) for part in bar.parts] == [
        ("a", 4, 0.0, BAR_WIDTH / 4),
        ("c", 2, BAR_WIDTH / 4, 3 * BAR_WIDTH / 4),
    ]
    assert stacked_bar("t", {"a": 0.0}, {"a": 0}) is None


def test_each_bar_has_its_parts_and_what_is_left():
    checkpoint = CheckpointRow(iteration=2, seconds=1.0, megabytes=1.0, kept=True)
    success = SuccessRate(rate=0.5, n=4, ci95=Interval(0.4, 0.6))
    watched = WatchedPhase(
        checkpoints=[checkpoint], validation=[ValidationRow(iteration=2, seconds=8.0, success=success)]
    )
    (picture,) = time_spent(iterations(FIGURES, FIGURES), {"short": watched, "long": WatchedPhase()})
    assert (picture.phase, picture.iterations) == ("short", 2)
    iteration, policy, episodes, update = map(seconds, picture.bars)
    waited = {"weights": 1.0, "rollouts": 9.0, "judging": 1.5}
    assert iteration == waited | {"update": 6.0, "validation": 4.0, "checkpoint": 0.5, "other": 2.5}
    assert policy == {"images": 1.0, "prefill": 2.0, "decode": 3.0, "waiting for requests": 3.0}
    assert episodes == {"browser": 12.0, "waiting for the policy": 24.0, "waiting for a browser": 1.0, "other": 3.0}
    assert update == {"encoding": 0.5, "forward": 2.0, "backward": 3.0, "optimiser": 0.25, "other": 0.25}


def test_rollouts_beside_an_update_count_only_while_they_are_waited_for():
    beside = FIGURES | {"iteration_s": 8.0, "waited_s": 2.0}
    (picture,) = time_spent(iterations(FIGURES, beside), {"short": WatchedPhase()})
    waited = {"weights": 0.5, "rollouts": 4.5, "judging": 0.75, "waiting for rollouts": 1.0}
    assert seconds(picture.bars[0]) == waited | {"update": 6.0, "other": 1.25}
    assert picture.bars[0].total == 14.0, "the mean wall time of both iterations"


@pytest.mark.parametrize(("waited_s", "weights"), [(10.5, {}), (10.75, {"weights": 0.25})])
def test_weights_that_came_before_the_wait_are_no_part_of_it(waited_s, weights):
    early = FIGURES | {"waited_s": waited_s}
    (picture,) = time_spent(iterations(early), {"short": WatchedPhase()})
    rest = 20.0 - waited_s - 6.0
    assert seconds(picture.bars[0]) == weights | {"rollouts": 9.0, "judging": 1.5, "update": 6.0, "other": rest}


def test_with_servers_the_picture_says_policy():
    served = {name: value for name, value in FIGURES.items() if name not in POLICY}
    (picture,) = time_spent(iterations(served), {"short": WatchedPhase()})
    assert [bar.title for bar in picture.bars] == ["An iteration", "The episodes of the rollouts", "The update"]
    assert seconds(picture.bars[1])["policy"] == 24.0


def test_an_iteration_that_an_older_version_finished_is_left_out():
    older = {"rollout_s": 500.0, "train_s": 500.0}
    (picture,) = time_spent(iterations(older, FIGURES), {"short": WatchedPhase()})
    assert picture.iterations == 1
    assert picture.bars[0].total == pytest.approx(20.0)
    assert time_spent(iterations(older), {"short": WatchedPhase()}) == []


def test_the_page_has_a_picture_of_each_phase_that_recorded_its_times(run_on_disk, tmp_path):
    evaluated = read_episodes(run_on_disk.evaluation)

    def page(stages: Path) -> str:
        results = read_results(stages, run_on_disk.curves)
        report = build(results, evaluated, None, 50, 0, "this")
        write_report(report, results, evaluated, run_on_disk.evaluation, "demo", tmp_path / "demo.html")
        return (tmp_path / "demo.html").read_text()

    assert 'class="stacked"' not in page(run_on_disk.stages), "results of an older version have no such times"
    shutil.copytree(run_on_disk.stages, tmp_path / "stages")
    path = tmp_path / "stages" / "train_rl@long.json"
    written = read_json(path)
    write_json(path, written | {"iterations": [row | FIGURES for row in written["iterations"]]})
    shown = page(tmp_path / "stages")
    assert "RL, short horizon" not in shown
    begin = shown.index("RL, long horizon")
    picture = shown[begin : shown.index("<h2", begin)]
    assert "mean of 8" in picture
    bars = dict(re.findall(r"<figcaption><b>(.*?)</b>: (.*?),", picture))
    assert list(bars) == ["An iteration", "The policy during rollouts", "The episodes of the rollouts", "The update"]
    assert bars["The policy during rollouts"] == "9.0 s"
    assert "<title>decode: 3.0 s, 33.3%</title>" in picture
