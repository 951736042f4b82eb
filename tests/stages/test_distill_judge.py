"""The stage that distils the judge, for real: on several processes it makes the judge that one makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from components.records import Outcome, Task, Trajectory, Verdict
from components.store import write_table
from tests.samples import a_task, a_trajectory, a_verdict, shipped

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
