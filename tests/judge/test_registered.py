"""Judges of MLflow's `make_judge`, from a real store, asked through our endpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import yaml
from mlflow.genai.judges import make_judge

from components.cli.main import main
from components.params import load
from components.records import ErrorCause, Outcome, Trajectory, Verdict
from components.store import read_table, write_table
from components.tracking import TrackingError
from components.tracking.backend import connect
from components.tracking.registered_judges import registered_judge
from tests.docs.test_docs import blocks
from tests.endpoint_server import Server, text_of
from tests.samples import a_task, a_trajectory, shipped

WORDS = Literal["success", "failure"]


@pytest.fixture
def server() -> Iterator[Server]:
    """A model that believes one of the two answers, and says so in the form that it is asked for."""
    running = Server()

    def reply(asked: dict) -> str:
        is_text = "enum" in json.dumps(asked["response_format"])
        is_easy = "It is 5." in text_of(asked)
        result = ("success" if is_easy else "failure") if is_text else is_easy
        return json.dumps({"rationale": "I read it.", "result": result})

    running.reply = reply
    yield running
    running.close()


@pytest.fixture
def here(tmp_path: Path, mlflow_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an episode of an easy task that has a reference, and one of a hard task without."""
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    monkeypatch.chdir(tmp_path)
    easy = a_trajectory(a_task(1, intent="Easy.", reference_answer="5"), answer="It is 5.")
    write_table(
        "trajectories.parquet", Trajectory, [easy, a_trajectory(a_task(2, intent="Hard."), answer="I think 7.")]
    )
    return tmp_path


def register(name: str, instructions: str, values: object = bool) -> None:
    experiment = connect(load(Path("params.yaml")).tracking).experiment_id
    made = make_judge(name, instructions, model="openai:/gpt-4o", feedback_value_type=values)
    made.register(experiment_id=experiment)


def judged(server: Server, name: str, status: int = 0) -> dict[str, Verdict]:
    command = ["judge", "run", "trajectories.parquet", "--out", "out", "--judge", f"mlflow:{name}"]
    assert main([*command, "--url", server.url, "--model", "m"]) == status
    intents = {row.trajectory_id: row.task.intent for row in read_table("trajectories.parquet", Trajectory)}
    return {intents[row.trajectory_id]: row for row in read_table(Path("out/verdicts.parquet"), Verdict)}


@pytest.mark.parametrize("values", [bool, WORDS], ids=["bool", "words"])
def test_a_registered_judge_gives_verdicts_through_our_endpoint(here, server, values):
    register("careful", "Is {{ outputs }} right for {{ inputs }}? Look at {{ trace }}.", values)
    verdicts = judged(server, "careful")
    assert {intent: verdict.outcome for intent, verdict in verdicts.items()} == {
        "Easy.": Outcome.SUCCESS,
        "Hard.": Outcome.FAILURE,
    }
    verdict = verdicts["Easy."]
    assert (verdict.judge, verdict.rationale) == ("mlflow:careful", "I read it.")
    assert verdict.tokens > 0
    asked = next(asked for asked in server.asked if "Easy." in text_of(asked))
    system, user = asked["messages"]
    assert system["content"].startswith("Is {{ outputs }} right for {{ inputs }}? Look at {{ trace }}.\n")
    for part in (
        'inputs: {\n  "task": "Easy."',
        '"answer": "It is 5."',
        "trace: 1. http://miniwob/click-button.html: click",
    ):
        assert part in user["content"]
    assert "expectations" not in user["content"]
    assert asked["model"] == "m"


def test_a_registered_judge_is_shown_the_screenshots_it_asks_for(here, server):
    register("careful", "Is {{ outputs }} right?")
    blind = judged(server, "careful")["Easy."]
    seeing = judged(server, "careful:1")["Easy."]
    assert (seeing.judge, seeing.outcome) == ("mlflow:careful:1", Outcome.SUCCESS)
    assert seeing.judge_version != blind.judge_version
    content = next(asked for asked in server.asked[2:] if "It is 5." in json.dumps(asked))["messages"][1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]
    assert content[0]["text"].endswith("The last 1 screenshots:")


def test_a_registered_name_may_end_in_a_number(here, server):
    register("clear:2", "Is {{ outputs }} right?")
    assert judged(server, "clear:2:0")["Easy."].outcome is Outcome.SUCCESS
    assert isinstance(server.asked[0]["messages"][1]["content"], str), "no screenshots"


