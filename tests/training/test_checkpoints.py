"""Checkpoints on disk: which stay, and going back to one, by the function and by the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

from components.cli.main import main
from components.params import load
from components.pipeline import stage_run
from components.records import Task
from components.stages.train_rl import inputs_of
from components.store import write_table
from components.training.checkpoints import Checkpoints, NoCheckpoint
from components.training.learner import Learner
from components.training.selection import Rollback
from tests.samples import a_task, raw_recipe, recipe
from tests.vlm import random_vlm


def write(checkpoints: Checkpoints, iteration: int) -> None:
    """A checkpoint whose weights and optimiser are its iteration."""
    state = {
        "iteration": iteration,
        "sampler": {"draws": 10 * iteration},
        "figures": [{"iteration": float(number)} for number in range(1, iteration + 1)],
        "tallies": {"forum": {"groups": iteration}},
        "rollbacks": [],
        "ended": "no trajectory succeeds",
    }
    weights = {"w": torch.tensor([float(iteration)])}
    saved = {"model": weights, "behind": [weights], "optimizer": {"step": iteration}, "sharded": False, "state": state}
    checkpoints.write(iteration, lambda path: torch.save(saved, path))


def test_the_newest_and_the_protected_checkpoints_stay(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.newest is None
    for iteration in (0, 2, 4, 6):
        write(checkpoints, iteration)
    checkpoints.prune(2, protected=[0])
    assert checkpoints.iterations == [0, 4, 6]
    assert checkpoints.newest == checkpoints.path(6)
    table = checkpoints.table()
    assert [(row["iteration"], row["kept"]) for row in table] == [(0, 1), (2, 0), (4, 1), (6, 1)]
    assert all(row["megabytes"] > 0 for row in table)


def test_going_back_keeps_the_iterations_and_takes_weights_and_optimiser(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    for iteration in (2, 4, 6):
        write(checkpoints, iteration)
    assert checkpoints.roll_back(4, by_hand=True) == 6
    saved = torch.load(checkpoints.path(6), weights_only=True)
    assert (saved["model"]["w"].item(), saved["optimizer"], saved["behind"]) == (4.0, {"step": 4}, [])
    loop = saved["state"]
    assert (loop["iteration"], loop["sampler"], len(loop["figures"])) == (6, {"draws": 60}, 6)
    assert loop["tallies"] == {}, "figures of the policy that is left"
    assert loop["figures"][-1]["rolled_back_to"] == 4
    assert [Rollback(**rollback) for rollback in loop["rollbacks"]] == [Rollback(6, 4, by_hand=True)]


def test_going_back_maps_both_checkpoints_and_does_not_read_them(tmp_path, monkeypatch):
    """While the new one is written, the tensors of both old ones are pages of their files."""
    checkpoints, save, mapped = Checkpoints(tmp_path), torch.save, []
    for iteration in (2, 4):
        write(checkpoints, iteration)

    def observed(*args) -> None:
        maps = Path("/proc/self/maps").read_text()
        mapped.extend(iteration for iteration in (2, 4) if str(checkpoints.path(iteration)) in maps)
        save(*args)

    monkeypatch.setattr(torch, "save", observed)
    checkpoints.roll_back(2, by_hand=True)
    assert 2 in mapped


@pytest.mark.parametrize(("by_hand", "ended"), [(True, None), (False, "no trajectory succeeds")])
def test_a_phase_that_ended_early_goes_on_after_a_rollback_by_hand_only(tmp_path, by_hand, ended):
    checkpoints = Checkpoints(tmp_path)
    for iteration in (2, 4):
        write(checkpoints, iteration)
    checkpoints.roll_back(2, by_hand)
    assert torch.load(checkpoints.path(4), weights_only=True)["state"]["ended"] == ended


@pytest.mark.parametrize("to", [3, 6, 7])
def test_going_back_to_what_is_not_there_names_what_is(tmp_path, to):
    checkpoints = Checkpoints(tmp_path)
    for iteration in (2, 4, 6):
        write(checkpoints, iteration)
    with pytest.raises(NoCheckpoint, match=f"no earlier checkpoint of iteration {to}; there are those of: 2, 4"):
        checkpoints.roll_back(to, by_hand=True)


def project(root: Path) -> Path:
    """A project in which the short phase was run; returns the phase's state directory."""
    (root / "params.yaml").write_text(yaml.safe_dump(raw_recipe()))
    params = load(root / "params.yaml")
    for path in inputs_of(params, "short"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            write_table(root / path, Task, [a_task()])
        else:
            (root / path).write_text("x")
    key = stage_run._key("train_rl@short", "", params, inputs_of(params, "short"))
    state = root / ".waymark/state/train_rl@short" / key
    state.mkdir(parents=True)
    return state


def test_the_command_takes_a_stopped_phase_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    checkpoints = Checkpoints(project(tmp_path))
    for iteration in (2, 4):
        write(checkpoints, iteration)
    assert main(["rl", "rollback", "2"]) == 0
    assert torch.load(checkpoints.path(4), weights_only=True)["model"]["w"].item() == 2.0
    assert "dvc repro --force --single-item train_rl@short" in capsys.readouterr().out
    assert main(["rl", "rollback", "3"]) == 1
    assert "there are those of: 2" in capsys.readouterr().err


def test_a_phase_whose_newest_is_its_best_is_told_what_keeps_more(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    checkpoints = Checkpoints(project(tmp_path))
    for iteration in (2, 4):
        write(checkpoints, iteration)
    checkpoints.prune(load().rl.checkpoints.keep, protected=[4])
    assert main(["rl", "rollback", "2"]) == 1
    refused = capsys.readouterr().err
    assert "there are those of: none" in refused
    assert "Raise rl.checkpoints.keep to keep more from now on; the phase goes on with the new value" in refused
    recipe = yaml.safe_load(Path("params.yaml").read_text())
    recipe["rl"]["checkpoints"] = {"keep": 5}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    assert main(["rl", "rollback", "2"]) == 1
    assert "there are those of: none" in capsys.readouterr().err, "the state is found with another keep"
    recipe["rl"]["checkpoints"] = {"best": False}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    assert main(["rl", "rollback", "2"]) == 1
    assert "train_rl@short has no state for params.yaml" in capsys.readouterr().err


def test_a_finished_phase_that_was_taken_back_goes_on_with_other_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = project(tmp_path)
    for iteration in (2, 4):
        write(Checkpoints(state), iteration)
    (state / "finished").write_text("earlier code")
    assert main(["rl", "rollback", "2"]) == 0
    with stage_run.stage("train_rl@short", inputs_of(load(), "short")) as run:
        newest = Checkpoints(run.state).newest
        assert newest is not None
        assert torch.load(newest, weights_only=True)["model"]["w"].item() == 2.0


def test_the_command_leaves_a_running_phase_and_one_that_never_ran_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    state = project(tmp_path)
    params = load()
    with stage_run.stopped_stage("train_rl@short", params, inputs_of(params, "short")) as locked:
        assert locked.resolve() == state
        assert main(["rl", "rollback", "2"]) == 1
    assert "already running" in capsys.readouterr().err
    assert main(["rl", "rollback", "2", "--phase", "long"]) == 1
    assert "models/rl-short" in capsys.readouterr().err, "what the long phase begins with is missing"


def trained(learner: Learner, steps: int) -> Learner:
    for step in range(steps):
        numbers = torch.Generator().manual_seed(step)
        for parameter in learner.vlm.trainable():
            parameter.grad = torch.randn(parameter.shape, generator=numbers)
        learner.optimizer.step()
    return learner


def test_a_later_phase_goes_on_with_the_optimiser_and_its_own_rate():
    first = trained(Learner.begin(random_vlm(), recipe()), 3)
    state = first.optimizer_state()
    assert state is not None
    later = Learner.begin(random_vlm(), recipe(rl__lr=5e-6))
    later.vlm.model.load_state_dict(first.vlm.model.state_dict())
    later.take_over(state)
    assert later.optimizer.param_groups[0]["lr"] == 5e-6
    for mine, theirs in zip(later.vlm.trainable(), first.vlm.trainable(), strict=True):
        assert torch.equal(mine, theirs), "the weights stay"
        for name in ("exp_avg", "exp_avg_sq", "step"):
            assert torch.equal(later.optimizer.state[mine][name], first.optimizer.state[theirs][name])


def test_an_optimiser_without_steps_or_by_the_recipe_is_not_carried():
    assert Learner.begin(random_vlm(), recipe()).optimizer_state() is None
    assert trained(Learner.begin(random_vlm(), recipe(rl__carry_optimizer=False)), 1).optimizer_state() is None


def test_the_rate_grows_linearly_and_a_resumed_run_goes_on_with_it(tmp_path):
    params = recipe(rl__lr=8e-5, rl__warmup_steps=4)

    def rates(learner: Learner, steps: int) -> list[float]:
        return [trained(learner, 1).optimizer.param_groups[0]["lr"] for _ in range(steps)]

    learner = Learner.begin(random_vlm(), params)
    assert rates(learner, 2) == pytest.approx([2e-5, 4e-5])
    learner.save(tmp_path / "checkpoint.pt", {})
    resumed = Learner.begin(random_vlm(), params)
    resumed.load(tmp_path / "checkpoint.pt")
    assert rates(resumed, 4) == pytest.approx([6e-5, 8e-5, 8e-5, 8e-5])
    assert rates(learner, 4) == pytest.approx([6e-5, 8e-5, 8e-5, 8e-5])


@pytest.mark.slow
def test_a_sharded_phase_goes_back_to_its_beginning_without_moments(tmp_path):
    command = [sys.executable, "-m", "tests.training.sharded_child", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout.splitlines()[-1] == "moments before and after: True 0"
