"""The doctor says whether a recipe can run on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from components.doctor import Check, recipe
from components.params import load
from components.plan.fit import recipe_with
from components.plan.hardware import Gpu, parse_gpus, visible_gpus

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ROOT / "recipes/smoke.yaml"


def test_gpus_are_read_from_what_nvidia_smi_prints() -> None:
    lines = ["GPU-5d0e, NVIDIA L4, 23034", "GPU-77ab, NVIDIA H100 80GB HBM3, 81559", "No devices were found"]
    assert parse_gpus(lines) == [
        Gpu("NVIDIA L4", 23_034 * 2**20, "GPU-5d0e"),
        Gpu("NVIDIA H100 80GB HBM3", 81_559 * 2**20, "GPU-77ab"),
    ]


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        (None, "abc"),
        ("", ""),
        ("-1", ""),
        ("2", "c"),
        ("2, 0", "ca"),
        ("GPU-b", "b"),
        ("0,GPU-c1", "ac"),
        ("0,3,1", "a"),  # CUDA ignores what follows an entry that is no GPU
        ("1,-1,2", "b"),
        ("GPU-", ""),  # not the beginning of a single one
        ("MIG-77", "a"),
    ],
)
def test_only_visible_gpus_count(visible: str | None, seen: str) -> None:
    gpus = [Gpu(name, 2**30, f"GPU-{name}1") for name in "abc"]
    assert "".join(gpu.name for gpu in visible_gpus(gpus, visible)) == seen


def test_the_doctor_counts_the_gpus_that_it_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'GPU-a1, NVIDIA L4, 23034'\necho 'GPU-b1, NVIDIA T4, 8000'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = a_recipe(tmp_path, "one-gpu")
    for visible, fits in (("0", True), ("GPU-a1", True), ("1", False), ("0,1", False)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        check, *_ = recipe.recipe_fits(path)
        assert check.ok == fits, visible
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    [check] = recipe.recipe_fits(path)
    assert "CUDA_VISIBLE_DEVICES= leaves none visible" in check.finding


def a_recipe(folder: Path, name: str, **changed: object) -> Path:
    values = load(ROOT / f"recipes/{name}.yaml").model_dump(mode="json")
    values["model"] |= changed
    path = folder / "params.yaml"
    path.write_text(json.dumps(values))
    return path


@pytest.mark.parametrize(("gib", "fits"), [(22, True), (8, False)])
def test_the_doctor_says_whether_a_recipe_fits_on_the_gpu(tmp_path: Path, gib: int, fits: bool) -> None:
    [check] = recipe.fits(a_recipe(tmp_path, "one-gpu"), [Gpu("L4", gib * 2**30)])
    assert check.ok == fits
    assert fits or "GiB on each device" in check.finding


def test_a_recipe_for_a_gpu_is_refused_without_one(tmp_path: Path) -> None:
    [check] = recipe.fits(a_recipe(tmp_path, "one-gpu"), [])
    assert not check.ok
    assert check.required
    assert "asks for a GPU" in check.finding


def test_a_model_that_vllm_would_not_serve_is_named(tmp_path: Path) -> None:
    values = load(ROOT / "recipes/one-gpu.yaml").model_dump(mode="json")
    values["inference"]["vllm"]["gpus_per_server"] = 3
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    [check, *_] = recipe.recipe_fits(tmp_path / "params.yaml")
    assert not check.ok
    assert check.required
    assert "set it to 1, 2, 4, 8 or 16" in check.finding


@pytest.mark.parametrize(
    ("store", "api", "finding"),
    [
        ("/shared", "http://server:4200/api", None),
        ("s3://bucket/x", "http://server:4200/api", None),
        ("s3://bucket/x", "", "PREFECT_API_URL is not set"),
        ("gs://bucket/x", "http://server:4200/api", "gs://: Please install gcsfs"),
        ("hdfs://host/x", "http://server:4200/api", "DVC has no package for hdfs://"),
    ],
)
def test_the_doctor_names_what_placement_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, api: str, finding: str | None
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", api)
    values = load(ROOT / "recipes/demo.yaml").model_dump(mode="json")
    assert recipe.placement(ROOT / "recipes/demo.yaml") == []
    assert recipe.machine_fits(ROOT / "recipes/demo.yaml", []) != []
    values["tracking"]["tracking_uri"] = "http://server:5000"
    values["placement"] |= {"store": store, "pools": {"train_*": "gpu"}}
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    assert recipe.machine_fits(tmp_path / "params.yaml", []) == [], "its stages run elsewhere"
    checks = recipe.placement(tmp_path / "params.yaml")
    assert all("use-several-machines.md" in check.fix for check in checks if check.name == "prefect server")
    missing = [check for check in checks if not check.ok]
    assert [check.finding.startswith(finding or "") for check in missing] == ([] if finding is None else [True])


def test_a_container_with_little_shared_memory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_gib(gib: float) -> list[Check]:
        usage = shutil.disk_usage(tmp_path)._replace(total=int(gib * 2**30))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        return recipe.shared_memory(ROOT / "recipes/openwebrl-4b.yaml", tmp_path)

    [check] = with_gib(0.0625)
    assert (check.ok, check.finding) == (False, f"0.06 GiB in {tmp_path}")
    assert "--ipc=host" in check.fix
    assert with_gib(8)[0].ok
    assert recipe.shared_memory(ROOT / "recipes/one-gpu.yaml", tmp_path) == [], "it has one process on one GPU"
    assert recipe.shared_memory(ROOT / "recipes/demo.yaml", tmp_path) == []


def test_the_doctor_says_why_a_recipe_cannot_be_planned(tmp_path: Path) -> None:
    path = a_recipe(tmp_path, "one-gpu", base="a/b", judge_base="a/b")
    [check] = recipe.fits(path, [Gpu("L4", 2**30)])
    assert (check.ok, check.required) == (False, False)
    assert check.finding.startswith("the plan needs the shape of a/b")
    assert recipe.machine_fits(path, [Gpu("L4", 2**30)]) == [], "once is enough"


def test_the_doctor_names_what_the_pipeline_would_ask_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEACHERS_KEY", raising=False)
    monkeypatch.setattr("importlib.metadata.version", lambda package: "2.13.0+cpu")
    endpoint = {"url": "https://teacher.example/v1", "model": "t", "key_variable": "TEACHERS_KEY"}
    changes: dict = {"model": {"device": "cuda"}, "curate": {"demonstrations": ["data/mine.parquet"]}}
    values = load(SMOKE).model_dump(mode="json")
    values |= {section: values[section] | keys for section, keys in changes.items()}
    values["teacher"] = {"policy": "endpoint", "endpoint": endpoint, "tasks": 2}
    path = tmp_path / "params.yaml"
    path.write_text(json.dumps(values))
    checks = recipe.stages_need(path, tmp_path)
    cuda, key, file = [check.finding for check in checks]
    assert cuda.startswith("for distill_judge, evaluate, judge_rollouts, train_rl, train_sft: model.device = cuda:")
    assert key.startswith("for teacher_rollouts:")
    assert "TEACHERS_KEY" in key
    assert file == "for curate_sft: no file data/mine.parquet: correct curate.demonstrations"
    assert all(check.required and not check.ok for check in checks)
    values["tracking"]["tracking_uri"] = "http://server:5000"
    values["placement"] |= {"store": "/shared", "pools": {"*": "gpu"}}
    path.write_text(json.dumps(values))
    assert recipe.stages_need(path, tmp_path) == [], "its stages run elsewhere"
    assert recipe.stages_need(SMOKE, tmp_path) == []


def test_the_base_of_the_distilled_judge_is_a_line_if_it_is_another(tmp_path: Path) -> None:
    judge = recipe.base_models(tmp_path, a_recipe(tmp_path, "smoke", judge_base="data/no_such_judge"))[1]
    assert (judge.name, judge.ok, judge.finding) == ("judge's base", False, "no data/no_such_judge")
    assert judge.fix == "train it, or correct model.judge_base"
    assert len(recipe.base_models(tmp_path, a_recipe(tmp_path, "smoke"))) == 1


@pytest.mark.parametrize(
    ("changed", "finding", "required"),
    [
        ({}, "smoke needs about", True),
        ({"rl.checkpoints.keep": 10**5, "rl.short.iterations": 10**5}, "the run writes at least", True),
        ({"judge.distill.screenshots": 10**8}, "estimated: the run may write", False),
    ],
)
def test_the_doctor_holds_a_recipe_to_memory_and_disk(
    tmp_path: Path, changed: dict[str, int], finding: str, required: bool
) -> None:
    (tmp_path / "params.yaml").write_text(json.dumps(recipe_with(SMOKE, changed).model_dump(mode="json")))
    checks = recipe.machine_fits(tmp_path / "params.yaml", [])
    [check] = [check for check in checks if check.finding.startswith(finding)]
    assert (check.ok, check.required) == (not changed, required)
    assert not changed or next(iter(changed)) in check.finding


def test_memory_that_is_certainly_too_small_is_named(tmp_path: Path) -> None:
    values = load(ROOT / "recipes/openwebrl-4b.yaml").model_dump(mode="json")
    values["training"]["processes"] = 4096
    values["inference"]["vllm"]["first_gpu"], values["judge"]["distill"]["vllm"]["first_gpu"] = 4096, 4099
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    first, *_ = recipe.machine_fits(tmp_path / "params.yaml", [Gpu("H100", 80 * 2**30)])
    assert not first.ok
    assert first.required
    assert "lower training.processes" in first.finding
    assert recipe.machine_fits(tmp_path / "params.yaml", []) == [], "a machine without a GPU is not the planned one"


def test_the_environment_of_the_servers_that_a_recipe_starts_is_required(tmp_path: Path) -> None:
    values = load(ROOT / "recipes/one-gpu.yaml").model_dump(mode="json")
    values["inference"]["vllm"]["python"] = "gpu/bin/python"
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    [check] = recipe.vllm(tmp_path / "params.yaml", tmp_path)
    assert (check.ok, check.required, check.finding) == (False, True, "no gpu/bin/python")
    (tmp_path / "gpu/bin").mkdir(parents=True)
    (tmp_path / "gpu/bin/python").touch()
    assert recipe.vllm(tmp_path / "params.yaml", tmp_path)[0].ok
    [unused] = recipe.vllm(ROOT / "recipes/demo.yaml", tmp_path)
    assert not unused.required
    values["inference"]["vllm"]["python"] = "elsewhere/bin/python"
    values["tracking"]["tracking_uri"] = "http://server:5000"
    values["placement"] |= {"store": "/shared", "pools": {"train_*": "gpu"}}
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    [placed] = recipe.vllm(tmp_path / "params.yaml", tmp_path)
    assert (placed.ok, placed.required, placed.finding) == (False, False, "no elsewhere/bin/python")


@pytest.mark.parametrize(
    ("base", "fix"),
    [("data/base_model", "git checkout data/base_model"), ("models/sft", "train it, or correct model.base")],
)
def test_the_fix_of_a_missing_base_model_is_one_that_works(base: str, fix: str, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "data/base_model").mkdir(parents=True)
    (tmp_path / "data/base_model/config.json").touch()
    subprocess.run(["git", "-C", tmp_path, "add", "data/base_model/config.json"], check=True)
    check, *_ = recipe.base_models(tmp_path, a_recipe(tmp_path, "smoke", base=base))
    assert (check.ok, check.fix) == (False, fix)
