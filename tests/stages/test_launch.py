"""Stages on several processes: what is refused before anything is launched, and what is launched."""

from __future__ import annotations

import pytest
import torch
import yaml

from components.params import parse
from components.stages._launch import LAUNCHED, TooFewGPUs, launcher, team
from components.stages._run import _deciding
from tests.samples import raw_recipe


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(LAUNCHED, raising=False)

    def write(**changes: object) -> None:
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw_recipe(**changes)))

    return write


def test_one_process_is_a_team_of_its_own(recipe):
    recipe()
    with team("some.module") as alone:
        assert (alone.size, alone.leads) == (1, True)


def test_more_processes_than_gpus_are_refused(recipe):
    recipe(model__device="cuda", training__processes=torch.cuda.device_count() + 2)
    with pytest.raises(TooFewGPUs, match="lower it"), team("some.module"):
        pass


def test_the_launcher_starts_a_module_with_its_arguments():
    command = launcher(3, "some.module", "short")
    assert command[command.index("--num_processes") + 1] == "3"
    assert command[-3:] == ["--module", "some.module", "short"]


def test_where_a_stage_runs_is_no_part_of_its_name():
    def deciding(**changes: object) -> str:
        return _deciding(parse(raw_recipe(**changes))).model_dump_json()

    plain = deciding()
    assert deciding(training__processes=8, rollout__executor="ray", inference__vllm__servers=4) == plain
    assert deciding(inference__engine="vllm") != plain
    assert deciding(inference__vllm__engine={"quantization": "fp8"}) != plain
