"""A version is its content. `candidate` is the newest version, `champion` moves on evidence, and both are recorded."""

from __future__ import annotations

import errno
import json
import shutil
from multiprocessing.context import ForkServerContext
from pathlib import Path
from unittest.mock import Mock

import pytest
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion as MlflowVersion
from mlflow.entities.model_registry import ModelVersionTag
from mlflow.exceptions import MlflowException

from components.params import Params
from components.tracking import ChampionChanged, champion, model_digest, promote, registry, runs, stage_run
from components.tracking.backend import TrackingError
from components.tracking.registry import CONTEXT, JUDGE, POLICY, ModelVersion, interface_tags
from tests.tracking.stage_processes import register

NAME = "waymark-policy"


@pytest.fixture
def model(checkout: Path) -> Path:
    path = Path("models/sft")
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"one")
    return path


def registered(params: Params, path: Path, key: str = "key") -> int:
    with stage_run(params, "train_sft", key, Path(key)) as run:
        return run.register(path, NAME)


def test_a_model_becomes_a_version_with_the_alias_candidate(params: Params, client: MlflowClient, model: Path) -> None:
    assert registered(params, model) == 1
    version = client.get_model_version_by_alias(NAME, "candidate")
    assert version.tags["waymark.stage"] == "train_sft"
    assert version.tags["waymark.recipe"] == "sample"
    copy = Path(version.source.removeprefix("file://"))
    assert sorted(p.name for p in copy.iterdir()) == ["config.json", "model.safetensors"]
    assert client.get_run(version.run_id).data.tags[f"waymark.registered.{NAME}"] == "1"


def test_the_same_content_is_the_same_version_and_copied_once(
    params: Params, client: MlflowClient, model: Path, checkout: Path
) -> None:
    assert registered(params, model) == registered(params, model, "again") == 1
    (model / "model.safetensors").write_bytes(b"two")
    assert registered(params, model) == 2
    (model / "model.safetensors").write_bytes(b"one")
    assert registered(params, model) == 1
    assert int(client.get_model_version_by_alias(NAME, "candidate").version) == 1
    copies = [p.read_bytes() for p in (checkout / "mlflow/store/artifacts").rglob("model.safetensors")]
    assert sorted(copies) == [b"one", b"two"]


def test_what_is_no_part_of_the_model_makes_no_other_version(checkout: Path, params: Params, model: Path) -> None:
    before = model_digest(model)
    assert registered(params, model) == 1
    (model / "optimizer.pt").write_bytes(b"state")
    (model / ".cache/huggingface").mkdir(parents=True)
    (model / ".cache/huggingface/config.json.metadata").write_text("of a download")
    assert registered(params, model, "with an optimizer") == 1
    assert model_digest(model) == before
    (model / "model.safetensors").write_bytes(b"two")
    assert registered(params, model, "of other weights") == 2
    assert model_digest(model) != before
    copies = {path.name for path in (checkout / "mlflow/store/artifacts").rglob("*")}
    assert copies.isdisjoint({"optimizer.pt", "config.json.metadata"})


@pytest.mark.parametrize("change", [{"feedback": False}, {"reasoning_history": False}, {"repeat_task": True}])
def test_models_that_see_other_contexts_have_other_interfaces(params: Params, change: dict[str, bool]) -> None:
    def version(name: str, leave_out: str = "") -> ModelVersion:
        tags = {tag: value for tag, value in interface_tags(name, params).items() if tag != leave_out}
        return ModelVersion(name, 3, Path("models"), tags)

    other = params.model_copy(update={"agent": params.agent.model_copy(update=change)})
    assert version(POLICY).foreign_to(params) is None
    assert "whose model input differs from that of" in str(version(POLICY).foreign_to(other))
    assert version(JUDGE).foreign_to(other) is None, "a judge sees the whole episode"
    assert version(POLICY, leave_out=CONTEXT).foreign_to(other) is None, "a version of before the tag is accepted"


def test_no_model_directory_is_an_error(params: Params, checkout: Path) -> None:
    with pytest.raises(TrackingError, match="models/nothing: no model directory to register as waymark-policy"):
        registered(params, Path("models/nothing"))


def test_there_is_no_champion_before_one_is_made(params: Params, model: Path) -> None:
    assert champion(params, NAME) is None
    registered(params, model)
    assert champion(params, NAME) is None


def test_the_champion_is_a_directory_that_stays_when_the_output_changes(params: Params, model: Path) -> None:
    version = registered(params, model)
    promote(params, NAME, version, {"diff": 0.2, "ci95": [0.1, 0.3], "against": "none"})
    (model / "model.safetensors").write_bytes(b"two")
    found = champion(params, NAME)
    assert found.version == 1
    assert (found.path / "model.safetensors").read_bytes() == b"one"
    assert json.loads(found.tags["waymark.ci95"]) == [0.1, 0.3]
    assert found.tags["waymark.against"] == "none"


