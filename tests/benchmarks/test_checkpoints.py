"""The checkpoint of a reproduction: all of it, at the pinned commit, and what is said where it is not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub._local_folder import write_download_metadata
from pydantic import ValidationError

from components.benchmarks.checkpoints import CONFIG, INDEX, WEIGHTS, absence, commit_of, find_checkpoint, unpinned
from components.benchmarks.reproduction import Reproduction, load_reproduction
from components.benchmarks.spec import BenchmarkError
from components.cli.main import main
from components.params import complete

ROOT = Path(__file__).parents[2]
COMMIT, LATER = "a" * 40, "b" * 40
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's client."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub/models--Somebody--Agent"


def a_reproduction(revision: str | None = None) -> Reproduction:
    values = load_reproduction(ROOT / "recipes/reproductions/openwebrl-4b.yaml").model_dump(mode="json")
    return Reproduction.model_validate(values | {"checkpoint": "Somebody/Agent", "revision": revision})


def lay_weights(folder: Path, shards: tuple[str, ...] = SHARDS) -> Path:
    """A model of two shards, of which some are there."""
    folder.mkdir(parents=True)
    (folder / CONFIG).write_text("{}")
    (folder / INDEX).write_text(json.dumps({"weight_map": {f"layer{n}": name for n, name in enumerate(SHARDS * 2)}}))
    for name in shards:
        (folder / name).write_bytes(b"")
    return folder


def download(hub: Path, commit: str, shards: tuple[str, ...] = SHARDS, is_main: bool = True) -> Path:
    """A snapshot as the hub's client lays it."""
    if is_main:
        (hub / "refs").mkdir(parents=True, exist_ok=True)
        (hub / "refs/main").write_text(commit)
    return lay_weights(hub / "snapshots" / commit, shards)


def test_a_checkpoint_that_was_not_downloaded_is_not_here(hub: Path) -> None:
    assert find_checkpoint(a_reproduction()) is None
    assert absence(a_reproduction()).startswith("the checkpoint is not here: `hf download Somebody/Agent`, or name")


def test_a_download_counts_only_with_all_of_its_shards(hub: Path) -> None:
    folder = download(hub, COMMIT, SHARDS[:1])
    assert find_checkpoint(a_reproduction()) is None
    assert absence(a_reproduction()) == (
        f"the checkpoint is here in part, {folder} lacks {SHARDS[1]}: `hf download Somebody/Agent` completes it, or "
        "name its folder with --checkpoint"
    )
    (folder / SHARDS[1]).symlink_to(hub / "blobs/not-yet")
    assert find_checkpoint(a_reproduction()) is None, "a link to a file that is not there is no shard"
    (folder / SHARDS[1]).unlink()
    (folder / SHARDS[1]).write_bytes(b"")
    assert find_checkpoint(a_reproduction()) == folder


def test_shards_without_their_index_are_a_part(hub: Path) -> None:
    folder = download(hub, COMMIT)
    (folder / INDEX).unlink()
    assert find_checkpoint(a_reproduction()) is None
    assert f"lacks {WEIGHTS} or {INDEX}" in absence(a_reproduction())
    (folder / WEIGHTS).write_bytes(b"")
    assert find_checkpoint(a_reproduction()) == folder, "small models have one file"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {}}', '{"weight_map": null}'])
def test_a_damaged_index_is_named(hub: Path, text: str) -> None:
    (download(hub, COMMIT) / INDEX).write_text(text)
    with pytest.raises(BenchmarkError, match=rf"{INDEX} .*: delete it and download the checkpoint again"):
        find_checkpoint(a_reproduction())


def test_a_pinned_checkpoint_is_that_of_its_commit_alone(hub: Path) -> None:
    later = download(hub, LATER)
    assert find_checkpoint(a_reproduction()) == later
    assert find_checkpoint(a_reproduction(COMMIT)) is None
    assert f"`hf download Somebody/Agent --revision {COMMIT}`" in absence(a_reproduction(COMMIT))
    pinned = download(hub, COMMIT, SHARDS[:1], is_main=False)
    assert find_checkpoint(a_reproduction(COMMIT)) is None, "the shards of another commit complete none"
    (pinned / SHARDS[1]).write_bytes(b"")
    assert find_checkpoint(a_reproduction(COMMIT)) == pinned


