"""Logs for inspect_ai: valid by the schema of its records, and its own reader finds the values of the trajectories."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from components.cli.main import main
from components.formats import NotWritable, Unreadable, format_named
from components.records import Image, Outcome, Termination, ToolCall, Trajectory, Verdict
from components.store import write_table
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png, shipped

INSPECT = format_named("inspect")
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(__file__).parent / "fixtures/inspect-0.3.285.schema.json").read_text())
)
"""Of `EvalLog` of inspect-ai 0.3.285 (MIT), without texts and events; an object may have no other fields."""
READER = Path(__file__).parents[2] / ".venv-inspect/bin/python"
SECRET = "hunter2hunter2"
ANSWERED = ToolCall(name="click", arguments={"coordinate": [512, 86], "button": None})


def episodes() -> list[tuple[Trajectory, Verdict | None]]:
    """Two attempts at a task, of which one succeeds, a success, a task without a verdict, and another policy."""
    first, again = a_trajectory(a_task(0), turns=2, final_screenshot=png("red")), a_trajectory(a_task(0), attempt=1)
    calls = [ANSWERED, ToolCall(name="", arguments={}, error="no name")]
    odd = a_turn(0, tool_calls=calls, feedback=["Succeed: clicked."], response=f"No thoughts. {SECRET}")
    out_of_steps = a_trajectory(a_task(1), site_reward=0.5).model_copy(
        update={"turns": [odd], "termination": Termination.MAX_STEPS, "answer": None}
    )
    broken = a_trajectory(a_task(2)).model_copy(
        update={"turns": [], "termination": Termination.ENV_INIT_ERROR, "answer": None}
    )
    other = a_trajectory(a_task(0, reference_answer="ok")).model_copy(
        update={"policy": "another", "trajectory_id": "x"}
    )
    return [
        (first, a_verdict(first, Outcome.FAILURE)),
        (again, a_verdict(again)),
        (out_of_steps, a_verdict(out_of_steps)),
        (broken, a_verdict(broken, Outcome.ERROR)),
        (other, None),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for trajectory, verdict in episodes():
        assert INSPECT.write(trajectory, verdict, tmp_path, lambda text: text.replace(SECRET, "***")) == []
    INSPECT.finish(tmp_path)
    return tmp_path


def logs(folder: Path) -> dict[str, dict]:
    written = [json.loads(file.read_text()) for file in folder.iterdir()]
    return {log["eval"]["model"]: log for log in written}


def test_every_log_is_valid_by_the_schema_of_inspects_records(folder):
    assert {model: [error.message for error in SCHEMA.iter_errors(log)] for model, log in logs(folder).items()} == {
        "sample": [],
        "another": [],
    }


def test_the_schema_refuses_a_field_that_inspect_does_not_know(folder):
    log = logs(folder)["sample"]
    log["samples"][0]["screenshot"] = "x"
    assert [error.json_path for error in SCHEMA.iter_errors(log)] != []


def test_a_log_has_a_sample_per_episode_of_a_world_and_policy(folder):
    log, other = logs(folder)["sample"], logs(folder)["another"]
    assert [(sample["id"].rsplit("/")[-1], sample["epoch"]) for sample in log["samples"]] == [
        ("0", 1),
        ("0", 2),
        ("1", 1),
        ("2", 1),
    ]
    assert (log["eval"]["task"], log["eval"]["dataset"]["samples"], log["eval"]["config"]) == (
        "miniwob",
        3,
        {"epochs": 2},
    )
    assert [(sample["target"], sample.get("scores")) for sample in other["samples"]] == [("ok", None)]
    assert other["results"]["scores"] == []


def test_a_sample_says_how_the_episode_went(folder):
    first, _, out_of_steps, broken = logs(folder)["sample"]["samples"]
    trajectory, verdict = episodes()[0]
    score = first["scores"]["verdict"]
    assert (score["value"], score["answer"], score["explanation"]) == ("I", trajectory.answer, verdict.rationale)
    assert first["input"] == trajectory.task.intent
    assert {key: first["metadata"][key] for key in ("termination", "world", "family", "trajectory_id")} == {
        "termination": "done",
        "world": "miniwob",
        "family": "click-button",
        "trajectory_id": trajectory.trajectory_id,
    }
    assert first["model_usage"]["sample"] == {"input_tokens": 80, "output_tokens": 6, "total_tokens": 86}
    assert out_of_steps["limit"] == {"type": "turn", "limit": 1.0}
    assert out_of_steps["scores"]["site_reward"] == {"value": 0.5}
    assert out_of_steps["scores"]["verdict"] == {
        "value": "I",
        "explanation": "No judge is needed: the agent ended the episode without a valid answer (max_steps).",
    }
    assert "env_init_error" in broken["error"]["message"]
    assert (broken.get("scores"), broken["metadata"]["verdict"]) == (None, "error")


def test_messages_are_pages_responses_and_feedback_in_order(folder):
    first, _, odd, _ = logs(folder)["sample"]["samples"]
    assert [message["role"] for message in first["messages"]] == [
        *("user", "assistant", "tool"),
        *("user", "assistant", "tool", "user"),
    ]
    start, response, feedback = first["messages"][:3]
    picture = start["content"][-1]["image"]
    assert base64.b64decode(picture.removeprefix("data:image/png;base64,")) == png().data
    assert response["content"][0] == {"type": "reasoning", "reasoning": "Ok."}
    assert feedback["tool_call_id"] == response["tool_calls"][0]["id"]
    assert first["messages"][-1]["content"][1]["image"] != picture
    calls = odd["messages"][1]["tool_calls"]
    assert calls[0]["arguments"] == ANSWERED.arguments
    assert calls[1]["parse_error"] == "no name"
    assert odd["messages"][1]["content"] == [{"type": "text", "text": "No thoughts. ***"}]


def test_the_accuracy_is_over_tasks_and_leaves_out_what_was_not_judged(folder):
    """Task 0 has a half, task 1 is a failure, the environment ended task 2: 0.25 over two tasks."""
    (verdict, reward) = logs(folder)["sample"]["results"]["scores"]
    assert (verdict["metrics"]["accuracy"]["value"], verdict["scored_samples"], verdict["unscored_samples"]) == (
        0.25,
        2,
        1,
    )
    assert reward["metrics"]["mean"]["value"] == 0.5


@pytest.mark.skipif(not READER.exists(), reason="no .venv-inspect with inspect_ai: `make test-inspect` makes it")
def test_inspects_own_reader_finds_the_same_values(folder):
    printed = subprocess.run(
        [READER, Path(__file__).with_name("inspect_reader.py"), folder], capture_output=True, text=True, check=True
    )
    read = {log["model"]: log for log in json.loads(printed.stdout)}
    written = logs(folder)
    assert read.keys() == written.keys()
    assert read["sample"]["written"] == read["sample"]["recomputed"] == {"verdict": 0.25, "site_reward": 0.5}
    for model, log in written.items():
        for ours, theirs in zip(log["samples"], read[model]["samples"], strict=True):
            assert _is_within(ours, theirs), theirs


def _is_within(part: object, whole: object) -> bool:
    """Whether a value has all that another has; objects may have more fields, which are defaults."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(_is_within(value, whole.get(key)) for key, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(_is_within, part, whole))
    return part == whole


