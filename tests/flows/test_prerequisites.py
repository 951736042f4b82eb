"""What no stage makes is asked for before the first stage runs, and not after hours of work."""

from __future__ import annotations

import sys
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.params import complete
from flows.crash_safe_dvc import StageFailed
from flows.graph import Stage
from flows.prerequisites import require

ROOT = Path(__file__).parents[2]


def stage(name: str, *params: str) -> Stage:
    return Stage(name, "", "true", (), (), params)


STAGES = {
    name: stage(name)
    for name in ("teacher_rollouts", "label_trajectories", "curate_sft", "distill_judge", "train_rl@short")
} | {"train_sft": stage("train_sft", "rl.carry_optimizer"), "evaluate@sft": stage("evaluate@sft")}


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """`recipe(**sections)` writes the demo's params.yaml with these keys changed, and returns its folder."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def write(**sections: Any) -> Path:
        values = yaml.safe_load(complete(ROOT / "recipes/demo.yaml"))
        for section, changes in sections.items():
            values[section] |= changes
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(values))
        base = tmp_path / "data/base_model"
        base.mkdir(parents=True, exist_ok=True)
        (base / "config.json").write_text("{}")
        return tmp_path

    return write


MODEL = {"endpoint": {"url": "https://api.openai.com/v1", "model": "gpt-4.1"}}


def test_a_stage_that_runs_here_is_asked_for_what_it_needs_here(recipe):
    """Others run on workers, which have keys of their own."""
    root = recipe(
        judge={"labels": "model", "model": MODEL},
        placement={"store": "/shared", "pools": {"train_*": "gpu"}},
        tracking={"tracking_uri": "http://server:5000"},
    )
    with pytest.raises(StageFailed, match=r"for label_trajectories: .*OPENAI_API_KEY"):
        require(root, STAGES, {"label_trajectories", "train_sft"})
    require(root, STAGES, {"train_sft"})


def test_a_value_out_of_range_is_named(recipe):
    with pytest.raises(StageFailed, match=r"rl\.lr = -1"):
        require(recipe(rl={"lr": -1}), STAGES, {*STAGES})


LOCAL = {"endpoint": {"url": "http://127.0.0.1:9/v1", "model": "m", "key_variable": None}}
PEOPLE = {"file": "data/people.csv"}
VOTER = {"url": "https://voters.example/v1", "model": "v", "key_variable": "VOTERS_KEY"}


def test_a_recipe_that_lacks_nothing_is_accepted(recipe):
    require(recipe(), STAGES, {*STAGES})


@pytest.mark.parametrize(
    ("sections", "due", "message"),
    [
        (
            {"judge": {"labels": "model", "model": MODEL}},
            {"label_trajectories", "evaluate@sft"},
            "for label_trajectories: .*OPENAI_API_KEY",
        ),
        (
            {"model": {"judge_base": "data/base_modle"}},
            {"distill_judge"},
            "no model at data/base_modle.*model.judge_base",
        ),
        ({"curate": {"demonstrations": ["data/mine.parquet"]}}, {"curate_sft"}, "no file data/mine.parquet"),
        (
            {"model": {"base": "data/base_modle"}},
            {"train_sft"},
            "for train_sft: no model at data/base_modle.*model.base",
        ),
        (
            {"judge": {"reward": "model", "model": LOCAL, "trust": {"min_agreement": 0.8, "labels": PEOPLE}}},
            {"train_rl@short"},
            "for train_rl: no file data/people.csv: correct judge.trust.labels",
        ),
        (
            {"judge": {"reward": "model", "model": LOCAL | {"voters": [VOTER, VOTER]}}},
            {"train_rl@short"},
            "for train_rl: .*VOTERS_KEY",
        ),
    ],
)
def test_what_a_due_stage_lacks_is_named(recipe, sections, due, message):
    root = recipe(**sections)
    with pytest.raises(StageFailed, match=message):
        require(root, STAGES, {*STAGES})
    with pytest.raises(StageFailed, match=message):
        require(root, STAGES, due)
    require(root, STAGES, {*STAGES} - due)


@pytest.mark.parametrize(
    ("engine", "stages"),
    [("transformers", "distill_judge, evaluate, train_rl, train_sft"), ("vllm", "distill_judge, train_rl, train_sft")],
)
def test_a_pytorch_without_cuda_is_named_before_a_gpu_is_needed(recipe, monkeypatch, tmp_path, engine, stages):
    python = environment(tmp_path / "env", "class EngineArgs:\n    model: str = 'm'\n")
    servers = {"vllm": {"python": str(python)}} if engine == "vllm" else {}
    root = recipe(model={"device": "cuda"}, inference={"engine": engine} | servers)
    monkeypatch.setattr("importlib.metadata.version", lambda package: "2.13.0+cpu")
    with pytest.raises(StageFailed, match=rf"for {stages}: model.device = cuda: .*requirements/gpu.txt"):
        require(root, STAGES, {*STAGES})
    require(root, STAGES, {"teacher_rollouts", "label_trajectories", "curate_sft"})
    monkeypatch.setattr("importlib.metadata.version", lambda package: "2.13.0")
    require(root, STAGES, {*STAGES})


def vllm_recipe(recipe, python: Path, **engine: object) -> Path:
    """The folder of the demo's recipe with vLLM servers of a Python."""
    return recipe(inference={"engine": "vllm", "vllm": {"python": str(python), "engine": engine}})


