"""Stages on several processes: what is refused before anything is launched, and what is launched."""

from __future__ import annotations

import pytest
import torch
import yaml

from components.params import deciding, parse
from components.pipeline.launch import LAUNCHED, TooFewGPUs, launcher, process_group
from tests.samples import raw_recipe


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(LAUNCHED, raising=False)

    def write(**changes: object) -> None:
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw_recipe(**changes)))

    return write


def test_one_process_needs_no_process_group(recipe):
    recipe()
    with process_group("some.module") as alone:
        assert (alone.size, alone.is_main) == (1, True)


def test_more_processes_than_gpus_are_refused(recipe, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    recipe(model__device="cuda", training__processes=2)
    with pytest.raises(TooFewGPUs, match=r"lower training\.processes"), process_group("some.module"):
        pass


@pytest.mark.parametrize("processes", [1, 4])
@pytest.mark.parametrize(
    ("version", "fix"),
    [("2.13.0+cpu", r"build without CUDA \(2\.13\.0\+cpu\): .*gpu\.txt"), ("2.13.0", "set model.device to cpu")],
)
def test_a_recipe_for_a_gpu_is_refused_where_pytorch_finds_none(recipe, monkeypatch, processes, version, fix):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr("importlib.metadata.version", lambda package: version)
    recipe(model__device="cuda", training__processes=processes)
    with pytest.raises(TooFewGPUs, match=rf"^model\.device = cuda, but .*{fix}"), process_group("some.module"):
        pass


def test_the_launcher_starts_a_module_with_its_arguments():
    command = launcher(3, "some.module", "short")
    assert command[command.index("--num_processes") + 1] == "3"
    assert command[-3:] == ["--module", "some.module", "short"]


def test_the_machine_setup_does_not_change_the_key_of_a_stage():
    def decides(**changes: object) -> dict:
        return deciding(parse(raw_recipe(**changes)))

    def served(**vllm: object) -> dict:
        return {"engine": "vllm", "vllm": vllm}

    plain = decides(inference=served())
    assert decides(training__processes=8, rollout__executor="ray", inference=served(servers=4)) == plain
    assert decides() != plain
    assert decides(inference=served(engine={"quantization": "fp8"})) != plain
