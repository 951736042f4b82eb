"""The machine's own memory and disk: by hand, against what runs recorded, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import torch

from components.cli.main import main
from components.memory import total_memory
from components.params import Params
from components.plan import PlanOptions, plan_host
from components.plan.disk import RUN, DiskNeed, DiskPlan
from components.plan.fit import recipe_with
from components.plan.hardware import GIB
from components.plan.host import HostPlan
from components.plan.need import Need
from components.training import training_state
from components.training.training_state import SupervisedCheckpoint
from tests.vlm import random_vlm

LARGE = Path("recipes/openwebrl-4b.yaml")
TRAINED, WHOLE = 4_022_468_096, 4_437_815_808
JUDGE = 8_767_123_696
ELSEWHERE = {
    "placement": {"store": "/s", "pools": {"train_*": "gpu"}},
    "tracking.tracking_uri": "http://server:5000",
}
NO_MACHINE = PlanOptions(is_here=False)


def large(settings: dict[str, object] | None = None, **options: object) -> HostPlan:
    return plan_host(recipe_with(LARGE, settings or {}), PlanOptions(**{"is_here": False, **options}))


def memory(plan: HostPlan, stage: str) -> dict[str, float]:
    [row] = [row for row in plan.memory if row.stage == stage]
    return {need.name: need.bytes for need in row.needs}


def disk(plan: HostPlan) -> dict[str, Need]:
    return {entry.need.name: entry.need for entry in plan.disk.entries}


def small(name: str) -> Params:
    return recipe_with(Path(f"recipes/{name}.yaml"), {})


def test_every_process_loads_the_whole_model():
    assert memory(large(), "distill_judge, start") == {
        "processes": 4 * 3 * GIB,
        "model while it is loaded": 4 * 4 * JUDGE,
    }
    adapters = large({"model.lora": {"rank": 32, "alpha": 64}})
    assert memory(adapters, "train_sft, start").keys() == {"processes"}  # bfloat16 is mapped from the file


def test_the_main_process_gathers_the_state_of_a_sharded_model():
    assert memory(large(), "train_sft")["gathered state"] == 12 * TRAINED
    # the published model and its rounded copy, with AdamW's moments for the next phase
    assert memory(large(), "train_rl")["gathered state"] == (4 + 2) * WHOLE + 8 * TRAINED
    alone = {"training.processes": 1, "training.shard": False}
    assert "gathered state" not in memory(large(alone), "train_rl")


def test_full_image_caches_are_in_every_process():
    assert memory(large(), "train_rl")["image caches"] == 4 * 2 * 16 * GIB
    assert memory(large({"model.image_cache.memory_gib": 1}), "train_rl")["image caches"] == 4 * 2 * GIB


def test_browsers_and_servers_have_memory_of_the_machine():
    needs = memory(large({"browser.concurrency": 40}), "train_rl")
    assert needs["browsers"] == 40 * 256 * 2**20
    assert needs["inference.vllm"] == 3 * 5 * GIB
    assert needs["judge.distill.vllm"] == 5 * GIB


def test_disk_has_the_checkpoints_of_sft_and_of_the_judge():
    planned = disk(large())
    assert planned["checkpoint of train_sft"].bytes == 2 * 12 * TRAINED
    assert planned["models/sft"].bytes == 3 * 2 * WHOLE
    assert planned["models/rl-short"].bytes == 3 * 2 * WHOLE + 2 * 8 * TRAINED
    assert disk(large({"model.lora": {"rank": 32, "alpha": 64}}))["checkpoint of train_sft"].bytes < 2e9


def test_kept_checkpoints_and_the_best_one_are_on_disk():
    assert disk(large())["checkpoints of train_rl@short"].bytes == 2 * 12 * TRAINED
    more = large({"rl.checkpoints.keep": 5})
    assert disk(more)["checkpoints of train_rl@short"].bytes == 6 * 12 * TRAINED
    assert disk(more)["checkpoints of train_rl@short"].keys == ("rl.checkpoints.keep",)


def test_temporary_files_count_in_their_stage_alone():
    def entry(stage: str, size: float, stays: bool) -> DiskNeed:
        return DiskNeed(stage, Need(stage, size, "", certain=size / 2), stays)

    entries = (
        entry("train_sft", 100.0, False),
        entry("train_sft", 30.0, True),
        entry("distill_judge", 60.0, False),
        entry("train_rl@long", 20.0, True),
    )
    stage, needs = DiskPlan(entries).at_peak()
    assert (stage, [need.bytes for need in needs]) == ("train_sft", [100.0, 30.0])
    assert DiskPlan(entries).certain().peak == 65.0
    assert DiskPlan(entries[1:]).peak == 90.0


@pytest.mark.parametrize(
    ("sizes", "refused", "warned"),
    [
        ({"host_memory": 100 * GIB}, "distill_judge, start needs at least 130.6 GiB", None),
        ({"host_memory": 200 * GIB}, None, "lower model.image_cache.memory_gib"),
        ({"host_memory": 1000 * GIB}, None, None),
        ({"disk": 100e9}, "the run writes at least", None),
        ({"disk": 1e12}, None, "lower teacher.tasks"),
        ({"disk": 10e12}, None, None),
    ],
)
def test_only_what_certainly_does_not_fit_is_refused(sizes, refused, warned):
    planned = large(**sizes)
    for sentences, expected in ((planned.reasons, refused), (planned.warnings, warned)):
        assert len(sentences) == (expected is not None)
        assert expected is None or expected in sentences[0]


def test_a_plan_for_other_machines_is_not_held_to_this_one():
    planned = plan_host(recipe_with(Path("recipes/demo.yaml"), ELSEWHERE))
    assert planned.host.memory is None
    assert planned.host.disks == ()
    assert plan_host(small("demo")).host.memory == total_memory()


def test_what_the_run_has_written_counts_as_free(tmp_path, monkeypatch):
    params = small("demo")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data/base_model", "data/base_model")
    [before] = [of for of in plan_host(params).host.disks if RUN in of.folders]
    Path("models").mkdir()
    Path("models/weights").write_bytes(bytes(12_345))
    Path("models/link").hardlink_to("models/weights")
    Path(".waymark/studies/mine").mkdir(parents=True)
    shutil.copy("models/weights", ".waymark/studies/mine")  # no run replaces those of a study
    Path("models/sparse").touch()
    os.truncate("models/sparse", 2**30)
    [after] = [of for of in plan_host(params).host.disks if RUN in of.folders]
    assert after.held - before.held == 512 * Path("models/weights").stat().st_blocks >= 12_345
    assert after.available == after.free + after.held


def test_the_command_says_what_the_machine_lacks(capsys):
    assert main(["plan", "smoke", "--disk", "10MB", "--uncalibrated"]) == 3
    out = capsys.readouterr().out
    assert "smoke does not fit:\n  - the run writes at least 0.2 GB to its disk, where 0.0 GB are free" in out
    assert "It would fit with" not in out
    assert main(["plan", "smoke", "--disk", "250MB", "--uncalibrated"]) == 0
    assert "Warnings: what follows is estimated" in capsys.readouterr().out


def test_the_values_of_the_command_have_memory_and_disk(capsys):
    arguments = ["--host-memory", "64GiB", "--set", "rl.checkpoints.keep=3", "--uncalibrated"]
    assert main(["plan", "smoke", *arguments, "--format", "json"]) == 0
    host = json.loads(capsys.readouterr().out)["host"]
    assert host["has_memory"] == 64 * GIB
    assert {row["stage"] for row in host["memory"]} >= {"train_sft", "train_rl", "evaluate"}
    [kept] = [entry for entry in host["disk"]["entries"] if entry["name"] == "checkpoints of train_rl@short"]
    assert kept["bytes"] == 3 * 12 * 1_820_736  # three iterations and no fourth
    assert host["disk"]["peak"] >= host["disk"]["certain"] > 0


def test_a_checkpoint_of_sft_on_disk_has_the_planned_size(tmp_path, monkeypatch):
    monkeypatch.setattr(training_state, "LEAST_INTERVAL_S", 0.0)
    vlm = random_vlm()
    vlm.freeze_vision()
    optimizer = torch.optim.AdamW(vlm.trainable())
    for parameter in vlm.trainable():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    SupervisedCheckpoint(tmp_path / "training.pt").save_if_due(vlm, optimizer, 1, [])
    trained = sum(parameter.numel() for parameter in vlm.trainable())
    assert (tmp_path / "training.pt").stat().st_size == pytest.approx(12 * trained, rel=0.05)


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ("episodes of teacher_rollouts", 388_884 + 2 * 217_668),
        ("episodes of judge_rollouts", 297_533 + 2 * 151_725),
        ("episodes of evaluate@sft", 262_891 + 2 * 190_032),
        ("models/sft", 3 * 12_126_662),
        ("models/rl-short", 2 * 26_735_243 + 12_126_662),
    ],
)
def test_planned_files_are_at_most_half_larger_than_a_run_wrote(entry, written):
    """Journals, tables and models of `smoke` with seed 0; DVC's copy is counted as one more of each file."""
    assert written * 0.95 < disk(plan_host(small("smoke"), NO_MACHINE))[entry].bytes < 1.5 * written


