"""Who is evaluated, found by what a person types."""

from __future__ import annotations

import shutil

import pytest

from components import tracking
from components.benchmarks.spec import BenchmarkError
from components.benchmarks.subject import resolve_subject
from tests.samples import recipe


def test_the_same_weights_have_the_same_key_wherever_they_lie(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one/model.safetensors").write_bytes(b"weights")
    (tmp_path / "one/config.json").write_text("{}")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    first, second = (resolve_subject(str(tmp_path / name), recipe()) for name in ("one", "two"))
    assert first.key == second.key
    assert first.label == str(tmp_path / "one")
    notes = tmp_path / "two/.cache/huggingface/download"
    notes.mkdir(parents=True)
    (notes / "config.json.metadata").write_text("of a time")
    assert resolve_subject(str(tmp_path / "two"), recipe()).key == first.key
    (tmp_path / "two/model.safetensors").write_bytes(b"others")
    assert resolve_subject(str(tmp_path / "two"), recipe()).key != first.key


def test_a_hugging_face_name_is_told_from_a_directory_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve_subject("Qwen/Qwen3-VL-4B-Thinking", recipe()).key == "Qwen-Qwen3-VL-4B-Thinking"
    (tmp_path / "models").mkdir()
    for missing in ("models/rl-long", "/nowhere/at/all", "model", "a/b/c", "models:/waymark-policy"):
        with pytest.raises(BenchmarkError, match=f"--model {missing} is not a directory"):
            resolve_subject(missing, recipe())


def test_two_names_have_two_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["me/agent-sft", "me/agent_sft", "me-agent/sft", "me/agent--sft"]
    endpoint = {"url": "http://127.0.0.1:1/v1", "model": names[0]}
    params = recipe(teacher__policy="endpoint", teacher__endpoint=endpoint)
    keys = [resolve_subject(name, params).key for name in (*names, "teacher")]
    assert len(set(keys)) == len(keys)
    assert keys[0] == "me-agent-sft"


def test_a_folder_without_a_model_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for empty in (str(tmp_path), ""):
        with pytest.raises(BenchmarkError, match=r"holds no model: it has no config\.json"):
            resolve_subject(empty, recipe())


def test_the_recipes_teacher_is_a_model_behind_its_endpoint_or_the_script():
    behind = recipe(teacher__policy="endpoint", teacher__endpoint={"url": "http://127.0.0.1:1/v1", "model": "a/b"})
    assert resolve_subject("teacher", behind).key == "teacher-a-b"
    assert resolve_subject("teacher", behind).is_priced
    assert resolve_subject("teacher", recipe()).open is None


def test_a_missing_champion_is_an_error_with_the_remedy(tmp_path):
    empty = recipe(tracking={"tracking_uri": f"sqlite:///{tmp_path}/empty.db"})
    with pytest.raises(BenchmarkError, match=r"no model of waymark-policy.*--model"):
        resolve_subject("champion", empty)


def test_a_registered_version_is_named_by_number_or_alias(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = recipe(tracking={"tracking_uri": f"sqlite:///{tmp_path}/store.db"})
    (tmp_path / "model").mkdir()
    (tmp_path / "model/model.safetensors").write_bytes(b"weights")
    (tmp_path / "model/config.json").write_text("{}")
    with tracking.stage_run(params, "train_sft", "key", tmp_path / "state") as run:
        run.register(tmp_path / "model", tracking.POLICY)
    by_number, by_alias = (resolve_subject(f"models:/waymark-policy{name}", params) for name in ("/1", "@candidate"))
    assert by_number.label == by_alias.label == "waymark-policy version 1"
    assert by_number.key == resolve_subject(str(tmp_path / "model"), params).key
    with pytest.raises(tracking.TrackingError, match="the registry has no version 2 of waymark-policy"):
        resolve_subject("models:/waymark-policy/2", params)
    other = params.model_copy(update={"observation": params.observation.model_copy(update={"text": "none"})})
    with pytest.raises(BenchmarkError, match="whose model input differs"):
        resolve_subject("models:/waymark-policy/1", other)
