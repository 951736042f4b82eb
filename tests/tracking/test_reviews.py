"""People label trajectories in a review queue of MLflow, and their labels come back."""

from __future__ import annotations

import csv
from pathlib import Path

import mlflow
import pytest
import yaml
from mlflow import MlflowClient
from mlflow.entities import AssessmentSource, AssessmentSourceType
from mlflow.genai.review_queues import get_review_queue, list_review_queue_items

from components.cli.main import main
from components.judge.labels import read_labels
from components.params import Params, load
from components.records import Outcome, Termination, Trajectory
from components.store import write_table
from components.tracking import TrackingError, human_labels, open_review
from components.tracking import traces as traces_module
from components.tracking.reviews import QUESTION
from components.tracking.traces import TRAJECTORY
from tests.formats.samples import online_mind2web_task, webvoyager_task
from tests.samples import a_task, a_trajectory, png, shipped


def episodes(count: int) -> list[Trajectory]:
    return [a_trajectory(a_task(number), turns=2, final_screenshot=png("navy")) for number in range(count)]


def traces(client: MlflowClient, queue_id: str) -> dict[str, str]:
    """The trace of each trajectory of a queue."""
    items = [item.item_id for item in list_review_queue_items(queue_id)]
    return {client.get_trace(trace_id).info.tags[TRAJECTORY]: trace_id for trace_id in items}


def answer(trace_id: str, value: bool | str, reviewer: str = "ada", kind: str = AssessmentSourceType.HUMAN) -> None:
    """Answer the question, as the page of the queue does."""
    source = AssessmentSource(source_type=kind, source_id=reviewer)
    mlflow.log_feedback(trace_id=trace_id, name=QUESTION, value=value, source=source, rationale="I looked.")


