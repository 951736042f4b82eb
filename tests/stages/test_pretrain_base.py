"""The stage that makes the small base, as its own command runs it: real Chromium, real training, a few pages."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from PIL import Image as PILImage

from components.model import VLM
from components.model.vision import Vision
from components.params import ImageCacheParams, PretrainParams, load
from components.records import Image
from components.stages import pretrain_base

ROOT = Path(__file__).parents[2]
PHASE = {"steps": 2, "decay_steps": 2, "warmup_steps": 1, "points": False, "varied": False}
SMALL = {
    "pages": 12,
    "held_out": 5,
    "phases": [PHASE, PHASE | {"points": True}, PHASE | {"points": True, "varied": True}],
    "hidden": 48,
    "layers": 2,
    "vision_hidden": 32,
    "vision_depth": 2,
    "vocabulary": 1600,
    "batch": 2,
    "questions": 2,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which the stage's command has run."""
    project = tmp_path_factory.mktemp("project")
    recipe = yaml.safe_load((ROOT / "recipes" / "demo.yaml").read_text())
    recipe["pretrain"] = SMALL
    (project / "params.yaml").write_text(yaml.safe_dump(recipe))
    run_stage(project)
    return project


def run_stage(project: Path) -> None:
    """Run the stage's command in a project."""
    subprocess.run(
        [sys.executable, "-m", "components.stages.pretrain_base"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        timeout=280,
    )


def test_the_stage_writes_a_base_of_the_size_that_the_parameters_name(project: Path) -> None:
    vlm = VLM.load(project / "data/base_model", load(project / "params.yaml").model)
    assert vlm.model.config.text_config.hidden_size == 48
    assert vlm.model.config.vision_config.depth == 2
    assert len(vlm.tokenizer) <= 1600


def test_the_stage_trains_all_phases_and_measures_each_on_held_out_pages(project: Path) -> None:
    curve = json.loads((project / "data/base_model/pretraining.json").read_text())["curve"]
    assert [figures["step"] for figures in curve] == [2, 4, 6]
    assert all(0 <= figures["accuracy_list"] <= 1 for figures in curve)
    result = json.loads((project / "reports/stages/pretrain_base.json").read_text())
    assert result["step"] == 6


@pytest.mark.slow
def test_a_killed_stage_goes_on_and_makes_the_same_base(project: Path, tmp_path: Path) -> None:
    shutil.copy(project / "params.yaml", tmp_path)
    command = [sys.executable, "-m", "components.stages.pretrain_base"]
    began = time.monotonic()
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}) as killed:
        while not list(tmp_path.glob(".waymark/state/pretrain_base/*/checkpoint.pt")):
            assert killed.poll() is None, "it ended before it could be killed"
            assert time.monotonic() - began < 200, "no checkpoint was written"
            time.sleep(0.02)
        killed.send_signal(signal.SIGKILL)
    assert not (tmp_path / "data/base_model").exists()
    run_stage(tmp_path)
    for name in ("model.safetensors", "tokenizer.json"):
        again, undisturbed = (where / "data/base_model" / name for where in (tmp_path, project))
        assert again.read_bytes() == undisturbed.read_bytes(), name


class _Interrupted(Exception):
    """Ends a run of the stage before its end."""


class _TrainingThatIsInterrupted:
    """Stands in for the training. It writes a checkpoint, and notes whether there was one."""

    def __init__(self) -> None:
        self.continued: list[bool] = []
        self.ends = False

    def __call__(self, pages_of: object, params: object, report: object, checkpoint: Path) -> tuple[object, list[dict]]:
        self.continued.append(checkpoint.exists())
        checkpoint.touch()
        if not self.ends:
            raise _Interrupted
        return SimpleNamespace(publish=lambda out: out.mkdir()), [{"step": 1}]


def test_only_interrupted_training_from_the_same_base_goes_on(
    tmp_path: Path, mlflow_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = _TrainingThatIsInterrupted()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pretrain_base, "pretrain", training)
    monkeypatch.setattr(pretrain_base, "render_pages_in_processes", lambda *_: [])
    recipe = yaml.safe_load((ROOT / "recipes" / "demo.yaml").read_text())
    recipe["pretrain"] = SMALL | {"start": "first", "out": "out"}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    Path("first").mkdir()
    for weights in ("first", "first", "other", "other"):
        Path("first/model.safetensors").write_text(weights)
        with pytest.raises(_Interrupted):
            pretrain_base.main()
    assert training.continued == [False, True, False, True]
    training.ends = True
    pretrain_base.main()
    Path("out/pretraining.json").unlink()
    Path("out").rmdir()
    pretrain_base.main()
    assert training.continued[4:] == [True, False]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_base_is_trained_further_on_pages_of_applications(project: Path) -> None:
    recipe = yaml.safe_load((project / "params.yaml").read_text())
    recipe["pretrain"] = SMALL | {
        "start": "data/base_model",
        "out": "data/larger_pages",
        "kind": "applications",
        "pages": 4,
        "held_out": 2,
        "phases": [PHASE | {"points": True}, PHASE | {"points": True, "kind": "sentences"}],
        "max_pixels": 128 * 64,
    }
    before = (project / "data/base_model/model.safetensors").read_bytes()
    (project / "params.yaml").write_text(yaml.safe_dump(recipe))
    run_stage(project)
    said = json.loads((project / "data/larger_pages/pretraining.json").read_text())["curve"]
    assert [figures["step"] for figures in said] == [2, 4]
    further = VLM.load(project / "data/larger_pages", load(project / "params.yaml").model)
    assert further.model.config.text_config.hidden_size == 48
    assert (project / "data/base_model/model.safetensors").read_bytes() == before
    assert (project / "data/larger_pages/model.safetensors").read_bytes() != before
    shot = PILImage.new("RGB", (1024, 576))
    data = io.BytesIO()
    shot.save(data, "PNG")
    assert Vision(further, ImageCacheParams()).tokens(Image.of(data.getvalue())) <= 128 * 64 // 32**2


def test_the_default_parameters_are_those_of_the_shipped_base() -> None:
    params = PretrainParams()
    shipped = json.loads((ROOT / "data/base_model/config.json").read_text())
    text, vision = shipped["text_config"], shipped["vision_config"]
    assert (params.hidden, params.layers, params.vocabulary) == (
        text["hidden_size"],
        text["num_hidden_layers"],
        text["vocab_size"],
    )
    assert (params.vision_hidden, params.vision_depth, params.patch) == (
        vision["hidden_size"],
        vision["depth"],
        vision["patch_size"],
    )
    curve = json.loads((ROOT / "data/base_model/pretraining.json").read_text())["curve"]
    assert curve[-1]["step"] == sum(phase.steps for phase in params.phases)