def test_a_new_version_of_a_registered_judge_is_asked_anew(here, server):
    register("careful", "Is {{ outputs }} right?")
    first = judged(server, "careful")["Easy."]
    judged(server, "careful")
    assert len(server.asked) == 2, "kept answers"
    register("careful", "Is {{ outputs }} good?")
    assert judged(server, "careful")["Easy."].judge_version != first.judge_version
    assert len(server.asked) == 4


def test_a_judge_that_wants_a_reference_has_no_verdict_without_one(here, server):
    register("compares", "Does {{ outputs }} agree with {{ expectations }}?")
    verdicts = judged(server, "compares")
    assert verdicts["Easy."].outcome is Outcome.SUCCESS
    hard = verdicts["Hard."]
    assert (hard.outcome, hard.error_cause) == (Outcome.ERROR, ErrorCause.NO_RULE)
    assert "wants {{ expectations }}, and the task has no reference answer" in hard.rationale
    (asked,) = server.asked
    assert '"reference_answers": [\n    "5"\n  ]' in text_of(asked)


@pytest.mark.parametrize(
    "said",
    ['{"rationale": "x", "result": "yes"}', '{"rationale": "x", "result": 1}', '{"result": null}', "It is good."],
)
def test_an_answer_in_another_form_is_unparsed(here, server, said):
    server.reply = lambda asked: said
    register("careful", "Is {{ outputs }} right?")
    assert judged(server, "careful", status=1)["Easy."].outcome is Outcome.UNPARSED


@pytest.mark.parametrize(
    ("instructions", "values", "why"),
    [
        ("Is {{ conversation }} polite?", bool, "wants {{ conversation }}, which an episode does not have"),
        ("Rate {{ outputs }}.", float, "values of the judge 'odd' (float) are no verdicts: register it with"),
        ("Rate {{ outputs }}.", Literal["good", "bad"], "are no verdicts"),
        ("Rate {{ outputs }}.", bool | None, "are no verdicts"),
    ],
)
def test_what_gives_no_verdict_is_refused_before_anything_is_asked(here, server, capsys, instructions, values, why):
    register("odd", instructions, values)
    command = ["judge", "run", "trajectories.parquet", "--out", "out", "--judge", "mlflow:odd"]
    assert main([*command, "--url", server.url, "--model", "m"]) == 1
    assert why in capsys.readouterr().err
    assert server.asked == []


def test_a_judge_that_is_not_registered_is_refused_with_the_way_to_do_it(here):
    with pytest.raises(TrackingError, match=r"gives no judge 'none' .*make_judge\(\.\.\.\)\.register\(experiment_id="):
        registered_judge(load(Path("params.yaml")).tracking, "none")


def test_a_registered_judge_needs_an_endpoint(here, capsys):
    register("careful", "Is {{ outputs }} right?")
    assert main(["judge", "run", "trajectories.parquet", "--out", "out", "--judge", "mlflow:careful"]) == 1
    assert "mlflow:careful asks a model: name it in judge.model.endpoint" in capsys.readouterr().err


@pytest.mark.slow
def test_the_judge_of_the_how_to_page_is_found(here):
    tracking = load(Path("params.yaml")).tracking
    connect(tracking)
    (code,) = (block for block in blocks("how-to/add-a-judge.md", "python") if "make_judge(" in block)
    subprocess.run([sys.executable, "-c", code], check=True)
    judge = registered_judge(tracking, "careful")
    assert (judge.variables, judge.success, judge.failure) == (("inputs", "outputs", "trace"), True, False)


def test_a_registered_judge_is_calibrated_beside_others(here, server, capsys):
    recipe = yaml.safe_load(Path("params.yaml").read_text())
    recipe["judge"]["model"] = {"endpoint": {"url": server.url, "model": "m", "key_variable": None}}
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    register("careful", "Is {{ outputs }} right for {{ inputs }}?")
    rows = [f"{row.trajectory_id},success" for row in read_table("trajectories.parquet", Trajectory)]
    Path("labels.csv").write_text("\n".join(["trajectory_id,outcome", *rows]))
    command = ["judge", "calibrate", "--trajectories", "trajectories.parquet", "--labels", "labels.csv", "--json"]
    assert main([*command, "--judges", "mlflow:careful"]) == 0
    (calibration,) = json.loads(capsys.readouterr().out)
    assert (calibration["judge"], calibration["accuracy"]["value"]) == ("mlflow:careful", 0.5)
    asked = len(server.asked)
    assert main([*command, "--judges", "rules,mlflow:none"]) == 1
    assert "gives no judge 'none'" in capsys.readouterr().err
    assert len(server.asked) == asked