def test_a_champion_is_replaced_only_by_what_was_compared_with_it(params: Params, model: Path) -> None:
    first = registered(params, model)
    promote(params, NAME, first, {})
    (model / "model.safetensors").write_bytes(b"two")
    second = registered(params, model)
    for known in (None, second + 1):
        with pytest.raises(ChampionChanged, match=f"version {first} of {NAME} has become the champion meanwhile"):
            promote(params, NAME, second, {}, known)
    assert champion(params, NAME).version == first
    promote(params, NAME, second, {}, first)
    assert champion(params, NAME).version == second
    promote(params, NAME, second, {}, second)  # a stage that was killed says it again


@pytest.mark.parametrize("promoted", [True, False])
def test_a_decision_is_recorded_either_way(params: Params, client: MlflowClient, model: Path, promoted: bool) -> None:
    with stage_run(params, "evaluate@rl", "key", Path("state")) as run:
        version = run.register(model, NAME)
        run.decision(NAME, version, promoted, {"diff": 0.2, "ci95": [-0.1, 0.5]}, None)
    data = client.get_run(run.run_id).data
    said = "is the champion now" if promoted else "did not become the champion"
    assert data.tags[f"waymark.decision.{NAME}"].startswith(f"version 1 {said}: ")
    assert data.metrics[f"decision.{NAME}.promoted"] == promoted
    assert data.metrics[f"decision.{NAME}.ci95.0"] == -0.1
    assert (champion(params, NAME) is not None) == promoted


def test_a_decision_is_recorded_before_the_alias_moves(
    params: Params, client: MlflowClient, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "promote", killed)
    with pytest.raises(KeyboardInterrupt), stage_run(params, "evaluate@rl", "key", Path("state")) as run:
        run.decision(NAME, run.register(model, NAME), True, {"diff": 0.2}, None)
    data = client.get_run(run.run_id).data
    assert data.tags[f"waymark.decision.{NAME}"] == 'version 1 is the champion now: {"diff": 0.2}'
    assert data.metrics[f"decision.{NAME}.diff"] == 0.2


def test_a_champion_whose_files_are_gone_is_an_error_that_says_what_to_do(
    params: Params, model: Path, checkout: Path
) -> None:
    promote(params, NAME, registered(params, model), {})
    shutil.rmtree(checkout / "mlflow/store/artifacts")
    with pytest.raises(TrackingError, match=r"files at .* if they are missing or damaged, restore them, or move"):
        champion(params, NAME)


LOST = (
    "The following failures occurred while downloading one or more artifacts from runs:/1/files:\n##### File a #####\n"
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), r"do not fit on the disk of \S+models: free space and run"),
        (MlflowException(f"{LOST}[Errno 28] No space left on device: 'a'"), "do not fit on the disk of"),
        (
            MlflowException(f"{LOST}API request to http://host/a failed with exception HTTPConnectionPool"),
            "^the MLflow server is out of reach: start it",
        ),
        (
            MlflowException(f"{LOST}('Connection broken', IncompleteRead)"),
            r"cannot be read \(.* File a .*'Connection broken'.*\): if they are missing .*; else remove the cause",
        ),
    ],
    ids=["disk", "disk of MLflow", "server", "connection"],
)
def test_a_champion_that_cannot_be_downloaded_is_not_said_to_be_damaged(
    params: Params, model: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    promote(params, NAME, registered(params, model), {})
    monkeypatch.setattr("mlflow.utils.uri.is_local_uri", lambda uri: False)
    monkeypatch.setattr(registry, "_downloaded", Mock(side_effect=error))
    with pytest.raises(TrackingError, match=said):
        champion(params, NAME)


@pytest.mark.parametrize("has_digest", [True, False], ids=["ours", "made in MLflow"])
def test_a_model_that_two_processes_download_at_once_is_there_for_both(model: Path, has_digest: bool) -> None:
    def fetch(dst_path: str) -> str:
        (part,) = registry.DOWNLOADS.iterdir()
        name = part.name.split(".")[1]
        shutil.copytree(model, registry.DOWNLOADS / name)  # the other process is faster
        return str(shutil.copytree(model, f"{dst_path}/files"))

    digest = model_digest(model)
    tags = [ModelVersionTag(registry.DIGEST, digest)] if has_digest else []
    version = MlflowVersion(NAME, "1", 0, source="mlflow-artifacts:/1/model", tags=tags)
    path = registry._downloaded(fetch, version)
    assert model_digest(path) == digest
    assert (path.name == digest) == has_digest
    assert list(registry.DOWNLOADS.iterdir()) == [path]


def test_two_stages_that_register_one_model_at_once_make_one_version(
    model: Path, forkserver: ForkServerContext
) -> None:
    receiver, sender = forkserver.Pipe(duplex=False)
    children = [forkserver.Process(target=register, args=(name, sender)) for name in ("a", "b")]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    assert [receiver.recv() for _ in children if receiver.poll(0)] == [1, 1]
