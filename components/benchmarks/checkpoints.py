"""Where the checkpoint of a reproduction is on this machine, whether all of it is there, and which commit it is."""

from __future__ import annotations

import json
from pathlib import Path

from components.benchmarks.reproduction import Reproduction
from components.benchmarks.spec import BenchmarkError

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


def find_checkpoint(reproduction: Reproduction, given: Path | None = None) -> Path | None:
    """The folder of the checkpoint, at the pinned commit if there is one: `given`, or the folder in the cache of the
    Hugging Face hub. None if the cache does not have all of it.

    Raises:
        BenchmarkError: `given` has no model or a part of one, or is not known to be the pinned commit.
    """
    if given is None:
        folder = _cached_folder(reproduction)
        return None if folder is None or missing_files(folder) else folder
    if not (given / CONFIG).exists():
        raise BenchmarkError(f"--checkpoint {given} has no {CONFIG}: name the folder of the model")
    if missing := missing_files(given):
        raise BenchmarkError(f"--checkpoint {given} lacks {_listed(missing)}: {_download(reproduction)} completes it")
    if reproduction.revision is not None and (commit := commit_of(given)) != reproduction.revision:
        origin = "does not record its commit" if commit is None else f"is commit {commit}"
        raise BenchmarkError(
            f"--checkpoint {given} {origin}, and {reproduction.name} pins {reproduction.revision}: take a folder of "
            f"{_download(reproduction)} (also with --local-dir), or write a reproduction that extends "
            f"{reproduction.name} and has `revision: null`"
        )
    return given


def absence(reproduction: Reproduction) -> str:
    """Why the cache has no checkpoint that can be used, and what to do."""
    folder, other = _cached_folder(reproduction), "or name its folder with --checkpoint"
    if folder is None:
        return f"the checkpoint is not here: {_download(reproduction)}, {other}"
    return (
        f"the checkpoint is here in part, {folder} lacks {_listed(missing_files(folder))}: {_download(reproduction)} "
        f"completes it, {other}"
    )


def unpinned(reproduction: Reproduction, folder: Path | None) -> str | None:
    """That a reproduction pins no commit, and how to pin one; None if it does.

    Args:
        folder: of the checkpoint; None if it is not here.
    """
    if reproduction.revision is not None:
        return None
    commit = None if folder is None else commit_of(folder)
    here = "" if commit is None else f"; the checkpoint that is here is commit {commit}"
    return (
        "the checkpoint is not pinned, so what its name stands for may change: write the commit that was evaluated, of "
        f"those on https://huggingface.co/{reproduction.checkpoint}/commits/main, as `revision` into the reproduction "
        f"{reproduction.name}{here}"
    )


def missing_files(folder: Path) -> list[str]:
    """The files of weights that a model's folder lacks: those that its index names, or the only one if there is no
    index.

    Raises:
        BenchmarkError: the index cannot be read.
    """
    index = folder / INDEX
    if not index.exists():
        return [] if (folder / WEIGHTS).exists() else [f"{WEIGHTS} or {INDEX}"]
    return [name for name in _shards(index) if not (folder / name).exists()]


def commit_of(folder: Path) -> str | None:
    """The commit of a folder that the hub's client downloaded, into its cache or, with `--local-dir`, elsewhere; None
    if the folder does not record one commit for its configuration and all of its weights, as they are now."""
    if folder.resolve().parent.name == "snapshots":
        return folder.resolve().name
    index = folder / INDEX
    weights = [INDEX, *_shards(index)] if index.exists() else [WEIGHTS]
    commits = {_recorded_commit(folder, name) for name in (CONFIG, *weights)}
    return commits.pop() if len(commits) == 1 else None


def _recorded_commit(folder: Path, name: str) -> str | None:
    """The commit from which a file was downloaded with `--local-dir`; None without a record, or if it changed since."""
    record = folder / ".cache/huggingface/download" / f"{name}.metadata"
    try:
        commit, _, recorded_at = record.read_text(encoding="utf-8").split("\n")[:3]
        is_unchanged = (folder / name).stat().st_mtime <= float(recorded_at) + 1  # seconds, as the hub's client allows
    except (OSError, ValueError):
        return None
    return commit if is_unchanged else None


def _cached_folder(reproduction: Reproduction) -> Path | None:
    """The folder in the hub's cache that has the model's configuration."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(reproduction.checkpoint, CONFIG, revision=reproduction.revision)
    return Path(config).parent if isinstance(config, str) else None


def _shards(index: Path) -> list[str]:
    try:
        names = sorted({str(name) for name in json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchmarkError(f"{index} is damaged: delete it and download the checkpoint again") from error
    if not names:
        raise BenchmarkError(f"{index} names no weights: delete it and download the checkpoint again")
    return names


def _download(reproduction: Reproduction) -> str:
    revision = f" --revision {reproduction.revision}" if reproduction.revision else ""
    return f"`hf download {reproduction.checkpoint}{revision}`"


def _listed(names: list[str], most: int = 3) -> str:
    others = f" and {len(names) - most} more files" if len(names) > most else ""
    return ", ".join(names[:most]) + others
