"""A study on the smoke recipe with real stages: killed in the middle and continued; shared stages run once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.test_smoke import copy_project

STUDY = """
question: Does the upper clip matter on a handful of tasks?
recipe: smoke
base: plain
set:
  worlds: {miniwob: {train: [click-test-2, click-button], train_per_family: 6, eval_per_family: 3}}
  teacher: {tasks: 6, attempts: 1}
  curate: {max_trajectories: 4}
  sft: {epochs: 2}
  rl:
    short: {iterations: 1}
    long: {iterations: 0}
    group_size: 2
    effective_groups: 1
    max_sampled_groups: 4
    validation: {tasks: 2, heldout: 1}
arms:
  symmetric:
    set: {rl: {objective: {clip_high: 0.2}}}
    paper: {source: OpenWebRL, sign: lower, differs: everything}
seeds: [0, 1, 2]
shared: [train_sft]
"""
BEFORE_RL = set(
    "collect_tasks filter_tasks dedup_tasks teacher_rollouts label_trajectories curate_sft train_sft".split()
)
FOLDER = Path(".waymark/studies/tiny")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_killed_study_is_continued_and_compared(tmp_path):
    copy_project(tmp_path)
    (tmp_path / "recipes/studies/tiny.yaml").write_text(STUDY)
    log = tmp_path / "study.log"
    killed = subprocess.Popen(command("tiny"), cwd=tmp_path, stdout=log.open("w"), stderr=subprocess.STDOUT)
    wait_for(log, "plain-seed1: train_rl@short ...", killed)
    time.sleep(3)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()

    done = subprocess.run(command("tiny", "--json"), cwd=tmp_path, capture_output=True, text=True, timeout=2400)
    assert done.returncode == 0, f"{done.stderr[-3000:]}"
    assert Counter(ran(tmp_path)) == expected(), "finished stages did not run again, and shared ones ran once per seed"

    result = json.loads(done.stdout)
    assert result["complete"]
    assert [arm["finished"] for arm in result["arms"]] == [3, 3]
    assert result["arms"][1]["effect"]["tasks"] == 6
    assert all(run["validation"]["points"] and run["success"]["n"] == 6 for run in result["runs"])
    assert (tmp_path / "reports/studies/tiny.html").stat().st_size > 10_000

    again = subprocess.run(command("tiny", "--dry-run"), cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert again.stdout.count("up to date: collect_tasks") == 6
    assert "to run" not in again.stdout


def expected() -> Counter:
    """Each stage before RL once per seed, in the base's folder; the others once per run."""
    stages = [(f"plain-seed{seed}", stage) for seed in range(3) for stage in BEFORE_RL]
    after = ("train_rl@short", "train_rl@long", "evaluate@rl")
    return Counter(
        stages + [(f"{arm}-seed{n}", stage) for arm in ("plain", "symmetric") for n in range(3) for stage in after]
    )


def ran(project: Path) -> list[tuple[str, str]]:
    events = map(json.loads, (project / FOLDER / "events.jsonl").read_text().splitlines())
    return [(event["run"], event["stage"]) for event in events if event["outcome"] == "ran"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "components.cli.main", "study", *arguments]


def wait_for(log: Path, line: str, child: subprocess.Popen) -> None:
    deadline = time.time() + 1500
    while line not in log.read_text():
        assert child.poll() is None, log.read_text()[-3000:]
        assert time.time() < deadline
        time.sleep(0.2)
