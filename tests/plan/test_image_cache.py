"""The memory of the image caches: what an update puts in, and when it is more than a cache holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.cli.main import main
from components.plan import PlanOptions, plan
from components.plan.hardware import GIB
from components.plan.image_cache import ImageCache

SMALL = Path("recipes/demo.yaml")


def of_an_update(recipe: Path, **changed: object) -> ImageCache:
    settings = {f"model.image_cache.{key}": value for key, value in changed.items()}
    caches = plan(recipe, PlanOptions(settings)).image_caches
    return next(cache for cache in caches if cache.what == "an update")


def test_a_screenshot_of_a_2b_model_has_9_mib_of_features():
    cache = of_an_update(Path("one-gpu"))
    # 1024 x 576 pixels: 32 x 18 tokens of 2048 values, once and for 3 layers; 64 x 36 patches of 1536 values
    assert cache.feature_bytes == 4 * 32 * 18 * 2048 * 2 == 9 * 2**20
    assert cache.pixel_bytes == 64 * 36 * 1536 * 2 == 6.75 * 2**20


def test_an_update_has_the_pages_of_its_groups():
    # 0.4 of 36 sampled groups are effective; 5 attempts of 6 turns begin at one page
    assert of_an_update(Path("one-gpu")).images == round(0.4 * 36 * (1 + 5 * 5)) == 374


def test_the_recipe_for_one_gpu_holds_the_images_of_an_update():
    cache = of_an_update(Path("one-gpu"))
    assert not cache.is_full
    assert cache.bytes == 374 * 15.75 * 2**20


def test_the_default_cache_is_too_small_for_it(capsys):
    arguments = ["--set", "model.image_cache.memory_gib=0.5", "--set", "model.image_cache.disk_gib=0"]
    assert main(["plan", "one-gpu", *arguments]) == 0
    out = capsys.readouterr().out
    assert "these exceed the cache of 0.5 GiB" in out
    assert "set model.image_cache.memory_gib to 4" in out
    assert "1.0 GiB of the machine's own memory" in out


def test_features_on_disk_are_not_encoded_again():
    assert of_an_update(Path("one-gpu"), memory_gib=0.5, disk_gib=0).is_full
    assert not of_an_update(Path("one-gpu"), memory_gib=0.5, disk_gib=16).is_full


@pytest.mark.parametrize("recipe", ["one-gpu", "demo"])
def test_processes_that_share_no_features_are_noted_with_the_key(capsys, recipe):
    def notes(processes: int, disk_gib: float) -> list[str]:
        keys = [f"training.processes={processes}", f"model.image_cache.disk_gib={disk_gib}"]
        settings = [word for key in keys for word in ("--set", key)]
        main(["plan", recipe, "--uncalibrated", "--devices", "2", *settings])
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("  note: ")]

    assert notes(1, 0) == notes(2, 16) == []
    [note] = notes(2, 0)
    assert "with model.image_cache.disk_gib = 0 the 2 processes share no features" in note
    assert "prepared and encoded up to 2 times" in note


def test_the_note_says_how_much_disk_the_features_of_an_update_take(capsys):
    settings = ["--set", "training.processes=2", "--set", "model.image_cache.disk_gib=0"]
    main(["plan", "one-gpu", *settings, "--devices", "2"])
    assert "model.image_cache.disk_gib = 4\n" in capsys.readouterr().out  # 374 x 9 MiB


def test_a_trained_tower_has_no_features_to_share():
    trained = {"model.train_vision": True, "model.lora": None, "training.processes": 2}
    caches = plan(Path("one-gpu"), PlanOptions({**trained, "model.image_cache.disk_gib": 0})).image_caches
    assert {cache.encoders for cache in caches} == {1}


@pytest.mark.parametrize("stage", ["train_sft, update", "train_rl, update", "train_rl, rollouts"])
def test_a_cpu_has_the_caches_in_its_memory(stage):
    plans = [plan(SMALL, PlanOptions({"model.image_cache.memory_gib": gib})).memory for gib in (0, 1000)]
    little, much = (next(item for item in items if item.stage == stage) for items in plans)
    sizes = [sum(part.bytes for part in item.parts if part.name == "image caches") for item in (little, much)]
    assert sizes[0] == 0
    assert 0 < sizes[1] < GIB


def test_a_gpu_has_no_cache_in_its_memory():
    planned = plan(Path("one-gpu"))
    assert not [part for item in planned.memory for part in item.parts if part.name == "image caches"]


def test_a_policy_without_screenshots_fills_no_cache():
    caches = plan(Path("browseragent-8b"), PlanOptions(device="H200")).image_caches
    assert {cache.stage for cache in caches} == {"distill_judge"}
