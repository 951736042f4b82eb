"""Public task files with their DVC imports: the source of each, and the checksum of the version that was reviewed.

`dvc import-url` writes `data/benchmarks/NAME.dvc`; here it has the checksum a second time under `meta`, which DVC never
changes. `dvc update` downloads the file and writes its checksum into `outs`, without a warning if the file changed.
This module compares the file with the pinned checksum, so that a set cannot change without notice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import yaml

from components.params import TaskFile
from components.params.recipe_file import ShallowLoader
from components.records import TRAINED_ON, Record

FOLDER = Path("data/benchmarks")


class ChangedSet(ValueError):
    """A public task file is not the version that its `.dvc` file pins."""


class MissingSet(FileNotFoundError):
    """A file of evaluation tasks is missing, so training tasks cannot be compared with it."""


class ImportedFile(Record):
    """A public task file: its path, its source, its pinned checksum and its size in bytes."""

    file: Path
    url: str
    md5: str
    size: int

    def state(self) -> Literal["missing", "pinned", "changed"]:
        """Whether the file exists, and has the pinned checksum."""
        if not self.file.exists():
            return "missing"
        checksum = hashlib.md5(self.file.read_bytes(), usedforsecurity=False).hexdigest()  # DVC uses MD5
        return "pinned" if checksum == self.md5 else "changed"


def imported_files(folder: Path = FOLDER) -> list[ImportedFile]:
    """The project's public task files, sorted by name."""
    return [read_import(path) for path in sorted(folder.glob("*.dvc"))]


def read_import(path: Path) -> ImportedFile:
    """Read a `.dvc` file of `dvc import-url` that has a pinned checksum.

    Raises:
        ValueError: the file has another form.
    """
    try:
        content = yaml.load(path.read_text(), ShallowLoader)
        (dep,), (out,) = content["deps"], content["outs"]
        return ImportedFile(
            file=path.parent / out["path"], url=dep["path"], md5=content["meta"]["md5"], size=out["size"]
        )
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a DVC import with `meta: {{md5: …}}` ({error!r}); `git checkout {path}`"
        ) from error


def require_sets(files: Iterable[TaskFile]) -> None:
    """Check that all files of `tasks.files` exist, except those that are only trained on (`split: train` or `rl`).

    Training tasks are compared with the tasks of every evaluation set; a missing set would let all of them pass.

    Raises:
        MissingSet: names the first missing file, and how to get it.
    """
    named = (Path(name) for file in files if file.split not in TRAINED_ON for name in (file.path, file.answers) if name)
    missing = next((file for file in named if not file.exists()), None)
    if missing is not None:
        pointer = missing.with_name(f"{missing.name}.dvc")
        fix = f"`dvc update {pointer}` downloads it" if pointer.exists() else "copy it there"
        raise MissingSet(
            f"{missing} of tasks.files is missing, so training tasks cannot be compared with its tasks: {fix}, or "
            "remove the entry. A file that is only trained on may be missing if its entry has `split: train` or "
            "`split: rl`"
        )


def require_pinned(files: Iterable[Path | str]) -> None:
    """Check the files that have a `.dvc` file with a pinned checksum beside them.

    Raises:
        ChangedSet: a file is another version; the message says how to see the change and how to accept it.
    """
    for file in map(Path, files):
        beside = file.with_name(f"{file.name}.dvc")
        if not beside.exists() or "meta:" not in beside.read_text():
            continue
        pinned = read_import(beside)
        if pinned.state() == "changed":
            raise ChangedSet(
                f"{file} is not the version that {beside} pins ({pinned.md5}): it changed at {pinned.url} or here. "
                f"`waymark tasks diff OLD {file}` shows what changed; write its md5 into meta of {beside} to accept "
                f"it, or `git checkout {beside} && dvc checkout {beside}` to go back"
            )