@pytest.mark.parametrize("revision", ["main", "a" * 7, "A" * 40, ""])
def test_a_revision_that_may_change_is_refused(revision: str) -> None:
    with pytest.raises(ValidationError, match="is no commit and may change: give the 40 digits"):
        a_reproduction(revision)


def test_a_named_folder_has_all_of_the_model(tmp_path: Path) -> None:
    folder = lay_weights(tmp_path / "model", SHARDS[1:])
    with pytest.raises(BenchmarkError, match=rf"--checkpoint .*/model lacks {SHARDS[0]}: `hf download"):
        find_checkpoint(a_reproduction(), folder)
    (folder / SHARDS[0]).write_bytes(b"")
    assert find_checkpoint(a_reproduction(), folder) == folder
    with pytest.raises(BenchmarkError, match=r"has no config\.json: name the folder of the model"):
        find_checkpoint(a_reproduction(), tmp_path)


def test_a_named_folder_is_known_to_be_the_pinned_commit(tmp_path: Path) -> None:
    folder = lay_weights(tmp_path / "model")
    with pytest.raises(BenchmarkError, match=rf"does not record its commit, and openwebrl-4b pins {COMMIT}"):
        find_checkpoint(a_reproduction(COMMIT), folder)
    for name in (CONFIG, INDEX, *SHARDS):
        write_download_metadata(folder, name, COMMIT, "etag")
    assert find_checkpoint(a_reproduction(COMMIT), folder) == folder
    with pytest.raises(BenchmarkError, match=rf"is commit {COMMIT}, and openwebrl-4b pins {LATER}"):
        find_checkpoint(a_reproduction(LATER), folder)
    write_download_metadata(folder, SHARDS[0], LATER, "etag")
    assert commit_of(folder) is None, "files of two commits are none"


def test_weights_that_changed_after_their_download_are_no_commit(tmp_path: Path) -> None:
    folder = lay_weights(tmp_path / "model")
    for name in (CONFIG, INDEX, *SHARDS):
        write_download_metadata(folder, name, COMMIT, "etag")
    assert commit_of(folder) == COMMIT
    trained_at = (folder / SHARDS[0]).stat().st_mtime + 60
    os.utime(folder / SHARDS[0], (trained_at, trained_at))
    assert commit_of(folder) is None


def test_a_checkpoint_without_a_pin_is_said_with_how_to_pin_it(hub: Path) -> None:
    assert unpinned(a_reproduction(COMMIT), None) is None
    text = unpinned(a_reproduction(), None)
    assert text is not None
    assert "is not pinned" in text
    assert "https://huggingface.co/Somebody/Agent/commits/main, as `revision` into the reproduction openwebrl" in text
    assert "the checkpoint that is here" not in text
    folder = download(hub, COMMIT)
    assert (unpinned(a_reproduction(), folder) or "").endswith(f"; the checkpoint that is here is commit {COMMIT}")


def test_the_command_names_what_a_checkpoint_lacks(
    tmp_path: Path, hub: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").write_text(complete(ROOT / "recipes/demo.yaml"))
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "openwebrl-4b", "--checkpoint", str(tmp_path)]) == 1
    assert "has no config.json" in capsys.readouterr().err
    download(hub.with_name("models--OpenWebRL--OpenWebRL-4B"), COMMIT, SHARDS[:1])
    assert main(["reproduce", "openwebrl-4b"]) == 3
    out = capsys.readouterr().out
    assert "the checkpoint is not pinned, so what its name stands for may change" in out
    assert f"the checkpoint is here in part, {hub.parent}" in out
    assert main(["reproduce", "openwebrl-4b-sft", "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["unpinned"] is None
