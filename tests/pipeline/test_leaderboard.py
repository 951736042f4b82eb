"""`waymark leaderboard` writes both pages and logs them and a table to MLflow, as often as it is called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient

from components.cli import main
from components.evaluation import success
from components.params import complete
from components.records import Outcome
from components.store import read_json, write_json
from tests.samples import a_task, a_trajectory, a_verdict

RECIPE = Path(__file__).parents[2] / "recipes/smoke.yaml"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(complete(RECIPE))
    of = [a_trajectory(a_task(number, split="eval")) for number in range(4)]
    summary = success(of, [a_verdict(one, Outcome.SUCCESS) for one in of])
    written = {"recipe": "smoke", "tasks": "miniwob", **summary.model_dump(mode="json", exclude_none=True)}
    write_json(Path("reports/stages/evaluate@rl.json"), written)


@pytest.mark.slow
def test_the_leaderboard_is_in_reports_and_once_in_mlflow(checkout, capsys):
    assert main.main(["leaderboard"]) == 0
    assert main.main(["leaderboard"]) == 0
    assert "miniwob (smoke): smoke RL 100.0% (miniwob of smoke, tasks " in capsys.readouterr().out
    assert "| measured | smoke RL | 100.0% |" in Path("reports/leaderboard.md").read_text()
    client = MlflowClient(f"sqlite:///{Path('mlflow/store/mlflow.db').resolve()}")
    (experiment,) = (one for one in client.search_experiments() if one.name == "waymark")
    (run,) = client.search_runs([experiment.experiment_id], "tags.`waymark.stage` = 'leaderboard'")
    names = {artifact.path for artifact in client.list_artifacts(run.info.run_id)}
    assert names == {"leaderboard.md", "leaderboard.html", "leaderboard.json"}
    board = client.load_table(experiment.experiment_id, run_ids=[run.info.run_id], artifact_file="leaderboard.json")
    assert board["mark"].tolist().count("measured") == 1
    assert json.loads(run.data.tags["mlflow.loggedArtifacts"]) == [{"path": "leaderboard.json", "type": "table"}]


def test_a_file_that_cannot_be_read_is_named_with_what_to_do(checkout, capsys):
    write_json(Path("reports/benchmarks/x.json"), {"benchmark": "x"})
    assert main.main(["leaderboard"]) == 1
    error = capsys.readouterr().err
    assert "x.json is no result of a benchmark run (version: Field required; model: Field required); run the" in error


def test_a_stages_result_with_a_wrong_field_is_named(checkout, capsys):
    path = Path("reports/stages/evaluate@rl.json")
    write_json(path, {"recipe": 5})
    assert main.main(["leaderboard"]) == 1
    problem = f"{path} is no result of an evaluation (recipe: Input should be a valid string); run `dvc repro --force"
    assert f"{problem} --single-item evaluate@rl`" in capsys.readouterr().err


def test_a_wrong_figure_of_a_stages_result_is_named_with_its_problem(checkout, capsys):
    path = Path("reports/stages/evaluate@rl.json")
    write_json(path, read_json(path) | {"rate": "high"})
    assert main.main(["leaderboard"]) == 1
    assert f"{path} is no result of an evaluation (rate: Input should be a valid number" in capsys.readouterr().err
