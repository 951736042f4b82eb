"""The stage that distils the judge, for real: on several processes it makes the judge that one makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import pytest
import torch
import yaml
from safetensors.torch import load_file

from components.judge.distilled import render
from components.judge.rules import rationale, rules_verdict
from components.params import load, parse
from components.records import Outcome, Task, Termination, Trajectory, Verdict
from components.stages import distill_judge
from components.store import read_json, write_table
from components.training import supervised, training_state
from components.training.workers import SINGLE_PROCESS
from tests.judge.webarena_episodes import episode, ours
from tests.samples import a_task, a_trajectory, a_verdict, raw_recipe, shipped

ROOT = Path(__file__).parent.parent.parent


def distilled(where: Path, processes: int, shard: bool) -> tuple[dict, dict[str, torch.Tensor]]:
    """What the stage says, and the judge's weights."""
    where.mkdir()
    (where / "data").mkdir()
    (where / "data/base_model").symlink_to(ROOT / "data/base_model")
    recipe = shipped("smoke")
    recipe["judge"]["distill"]["other_answers"] = 0.5
    recipe["judge"]["distill"]["optim"] |= {"epochs": 2, "batch_size": 4, "micro_batch_tokens": 600}
    recipe["training"] = {"processes": processes, "shard": shard}
    recipe["inference"]["engine"] = "vllm" if shard else "transformers"
    (where / "params.yaml").write_text(yaml.safe_dump(recipe))
    for pool, seed in (("eval", 1000), ("heldout", 1001)):
        write_table(where / f"data/pools/{pool}.parquet", Task, [a_task(seed)])
    for folder, first in (("judge", 0), ("teacher", 100)):
        rolled = [a_trajectory(a_task(first + i), turns=1 + i % 2, answer=f"It is {i * i}.") for i in range(8)]
        told = [
            (Outcome.SUCCESS, f"{i} is right.") if i % 3 else (Outcome.FAILURE, f"{i} is no button.") for i in range(8)
        ]
        verdicts = [a_verdict(t, said, rationale=why) for t, (said, why) in zip(rolled, told, strict=True)]
        write_table(where / f"data/{folder}/trajectories.parquet", Trajectory, rolled)
        write_table(where / f"data/{folder}/verdicts.parquet", Verdict, verdicts)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "components.stages.distill_judge"]
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    result = json.loads((where / "reports/stages/distill_judge.json").read_text())
    assert json.loads((where / "models/judge/distilled/agreement.json").read_text())["accuracy"] == result["accuracy"]
    return result, load_file(where / "models/judge/distilled/model.safetensors")


def write_attempts(*tasks: int) -> None:
    """The tables of the policy's attempts, one at each task, and of the teacher's, one at another."""
    for folder, numbers in (("judge", tasks), ("teacher", (100,))):
        attempts = [a_trajectory(a_task(number)) for number in numbers]
        write_table(f"data/{folder}/trajectories.parquet", Trajectory, attempts)
        write_table(f"data/{folder}/verdicts.parquet", Verdict, [a_verdict(attempt) for attempt in attempts])


def test_a_label_of_webarenas_rules_teaches_no_reference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_attempts(0, 1)
    attempt = episode(ours(4), "It costs $12.", turns=a_trajectory().turns)
    write_table("data/teacher/trajectories.parquet", Trajectory, [attempt])
    write_table("data/teacher/verdicts.parquet", Verdict, [rules_verdict(attempt)])
    split = distill_judge.Split.read(parse(raw_recipe()))
    assert split.verdicts[attempt.trajectory_id].rationale == rationale(attempt)


