"""An input is known to MLflow by the md5 that DVC itself gives it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from mlflow import MlflowClient

from components.params import Params
from components.records import Trajectory
from components.store import write_table
from components.tracking import stage_run
from components.tracking.datasets import dvc_md5
from tests.samples import a_task, a_trajectory


def test_the_digest_is_the_md5_that_dvc_writes(checkout: Path) -> None:
    for file in ("table", "models/b/x", "models/b.bin", "models/a", "models/ü/z", "models/b-/y"):
        path = Path("data") / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {file}\r\n")
    for command in (["init", "--no-scm", "-q"], ["add", "-q", "data/table", "data/models"]):
        subprocess.run([sys.executable, "-m", "dvc", *command], check=True)
    for name in ("data/table", "data/models"):
        (out,) = yaml.safe_load(Path(f"{name}.dvc").read_text())["outs"]
        assert dvc_md5(Path(name)) == out["md5"]


def test_a_table_is_a_dataset_with_columns_and_size_but_no_images(params: Params, client: MlflowClient) -> None:
    path = Path("data/teacher/trajectories.parquet")
    write_table(path, Trajectory, [a_trajectory(a_task(number)) for number in range(3)])
    for _ in range(2):  # a stage that is run again
        with stage_run(params, "curate_sft", "key", Path("state")) as run:
            run.dataset(path, "training")
    (given,) = client.get_run(run.run_id).inputs.dataset_inputs
    assert given.dataset.name == "data/teacher/trajectories.parquet"
    assert given.dataset.digest == dvc_md5(path)
    assert [(tag.key, tag.value) for tag in given.tags] == [("mlflow.data.context", "training")]
    assert json.loads(given.dataset.profile)["num_rows"] == 3
    columns = {column["name"]: column["type"] for column in json.loads(given.dataset.schema)["mlflow_colspec"]}
    assert (columns["trajectory_id"], columns["attempt"], columns["turns"]) == ("string", "long", "object")


@pytest.mark.parametrize("name", ["base_model", "tasks.jsonl"])
def test_directories_and_other_files_are_datasets_too(params: Params, client: MlflowClient, name: str) -> None:
    path = Path(name)
    if name == "base_model":
        path.mkdir()
        (path / "config.json").write_text("{}")
    else:
        path.write_text("{}\n")
    with stage_run(params, "train_sft", "key", Path("state")) as run:
        run.dataset(path, "input")
    (given,) = client.get_run(run.run_id).inputs.dataset_inputs
    assert given.dataset.digest == dvc_md5(path)