def environment(folder: Path, source: str) -> Path:
    """A virtual environment with a package `vllm` that has a source of engine arguments; returns its Python."""
    venv.create(folder, with_pip=False)
    (package,) = folder.glob("lib/python*/site-packages")
    arguments = package / "vllm/engine/arg_utils.py"
    arguments.parent.mkdir(parents=True)
    (package / "vllm/__init__.py").write_text("raise RuntimeError('imported')")
    arguments.write_text(source)
    return folder / "bin/python"


def test_an_environment_without_vllm_is_named_before_any_stage_runs(recipe, tmp_path):
    root = vllm_recipe(recipe, tmp_path / "nowhere/bin/python")
    with pytest.raises(StageFailed, match=r"for evaluate, train_rl: inference.vllm.python: .*nowhere.*does not exist"):
        require(root, STAGES, {*STAGES})
    with pytest.raises(StageFailed, match=r"has no vLLM: make an environment with vLLM"):
        require(vllm_recipe(recipe, Path(sys.executable)), STAGES, {"evaluate@sft"})
    require(root, STAGES, {"train_sft"})


def test_an_engine_argument_that_vllm_does_not_know_is_named(recipe, tmp_path):
    source = "class EngineArgs:\n    model: str = 'm'\n    gpu_memory_utilization: float = 0.9\n"
    python = environment(tmp_path / "env", source)
    require(vllm_recipe(recipe, python, gpu_memory_utilization=0.5), STAGES, {*STAGES})
    message = r"inference.vllm.engine: vLLM has no engine argument gpu_memory_utilisation: write gpu_memory_utilization"
    with pytest.raises(StageFailed, match=message):
        require(vllm_recipe(recipe, python, gpu_memory_utilisation=0.5), STAGES, {*STAGES})


def test_a_model_that_vllm_would_not_serve_is_named(recipe, tmp_path):
    source = "class EngineArgs:\n    model: str = 'm'\n"
    root = vllm_recipe(recipe, environment(tmp_path / "env", source))
    config = (ROOT / "data/base_model/config.json").read_text()
    (root / "data/base_model/config.json").write_text(config)
    require(root, STAGES, {*STAGES})
    (root / "data/base_model/config.json").write_text(config.replace("8192", "2048"))
    with pytest.raises(
        StageFailed, match=r"for evaluate, train_rl: agent.max_context_tokens = 4096: .*2,048 positions"
    ):
        require(root, STAGES, {*STAGES})
    require(root, STAGES, {"train_sft"})


def test_a_model_that_vllm_would_not_serve_on_other_machines_is_named(recipe):
    """The keys and environments of the workers are not those of this machine, but the recipe's model is the same."""
    root = recipe(
        placement={"store": "/shared", "pools": {"*": "gpu"}},
        tracking={"tracking_uri": "http://server:5000"},
        inference={"engine": "vllm", "vllm": {"python": "/nowhere/python"}},
    )
    config = (ROOT / "data/base_model/config.json").read_text()
    (root / "data/base_model/config.json").write_text(config)
    require(root, STAGES, {*STAGES})
    (root / "data/base_model/config.json").write_text(config.replace("8192", "2048"))
    with pytest.raises(StageFailed, match=r"for evaluate, train_rl: agent.max_context_tokens = 4096") as raised:
        require(root, STAGES, {*STAGES})
    assert "/nowhere/python" not in str(raised.value)


def test_a_key_that_dvc_needs_is_named_with_the_command_that_adds_it(recipe):
    root = recipe()
    values = yaml.safe_load((root / "params.yaml").read_text())
    del values["rl"]["carry_optimizer"]
    (root / "params.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(StageFailed, match=r"params.yaml lacks rl.carry_optimizer.*`waymark use params.yaml`"):
        require(root, STAGES, {"train_sft"})
    require(root, STAGES, {"curate_sft"})