def test_of_few_tasks_one_measures_the_judge(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = parse(raw_recipe(judge__distill__holdout_share=0.04))
    write_attempts(*range(12))
    split = distill_judge.Split.read(params)
    assert (len(split.tested), len(split.training)) == (1, 12)
    write_attempts(0)
    with pytest.raises(ValueError, match=r"at 1 tasks have .* raise judge\.distill\.rollout_tasks or"):
        distill_judge.Split.read(params)


class TableAccepted(Exception):
    """The stage has checked its table, and loads a model."""


def test_attempts_without_a_response_are_failures_to_learn_from(tmp_path, monkeypatch, mlflow_database):
    """The first page did not fit the context, or the endpoint cut an empty response."""
    monkeypatch.chdir(tmp_path)
    recipe = shipped("smoke")
    recipe["model"]["judge_base"] = str(ROOT / "data/base_model")
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    write_attempts(*range(4))
    unbegun = a_trajectory(a_task(101), turns=0, termination=Termination.CONTEXT_LENGTH, answer=None)
    empty = a_trajectory(a_task(102), turns=1, termination=Termination.RESPONSE_LENGTH, answer=None)
    empty = empty.model_copy(update={"turns": [empty.turns[0].model_copy(update={"response": "", "tool_calls": []})]})
    attempts = [a_trajectory(a_task(100)), unbegun, empty]
    write_table("data/teacher/trajectories.parquet", Trajectory, attempts)
    verdicts = [a_verdict(attempts[0]), a_verdict(unbegun, Outcome.FAILURE), a_verdict(empty, Outcome.FAILURE)]
    write_table("data/teacher/verdicts.parquet", Verdict, verdicts)
    for pool, seed in (("eval", 1000), ("heldout", 1001)):
        write_table(f"data/pools/{pool}.parquet", Task, [a_task(seed)])
    monkeypatch.setattr(distill_judge.VLM, "load", Mock(side_effect=TableAccepted))
    with pytest.raises(TableAccepted):
        distill_judge.run_stage(SINGLE_PROCESS)
    learned = [trajectory.trajectory_id for trajectory in distill_judge.Split.read(load()).training]
    assert {unbegun.trajectory_id, empty.trajectory_id} <= {*learned}
    assert render(unbegun, load()).images == []


@pytest.mark.slow
def test_a_stage_that_is_killed_in_its_training_goes_on_from_there(tmp_path, monkeypatch, mlflow_database):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training_state, "LEAST_INTERVAL_S", 0.0)
    monkeypatch.setattr(training_state, "WRITING_SHARE", 1e9)
    recipe = shipped("smoke")
    recipe["model"]["judge_base"] = str(ROOT / "data/base_model")
    recipe["judge"]["distill"]["optim"] |= {"epochs": 3, "batch_size": 2}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    write_attempts(*range(4))
    for pool, seed in (("eval", 1000), ("heldout", 1001)):
        write_table(f"data/pools/{pool}.parquet", Task, [a_task(seed)])
    side_effect = [*[DEFAULT] * 4, KeyboardInterrupt, *[DEFAULT] * 6]
    gradients = Mock(wraps=supervised.accumulate_gradients, side_effect=side_effect)
    monkeypatch.setattr(supervised, "accumulate_gradients", gradients)
    with pytest.raises(KeyboardInterrupt):
        distill_judge.run_stage(SINGLE_PROCESS)
    (checkpoint,) = Path(".waymark/state/distill_judge").glob("*/training.pt")
    distill_judge.run_stage(SINGLE_PROCESS)
    assert gradients.call_count == 7, "four steps, one that was cut short, and the last two"
    assert len(read_json(Path("reports/stages/distill_judge.json"))["losses"]) == 6
    assert not checkpoint.exists()


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> tuple[dict, dict[str, torch.Tensor]]:
    return distilled(tmp_path_factory.mktemp("judge") / "alone", 1, False)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("shard", [False, True])
def test_two_processes_make_the_judge_that_one_makes(alone, tmp_path, shard):
    result, weights = distilled(tmp_path / "two", 2, shard)
    expected, of_one = alone
    before = load_file(ROOT / "data/base_model/model.safetensors")
    assert weights.keys() == of_one.keys()
    moved = sum((of_one[name] - before[name]).square().sum() for name in before).sqrt()
    apart = sum((of_one[name] - weights[name]).square().sum() for name in before).sqrt()
    assert moved > 1
    assert apart < 1e-2 * moved  # Adam makes much of rounding where a gradient is next to nothing
    found, wanted = ([step["loss"] for step in said["losses"]] for said in (result, expected))
    assert found == pytest.approx(wanted, rel=1e-3)
    assert (result["trained_on"], result["n"]) == (expected["trained_on"], expected["n"])
