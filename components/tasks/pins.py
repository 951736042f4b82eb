"""Public task files by their DVC import: where each comes from, and the checksum of the version that was looked at.

`data/benchmarks/NAME.dvc` is what `dvc import-url` writes, with the checksum once more under `meta`, which DVC leaves
alone: `dvc update` fetches the file and writes the checksum of what it got into `outs`, without a word if that is
another file than before. Here the file is held to the pinned one, so that a set cannot change under its results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import yaml

from components.params import TaskFile
from components.records import Record

FOLDER = Path("data/benchmarks")


class ChangedSet(ValueError):
    """A public task file is not the version that its `.dvc` file pins."""


class MissingSet(FileNotFoundError):
    """A file of tasks that training tasks must not overlap with is not there."""


class Pin(Record):
    """A public task file: where it is put, where it comes from, and its pinned checksum and size (bytes)."""

    file: Path
    url: str
    md5: str
    size: int

    def state(self) -> Literal["missing", "pinned", "changed"]:
        """Whether the file is there, and is the pinned one."""
        if not self.file.exists():
            return "missing"
        found = hashlib.md5(self.file.read_bytes(), usedforsecurity=False).hexdigest()  # what DVC counts with
        return "pinned" if found == self.md5 else "changed"


def pins(folder: Path = FOLDER) -> list[Pin]:
    """The public task files that the project refers to, by name."""
    return [read_pin(path) for path in sorted(folder.glob("*.dvc"))]


def read_pin(path: Path) -> Pin:
    """Read a `.dvc` file of `dvc import-url` that has a pinned checksum.

    Raises:
        ValueError: it is no such file.
    """
    try:
        held = yaml.safe_load(path.read_text())
        (dep,), (out,) = held["deps"], held["outs"]
        return Pin(file=path.parent / out["path"], url=dep["path"], md5=held["meta"]["md5"], size=out["size"])
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no import with `meta: {{md5: …}}` ({error!r}); `git checkout {path}`") from error


def require_sets(files: Iterable[TaskFile]) -> None:
    """Hold `tasks.files` to be there, but for what is only trained on (`split: train`): training tasks are held to the
    tasks of every evaluation set, and one that is missing would let them all pass.

    Raises:
        MissingSet: names the first file that is missing, and how to get it.
    """
    named = (Path(one) for file in files if file.split != "train" for one in (file.path, file.answers) if one)
    missing = next((file for file in named if not file.exists()), None)
    if missing is not None:
        pointer = missing.with_name(f"{missing.name}.dvc")
        fix = f"`dvc update {pointer}` fetches it" if pointer.exists() else "put it there"
        raise MissingSet(
            f"{missing} of tasks.files is not there, and training tasks would not be held to its tasks: {fix}, or take "
            "the entry out. A file that is only trained on may be missing if its entry says `split: train`"
        )


def require_pinned(files: Iterable[Path | str]) -> None:
    """Hold those of the files that have a `.dvc` file with a pin beside them to it.

    Raises:
        ChangedSet: one is another version; the message says how to look at the change and how to accept it.
    """
    for file in map(Path, files):
        beside = file.with_name(f"{file.name}.dvc")
        if not beside.exists() or "meta:" not in beside.read_text():
            continue
        pin = read_pin(beside)
        if pin.state() == "changed":
            raise ChangedSet(
                f"{file} is not the version that {beside} pins ({pin.md5}): it changed at {pin.url} or here. "
                f"`waymark tasks diff OLD {file}` shows what changed; write its md5 into meta of {beside} to accept "
                f"it, or `git checkout {beside} && dvc checkout {beside}` to go back"
            )
