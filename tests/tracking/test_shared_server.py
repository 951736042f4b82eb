"""One MLflow server for several machines: PostgreSQL, artifacts in S3, passwords. All three are real."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import boto3
import httpx
import psycopg
import pytest
from mlflow import MlflowClient

from components.params import Params
from components.ports import free_port
from components.tracking import human_labels, open_review, registered, stage_run
from components.tracking.backend import TrackingError
from components.tracking.registry import DIGEST, DOWNLOADS
from tests.buckets import bucket
from tests.postgres import postgres
from tests.samples import a_task, a_trajectory, a_verdict, recipe

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

AUTH = """[mlflow]
default_permission = EDIT
database_uri = postgresql://{database}/users
admin_username = waymark
admin_password = a-long-password
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
"""


class Server:
    """The address of an MLflow server, of its database and of its bucket."""

    def __init__(self, url: str, database: str, store: str) -> None:
        self.url, self.database, self.store = url, database, store

    def rows(self, query: str) -> list[tuple]:
        with psycopg.connect(f"postgresql://{self.database}/mlflow") as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def objects(self) -> list[str]:
        name, _, prefix = self.store.removeprefix("s3://").partition("/")
        listed = boto3.client("s3").list_objects_v2(Bucket=name, Prefix=prefix)
        return [item["Key"] for item in listed.get("Contents", [])]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, port = tmp_path_factory.mktemp("mlflow-server"), free_port()
    with ExitStack() as stack:
        store, keys = stack.enter_context(bucket())
        database = stack.enter_context(postgres("mlflow", "users"))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in keys.items():
            patch.setenv(name, value)
        settings = folder / "auth.ini"
        settings.write_text(AUTH.format(database=database))
        environment = {
            **os.environ,
            "MLFLOW_AUTH_CONFIG_PATH": str(settings),
            "MLFLOW_FLASK_SERVER_SECRET_KEY": "another-secret",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        command = [sys.executable, "-m", "mlflow", "server", "--app-name", "basic-auth", "--workers", "1"]
        command += ["--host", "127.0.0.1", "--port", str(port), "--artifacts-destination", store]
        command += ["--backend-store-uri", f"postgresql://{database}/mlflow"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        url = f"http://127.0.0.1:{port}"
        for _ in range(240):
            try:
                if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                    break
            except httpx.HTTPError:
                assert process.poll() is None, (folder / "log").read_text()[-3000:]
            time.sleep(0.5)
        yield Server(url, database, store)


@pytest.fixture
def params(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    sample = recipe()
    tracking = sample.tracking.model_copy(update={"tracking_uri": server.url})
    return sample.model_copy(update={"tracking": tracking})


@pytest.fixture
def logged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "waymark")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "a-long-password")


def test_runs_models_and_traces_are_in_the_database_and_the_bucket(server, params, logged_in):
    Path("models/sft").mkdir(parents=True)
    Path("models/sft/model.safetensors").write_bytes(b"weights")
    with stage_run(params, "train_sft", "key", Path("state")) as run:
        run.metrics({"loss": 0.5}, step=3)
        assert run.register(Path("models/sft"), "waymark-policy") == 1
        run.evaluation([a_trajectory()], [a_verdict(a_trajectory())])
    client = MlflowClient(server.url)
    assert client.get_run(run.run_id).data.metrics["loss"] == 0.5
    assert client.get_model_version_by_alias("waymark-policy", "candidate").version == "1"
    assert server.rows(f"SELECT value, step FROM metrics WHERE run_uuid = '{run.run_id}' AND key = 'loss'") == [
        (0.5, 3)
    ]
    assert len(server.rows("SELECT request_id FROM trace_info")) == 1
    assert [key for key in server.objects() if key.endswith("model.safetensors")]
    version = registered(params, "waymark-policy", "1")
    assert (version.path / "model.safetensors").read_bytes() == b"weights"
    assert version.path.parent == DOWNLOADS
    assert [file.name for file in DOWNLOADS.iterdir()] == [version.tags[DIGEST]]
    (version.path / "model.safetensors").write_bytes(b"read again")
    again = registered(params, "waymark-policy", "@candidate")
    assert (again.path / "model.safetensors").read_bytes() == b"read again", "it is downloaded once"


def test_files_other_than_those_registered_are_an_error(server, params, logged_in):
    Path("models/judge").mkdir(parents=True)
    Path("models/judge/model.safetensors").write_bytes(b"weights of the judge")
    with stage_run(params, "distill_judge", "judge's key", Path("state")) as run:
        run.register(Path("models/judge"), "waymark-judge")
    (key,) = [key for key in server.objects() if "waymark-judge" in key]
    bucket_name = server.store.removeprefix("s3://").partition("/")[0]
    boto3.client("s3").put_object(Bucket=bucket_name, Key=key, Body=b"half")
    with pytest.raises(TrackingError, match=r"version 1, but its files at .* if they are missing or damaged") as raised:
        registered(params, "waymark-judge", "1")
    assert "not those that were registered" in str(raised.value.__cause__)
    assert list(DOWNLOADS.iterdir()) == []


def test_a_server_that_wants_a_password_is_an_error_that_says_what_to_set(server, params, monkeypatch):
    for name in ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    with (
        pytest.raises(TrackingError, match="set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"),
        stage_run(params, "train_sft", "key", Path("state")),
    ):
        pass


def test_a_password_in_the_address_is_not_printed(server, params, capsys):
    address = server.url.replace("://", "://waymark:a-long-password@")
    tracking = params.tracking.model_copy(update={"tracking_uri": address})
    with stage_run(params.model_copy(update={"tracking": tracking}), "train_sft", "a key", Path("state")):
        pass
    assert capsys.readouterr().out == ""


def test_an_episode_with_a_long_answer_has_its_trace(server, params, logged_in):
    trajectory = a_trajectory(a_task(1500), answer="x" * 1500)
    with stage_run(params, "evaluate@sft", "long", Path("state")) as run:
        run.evaluation([trajectory], [])
    rows = server.rows(f"SELECT response_preview FROM trace_info WHERE request_preview LIKE '%{trajectory.task_id}%'")
    assert rows == [("x" * 1000,)]


def test_a_review_is_opened_and_read_on_a_server(params, logged_in):
    assert open_review(params.tracking, "first", [a_trajectory()]).trajectories == 1
    assert human_labels(params.tracking, "first") == []