def test_a_review_has_trajectories_with_screenshots_and_no_verdict(params: Params, client: MlflowClient) -> None:
    review = open_review(params.tracking, "first", episodes(3))
    assert (review.trajectories, review.added) == (3, 3)
    by_trajectory = traces(client, review.queue_id)
    assert set(by_trajectory) == {episode.trajectory_id for episode in episodes(3)}
    trace = client.get_trace(next(iter(by_trajectory.values())))
    assert trace.info.assessments == []
    [root] = trace.data.spans
    messages = root.inputs["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    pictures = [part["image_url"]["url"] for message in messages[::2] for part in message["content"][1:]]
    assert len(pictures) == 3
    assert all(picture.startswith("mlflow-attachment://") for picture in pictures)
    assert "reward" not in str(root.to_dict())
    assert (trace.info.request_preview, trace.info.response_preview) == (episodes(1)[0].task.intent, "Done.")
    [schema] = get_review_queue(review.queue_id).schema_ids
    assert schema


def test_a_review_that_is_opened_again_gets_what_it_lacks(params: Params, client: MlflowClient) -> None:
    first = open_review(params.tracking, "first", episodes(2))
    again = open_review(params.tracking, "first", episodes(3))
    assert (again.queue_id, again.trajectories, again.added) == (first.queue_id, 3, 1)
    assert len(traces(client, again.queue_id)) == 3
    other = open_review(params.tracking, "second", episodes(1))
    assert (other.trajectories, other.queue_id != first.queue_id) == (1, True)


def test_a_review_longer_than_a_page_of_mlflow_is_read_whole(params: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces_module, "_PAGE", 2)
    review = open_review(params.tracking, "first", episodes(5))
    assert (review.trajectories, review.added) == (5, 5)


def test_labels_are_the_last_answers_of_people(params: Params, client: MlflowClient) -> None:
    review = open_review(params.tracking, "first", episodes(3))
    by_trajectory = traces(client, review.queue_id)
    first, second, third = (by_trajectory[episode.trajectory_id] for episode in episodes(3))
    answer(first, False)
    answer(first, True)
    answer(first, "failure", reviewer="bob")
    answer(second, True, kind=AssessmentSourceType.LLM_JUDGE)
    answer(third, "perhaps")
    labels = [(label.reviewer, label.outcome, label.comment) for label in human_labels(params.tracking, "first")]
    assert labels == [("ada", Outcome.SUCCESS, "I looked."), ("bob", Outcome.FAILURE, "I looked.")]


def labels_of(params: Params) -> list[tuple[str, Outcome]]:
    return [(label.reviewer, label.outcome) for label in human_labels(params.tracking, "first")]


@pytest.mark.parametrize("reviewer", ["", "default"])
def test_different_answers_without_a_login_are_two_labels(params: Params, client: MlflowClient, reviewer: str) -> None:
    (trace_id,) = traces(client, open_review(params.tracking, "first", episodes(1)).queue_id).values()
    answer(trace_id, True, reviewer)
    answer(trace_id, True, reviewer)
    assert labels_of(params) == [(reviewer, Outcome.SUCCESS)]
    answer(trace_id, False, reviewer)
    answer(trace_id, True, "ada")
    assert labels_of(params) == [
        (reviewer, Outcome.FAILURE), (reviewer, Outcome.SUCCESS), ("ada", Outcome.SUCCESS)
    ]  # fmt: skip


def test_an_answer_that_the_page_of_the_queue_replaced_is_no_label(params: Params, client: MlflowClient) -> None:
    (trace_id,) = traces(client, open_review(params.tracking, "first", episodes(1)).queue_id).values()
    answer(trace_id, True, "default")
    (former,) = client.get_trace(trace_id).info.assessments
    mlflow.override_feedback(trace_id=trace_id, assessment_id=former.assessment_id, value=False, source=former.source)
    assert labels_of(params) == [("default", Outcome.FAILURE)]


def test_a_review_that_does_not_exist_is_an_error(params: Params) -> None:
    with pytest.raises(TrackingError, match="judge review open"):
        human_labels(params.tracking, "nothing")


def test_the_commands_open_a_queue_and_write_labels_that_calibrate_reads(
    checkout: Path, client: MlflowClient, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    aborted = a_trajectory(a_task(9), turns=1, termination=Termination.ENV_ERROR)
    write_table("trajectories.parquet", Trajectory, [aborted, *episodes(4)])
    assert main(["judge", "review", "open", "trajectories.parquet", "--name", "mine", "--limit", "3"]) == 0
    assert "review mine: 3 trajectories, 3 of them new" in capsys.readouterr().out
    assert main(["judge", "review", "collect", "mine", "--out", "labels.csv"]) == 1
    assert "no label yet" in capsys.readouterr().err
    experiment = client.get_experiment_by_name(shipped("demo")["tracking"]["experiment"])
    assert experiment is not None
    queue = get_review_queue(name="mine", experiment_id=experiment.experiment_id)
    by_trajectory = traces(client, queue.queue_id)
    first, second, third = (by_trajectory[episode.trajectory_id] for episode in episodes(3))
    answer(third, True)
    answer(third, False, reviewer="bob")
    assert main(["judge", "review", "collect", "mine", "--out", "labels.csv"]) == 1
    assert "people disagree on all 1 labelled trajectories of review mine" in capsys.readouterr().err
    answer(first, True)
    answer(first, True, reviewer="bob")
    answer(second, False)
    assert main(["judge", "review", "collect", "mine", "--out", "labels.csv"]) == 0
    assert "agree on 1 of the 2" in capsys.readouterr().out
    ids = [episode.trajectory_id for episode in episodes(3)]
    assert read_labels(Path("labels.csv")).outcomes == {ids[0]: Outcome.SUCCESS, ids[1]: Outcome.FAILURE}
    with Path("labels.csv").open() as file:
        assert {row["trajectory_id"]: row["reviewers"] for row in csv.DictReader(file)}[ids[0]] == "ada;bob"


def test_people_without_logins_may_disagree_and_count_in_no_agreement(
    checkout: Path, client: MlflowClient, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    review = open_review(load(Path("params.yaml")).tracking, "mine", episodes(3))
    by_trajectory = traces(client, review.queue_id)
    first, second, third = (by_trajectory[episode.trajectory_id] for episode in episodes(3))
    command = ["judge", "review", "collect", "mine", "--out", "labels.csv"]
    for value in (True, False):
        answer(first, value, reviewer="default")
    assert main(command) == 1
    assert "people disagree on all 1 labelled trajectories of review mine" in capsys.readouterr().err
    for _ in range(2):
        answer(second, True, reviewer="default")
    assert main(command) == 0
    left_out = "1 are left out because of different answers, some of them without a login"
    assert capsys.readouterr().out == f"labels.csv: 1 labelled trajectories; {left_out}\n"
    for reviewer in ("ada", "bob"):
        answer(third, False, reviewer)
    assert main(command) == 0
    agreement = "people agree on 1 of the 1 that several labelled, the others are left out"
    assert capsys.readouterr().out == f"labels.csv: 2 labelled trajectories; {agreement}; {left_out}\n"


def test_a_folder_of_two_formats_is_read_in_the_one_that_is_named(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    webvoyager_task(Path("results"))
    online_mind2web_task(Path("results"))
    command = ["judge", "review", "open", "results", "--name", "mine"]
    assert main(command) == 1
    assert "name one with --format" in capsys.readouterr().err
    assert main([*command, "--format", "online_mind2web"]) == 0
    assert "review mine: 1 trajectories" in capsys.readouterr().out


def test_damaged_records_are_named_and_the_others_are_reviewed(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    Path("mine.jsonl").write_text("{}\n")
    command = ["judge", "review", "open", "mine.jsonl", "--name", "mine"]
    assert main(command) == 1
    errors = capsys.readouterr().err
    assert "mine.jsonl:1 is left out: mine.jsonl:1: is no trajectory (" in errors
    assert "no trajectory that an agent ended, and 1 records that cannot be read (the first: mine.jsonl:1: " in errors
    Path("mine.jsonl").write_text("{}\n" + a_trajectory().model_dump_json() + "\n")
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "review mine: 1 trajectories" in printed.out
    assert "mine.jsonl:1 is left out" in printed.err


def test_a_damaged_database_is_named(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = shipped("demo")
    Path("params.yaml").write_text(yaml.safe_dump(recipe))
    database = Path(recipe["tracking"]["tracking_uri"].removeprefix("sqlite:///"))
    database.parent.mkdir(parents=True, exist_ok=True)
    database.write_bytes(b"no database" * 1000)
    assert main(["judge", "review", "collect", "mine", "--out", "labels.csv"]) == 1
    assert "the MLflow database is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["open", "nothing.parquet", "--name", "x"], "no such file or folder"),
        (["collect", "nothing", "--out", "labels.csv"], "no review 'nothing'"),
        (
            ["collect", "nothing", "--out", "params.yaml"],
            "--out params.yaml exists and was not written by this command",
        ),
        (["collect", "nothing", "--out", "."], "--out . is a folder: name a file, such as labels.csv"),
        (["open", ".", "--name", "x", "--format", "y"], "no format 'y': one of agent_reward_bench, atif"),
        (["open", "x", "--name", " "], "--name is empty: give the review a name"),
        (["open", "x", "--name", "x" * 251], "--name has 251 characters: give one of 250 at most"),
        (["open", "x", "--name", "x", *["--reviewer", "a"] * 11], "10 at most"),
    ],
)
def test_wrong_reviews_are_refused(
    checkout: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("params.yaml").write_text(yaml.safe_dump(shipped("demo")))
    assert main(["judge", "review", *options]) == 1
    assert message in capsys.readouterr().err
