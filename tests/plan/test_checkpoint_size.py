"""What checkpoints of RL write, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from components.cli.main import main
from components.plan.checkpoint_size import carries_optimiser, checkpoint_bytes, checkpoints
from components.plan.fit import recipe_with
from components.training.learner import Learner
from components.training.optim import optimizer_step
from tests.samples import recipe
from tests.vlm import random_vlm

LARGE = Path("recipes/openwebrl-4b.yaml")
TRAINED = 4_022_468_096


def numbers(**changes: int) -> int:
    params = recipe_with(LARGE, {key.replace("__", "."): value for key, value in changes.items()})
    return checkpoints(params, "short", params.rl.short, TRAINED).number


def test_checkpoints_are_written_when_due_and_at_the_end_of_a_phase():
    alone = {"rl__validation__every": 0}
    assert numbers(rl__short__iterations=10, rl__checkpoints__every=1, **alone) == 10
    assert numbers(rl__short__iterations=10, rl__checkpoints__every=4, **alone) == 3  # 4, 8, 10
    assert numbers(rl__short__iterations=0) == 0


def test_a_policy_that_is_validated_has_a_checkpoint():
    validated = {"rl__checkpoints__every": 4, "rl__validation__every": 3, "rl__validation__tasks": 8}
    assert numbers(rl__short__iterations=10, **validated) == 7  # 0, 3, 4, 6, 8, 9, 10


@pytest.mark.parametrize("objective", [{"name": "mm_grpo"}, {"name": "mm_grpo", "kl": 0.1, "anchor_decay": 0.5}])
def test_a_checkpoint_on_disk_has_the_planned_size(tmp_path, objective):
    params = recipe(rl__objective=objective)
    learner = Learner.begin(random_vlm(), params)
    for parameter in learner.vlm.trainable():
        parameter.grad = torch.ones_like(parameter)
    optimizer_step(learner.optimizer, learner.vlm, 1.0)
    learner.save(tmp_path / "checkpoint.pt", {"iteration": 1})
    trained = sum(parameter.numel() for parameter in learner.vlm.trainable())
    assert (tmp_path / "checkpoint.pt").stat().st_size == pytest.approx(checkpoint_bytes(params, trained), rel=0.05)


def test_a_round_of_rejection_fine_tuning_leaves_no_optimiser(tmp_path):
    """Each round has one of its own, so the learner's has no state."""
    params = recipe(rl__objective={"name": "rft"})
    learner = Learner.begin(random_vlm(), params)
    learner.save(tmp_path / "checkpoint.pt", {"iteration": 1})
    trained = sum(parameter.numel() for parameter in learner.vlm.trainable())
    assert (tmp_path / "checkpoint.pt").stat().st_size == pytest.approx(checkpoint_bytes(params, trained), rel=0.05)
    assert not carries_optimiser(params)


def test_a_run_of_4b_writes_less_than_a_terabyte():
    # 12 bytes of each parameter, at the start and after every tenth of 90 and 50 iterations
    params = recipe_with(LARGE, {})
    short = checkpoints(params, "short", params.rl.short, TRAINED)
    long = checkpoints(params, "long", params.rl.long, TRAINED)
    assert [(phase.number, phase.each) for phase in (short, long)] == [(10, 12 * TRAINED), (6, 12 * TRAINED)]
    assert 12 * TRAINED * 16 < 10**12


def test_the_command_prints_what_checkpoints_write(capsys):
    each = 12 * 1_820_736  # the parameters of the small model without its tower
    assert main(["plan", "demo", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["time"]["checkpoints"] == {
        "bytes": 22 * each,
        "phases": [
            {"phase": "short", "number": 13, "each": each, "bytes": 13 * each},
            {"phase": "long", "number": 9, "each": each, "bytes": 9 * each},
        ],
    }
    assert main(["plan", "demo"]) == 0
    line = "Checkpoints write 0.481 GB: short 0.284 GB (13 of 0.0218 GB), long 0.197 GB (9 of 0.0218 GB)"
    assert line in capsys.readouterr().out