def test_what_is_certain_is_what_a_run_wrote():
    """`smoke` with seed 0, run without DVC: bytes of .waymark/state, mlflow and models."""
    entries = plan_host(small("smoke"), NO_MACHINE).disk.entries
    staying = sum(entry.need.certain for entry in entries if entry.is_kept)
    assert staying == pytest.approx(89_322_708 + 51_104_515 + 63_154_397, rel=0.05)


@pytest.mark.parametrize(
    ("recipe", "stage", "gib", "most"),
    [
        ("demo", "train_rl", 2.9, 1.75),
        ("demo", "train_sft", 1.6, 1.75),
        ("demo", "distill_judge", 1.8, 1.75),
        ("demo-judge", "train_rl", 3.7, 1.75),
        ("smoke", "teacher_rollouts", 0.62, 2.25),
        ("smoke", "judge_rollouts", 0.96, 2.25),
        ("smoke", "evaluate", 0.95, 2.25),
        ("smoke", "train_rl", 1.38, 2.25),
    ],
)
def test_planned_memory_is_that_of_a_run_within_a_factor(recipe, stage, gib, most):
    """Peaks on two cores. Those of `demo` are in docs/how-to/plan-a-run.md. Those of `smoke` are proportional sizes
    beside other processes with the same libraries, which are less than the sizes of a run alone."""
    [row] = [row for row in plan_host(small(recipe), NO_MACHINE).memory if row.stage == stage]
    assert gib <= row.bytes / GIB <= most * gib