def test_an_image_that_cannot_be_shown_is_refused(tmp_path):
    broken = a_turn(0, observation=a_turn().observation.model_copy(update={"screenshot": Image.of(b"no picture")}))
    with pytest.raises(NotWritable, match="a screenshot is no image"):
        INSPECT.write(a_trajectory().model_copy(update={"turns": [broken]}), None, tmp_path, str)


@pytest.mark.parametrize("number", [float("inf"), -float("inf"), float("nan")])
def test_an_argument_that_json_cannot_hold_is_refused(tmp_path, number):
    turn = a_turn(0, tool_calls=[ToolCall(name="scroll", arguments={"by": number})])
    with pytest.raises(NotWritable, match="infinite or none"):
        INSPECT.write(a_trajectory().model_copy(update={"turns": [turn]}), None, tmp_path, str)
    assert [*tmp_path.iterdir()] == []


def test_logs_are_not_read_and_not_taken_for_another_format(folder):
    assert not INSPECT.recognises(folder)
    with pytest.raises(Unreadable, match="cannot read them"):
        INSPECT.read(folder)


def test_the_command_writes_a_log_per_policy_without_its_drafts(tmp_path, monkeypatch, capsys):
    table = tmp_path / "data/teacher/trajectories.parquet"
    write_table(table, Trajectory, [trajectory for trajectory, _ in episodes()])
    write_table(table.with_name("verdicts.parquet"), Verdict, [verdict for _, verdict in episodes() if verdict])
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    assert main(["export", "out", "--format", "inspect", "--secret", "SHOP_PASSWORD"]) == 0
    assert capsys.readouterr().out == "5 trajectories in out\n"
    assert logs(Path("out")).keys() == {"sample", "another"}
    assert all(SECRET not in file.read_text() for file in Path("out").iterdir())
