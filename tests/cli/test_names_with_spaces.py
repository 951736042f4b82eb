"""Names with spaces: printed commands can be copied to a shell, and make passes such a name on as one argument."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from components.cli import main
from components.records import Trajectory
from components.store import write_table
from components.tracking import OpenedReview
from tests.samples import a_task, a_trajectory, shipped

ROOT = Path(__file__).resolve().parents[2]


def words(printed: str, beginning: str) -> list[str]:
    """The words of the printed command that begins so, as a shell reads them."""
    [line] = [line for line in printed.splitlines() if beginning in line]
    return shlex.split(line[line.index(beginning) :].rstrip("`"))


def application(folder: Path) -> str:
    """A folder in the layout of WebArena-Infinity, with one task."""
    folder.mkdir()
    for name in ("server.py", "index.html", "verify.py"):
        (folder / name).touch()
    row = {"id": "task_1", "difficulty": "easy", "instruction": "Close it.", "verify": "verify.py"}
    (folder / "real-tasks.json").write_text(json.dumps([row]))
    return str(folder)


@pytest.mark.parametrize("is_adapter", [False, True])
def test_the_command_that_installs_a_new_world_names_its_folder(
    is_adapter: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my world"
    further = ["--webarena-infinity", application(tmp_path / "application")] if is_adapter else []
    assert main.main(["world", "new", "my_site", "--directory", str(folder), *further]) == 0
    assert words(capsys.readouterr().out, "python -m pip install")[-1] == str(folder)


def test_the_command_that_collects_labels_names_the_review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def open_review(_: object, name: str, *_others: object) -> OpenedReview:  # MLflow needs 10 s for its database
        return OpenedReview(name, queue_id="1", experiment_id="1", trajectories=1, added=1)

    monkeypatch.setattr("components.tracking.open_review", open_review)
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    write_table("trajectories.parquet", Trajectory, [a_trajectory(a_task(1), turns=1)])
    assert main.main(["judge", "review", "open", "trajectories.parquet", "--name", "my review"]) == 0
    expected = ["waymark", "judge", "review", "collect", "my review", "--out", "labels.csv"]
    assert words(capsys.readouterr().out, "waymark judge review collect") == expected


def test_the_command_that_shows_a_run_names_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    arguments = ["--url", "http://127.0.0.1:1/", "--teacher", "human", "--out", "my run"]
    assert main.main(["run", "look", *arguments]) == 5, "the page cannot be opened"
    expected = ["waymark", "view", "--table", "my run/trajectories.parquet"]
    assert words(capsys.readouterr().out, "waymark view") == expected


def test_the_command_that_lists_trajectories_names_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table("my run/trajectories.parquet", Trajectory, [a_trajectory(a_task(1), turns=1)])
    assert main.main(["view", "nope", "--table", "my run/trajectories.parquet"]) == 1
    [_, command, _] = capsys.readouterr().err.split("`")
    assert shlex.split(command) == ["waymark", "view", "--list", "--table", "my run/trajectories.parquet"]


@pytest.mark.parametrize(("target", "program"), [("browser", "components.doctor"), ("demo", "flows.demo")])
def test_make_passes_the_name_of_a_recipe_on_as_one_argument(target: str, program: str) -> None:
    command = ["make", "--dry-run", "--assume-old", ".venv/.stamp", target, "RECIPE=my recipe.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert words(done.stdout, f"-m {program}")[-1] == "my recipe.yaml"
