"""Files that a stage reads and git does not have, such as task files: each clone has its own, and they must agree.

They are compared and not sent, because a set of tasks can be larger than all else that a run moves.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.params import value_at
from flows.recipe_files import UNTRACKED_INPUTS, possible_paths

_PART = 1024 * 1024
"""Bytes at the beginning and at the end of a file that are compared, beside its size."""


def untracked(
    root: Path, recipe: Mapping[str, object], keys: Sequence[str], reads: Sequence[str] = ()
) -> dict[str, str]:
    """The files and folders that a stage reads and git does not track, each with its fingerprint.

    They are those that the stage's part of the recipe names. Of the folders of task files and demonstrations that DVC
    tracks they are the folder, so that a file too many is noticed, and each file in it.

    Args:
        keys: the dotted keys of the recipe that the stage depends on.
        reads: the files and folders that it depends on.
    """
    named = possible_paths([value_at(recipe, key) for key in keys])
    paths = {os.path.normpath(text) for text in named if _is_path(root, text)}
    paths = {path for path in paths if not _is_tracked(root, path)}
    for folder in set(UNTRACKED_INPUTS).intersection(reads):
        if (root / folder).is_dir():
            paths |= {folder, *(f"{folder}/{name}" for name in _names(root / folder))}
    return {path: fingerprint(root / path) for path in sorted(paths)}


def differences(root: Path, expected: Mapping[str, str]) -> list[str]:
    """Names of files that this clone lacks or has with other content, with one of the two words."""
    return [
        f"{path} ({'differs' if (root / path).exists() else 'is missing'})"
        for path, value in expected.items()
        if not (root / path).exists() or fingerprint(root / path) != value
    ]


def fingerprint(path: Path) -> str:
    """A digest of the size, the beginning and the end of a file, or of the names in a folder without hidden ones: each
    machine may have logins of its own."""
    checksum = hashlib.sha256()
    if path.is_dir():
        checksum.update("\n".join(_names(path)).encode())
    else:
        size = path.stat().st_size
        checksum.update(f"{size}\0".encode())
        with path.open("rb") as content:
            checksum.update(content.read(_PART))
            content.seek(max(_PART, size - _PART))
            checksum.update(content.read(_PART))
    return checksum.hexdigest()[:16]


def _names(folder: Path) -> list[str]:
    names = [file.relative_to(folder) for file in folder.rglob("*") if file.is_file()]
    return sorted(name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts))


def _is_path(root: Path, text: str) -> bool:
    """Whether a text is the path of a file, or with a slash of a folder, which has not the clone in it."""
    path = root / text
    return path.is_file() or ("/" in text and path.is_dir() and not root.resolve().is_relative_to(path.resolve()))


def _is_tracked(root: Path, path: str) -> bool:
    """Whether git has a file, or a file of a folder; what is outside of the clone it does not have."""
    listed = subprocess.run(["git", "ls-files", "--", path], cwd=root, capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip())
