"""`waymark export --format atif`: what is read back is what was stored, without secrets and diagnostics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from components.cli.main import main
from components.formats import format_of
from components.records import Image, Outcome, ToolCall, Trajectory, Verdict
from components.store import read_table, write_table
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png, shipped

SECRET = "hunter2hunter2"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with three trajectories: a success, a failure whose second response has a secret, and one that ATIF
    cannot hold."""
    turns = [a_turn(0), a_turn(1, response=f"I type {SECRET}.")]
    broken = a_turn(0, observation=a_turn().observation.model_copy(update={"screenshot": Image.of(b"no picture")}))
    trajectories = [
        a_trajectory(a_task(1), turns=3, final_screenshot=png("red"), diagnostics={"machine": "m"}),
        a_trajectory(a_task(2)).model_copy(update={"turns": turns}),
        a_trajectory(a_task(3)).model_copy(update={"turns": [broken]}),
    ]
    verdicts = [a_verdict(trajectories[0]), a_verdict(trajectories[1], Outcome.FAILURE)]
    write_table(tmp_path / "data/teacher/trajectories.parquet", Trajectory, trajectories)
    write_table(tmp_path / "data/teacher/verdicts.parquet", Verdict, verdicts)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    return tmp_path


def stored(here: Path) -> list[Trajectory]:
    return read_table(here / "data/teacher/trajectories.parquet", Trajectory)


def test_trajectories_are_read_back_as_they_were_stored(here, capsys):
    assert main(["export", "out", "--format", "atif", "--secret", "SHOP_PASSWORD"]) == 0
    said = capsys.readouterr()
    assert said.out == "2 trajectories in out\n"
    original, with_secret, unwritable = stored(here)
    assert f"{with_secret.trajectory_id}: the tokens of 1 turns, which contain a secret" in said.err
    assert f"{unwritable.trajectory_id}: a screenshot is no image that can be read" in said.err
    read = {record.trajectory.trajectory_id: record.trajectory for record in format_of(Path("out")).read(Path("out"))}
    assert read[original.trajectory_id] == original.model_copy(update={"diagnostics": {}})
    assert [turn.response for turn in read[with_secret.trajectory_id].turns][1] == "I type ***."
    assert all(SECRET not in file.read_text() for file in Path("out").rglob("*.json"))


@pytest.mark.parametrize("name", ["agent_reward_bench", "online_mind2web", "webvoyager"])
def test_results_in_the_forms_of_benchmarks_are_read_back(here, capsys, name):
    assert main(["export", "out", "--format", name, "--secret", "SHOP_PASSWORD"]) == 0
    assert capsys.readouterr().out == "2 trajectories in out\n"
    assert format_of(Path("out")).name == name
    read = [record.trajectory for record in format_of(Path("out")).read(Path("out"))]
    assert {trajectory.task_id for trajectory in read} == {trajectory.task_id for trajectory in stored(here)[:2]}
    assert all(SECRET not in file.read_text() for file in Path("out").rglob("*.json"))


@pytest.mark.parametrize("name", ["agent_reward_bench", "atif", "inspect", "online_mind2web", "webvoyager"])
def test_a_secret_that_was_typed_as_a_number_is_removed(here, monkeypatch, name):
    monkeypatch.setenv("SHOP_PIN", "83719264")
    call = ToolCall(name="write", arguments={"text": 83719264})
    task = a_task(1, evaluator={"type": "qa", "answers": [83719264]})
    trajectory = a_trajectory(task, turns=0).model_copy(update={"turns": [a_turn(0, tool_calls=[call])]})
    write_table(here / "data/teacher/trajectories.parquet", Trajectory, [trajectory])
    assert main(["export", "out", "--format", name, "--secret", "SHOP_PIN"]) == 0
    assert all("83719264" not in file.read_text() for file in Path("out").rglob("*.json"))


def test_a_number_of_a_field_stays_where_a_secret_has_its_digits(here, monkeypatch):
    monkeypatch.setenv("SHOP_PIN", "837192")
    turn = a_turn(0, token_ids=[837192], logprobs=[0.0])
    trajectory = a_trajectory(a_task(1), turns=0).model_copy(update={"turns": [turn]})
    write_table(here / "data/teacher/trajectories.parquet", Trajectory, [trajectory])
    assert main(["export", "out", "--format", "atif", "--secret", "SHOP_PIN"]) == 0
    (record,) = format_of(Path("out")).read(Path("out"))
    assert record.trajectory.turns[0].token_ids == [837192]


def test_a_document_has_the_verdict_and_only_filters_by_it(here):
    assert main(["export", "out", "--format", "atif", "--only", "failure", "--secret", "SHOP_PASSWORD"]) == 0
    (file,) = Path("out").rglob("trajectory.json")
    assert json.loads(file.read_text())["extra"]["waymark"]["verdict"]["outcome"] == "failure"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["out", "--format", "waymark"], "the format waymark is only read"),
        (["out", "--format", "nothing"], "no format 'nothing': one of agent_reward_bench, atif"),
        (["data", "--format", "atif"], "data exists and is not empty"),
        (["out"], "a dataset needs --licence"),
        (["out", "--format", "atif", "--licence", "mit"], "--licence: --format atif has no place for it"),
        (["out", "--format", "inspect", "--title", "Shop"], "--title: --format inspect has no place for it"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(here, capsys, arguments, why):
    assert main(["export", *arguments]) == 1
    assert why in capsys.readouterr().err
    assert not Path("out").exists()
    assert not [*Path().glob(".*.part")]
