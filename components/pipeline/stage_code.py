"""The code that a stage runs: its digest, and what of it changed between the stage's first try and its end."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from components import store
from components.worlds import World

TRIED = "code.json"
"""The file in a stage's state directory with the digests of the code of its first try."""

OTHER_INTERPRETERS = ("judge/verified", "policies/vllm/engine")
"""Folders of this package whose files run under another interpreter: the process of a stage does not load them."""


def code_files(worlds: Iterable[World]) -> dict[str, Path]:
    """The files that a stage runs, by names that are the same on another machine: the loaded modules of this package,
    the scripts beside them, and what is loaded later or by another process, which is the folders of
    `OTHER_INTERPRETERS` and the sources of the worlds."""
    home = Path(store.__file__).parent
    loaded = {Path(file) for module in [*sys.modules.values()] if (file := getattr(module, "__file__", None))}
    files = {file for file in loaded if file.is_relative_to(home)}
    files |= {script for file in files for script in file.parent.glob("*.js")}
    files |= {file for folder in OTHER_INTERPRETERS for file in (home / folder).glob("*.py")}
    named: dict[str, Path] = {}
    for world in worlds:
        sources = set(world.sources())
        outside = {file for file in sources if not file.is_relative_to(home)}
        files |= sources - outside
        if outside:
            root = os.path.commonpath([file.parent for file in outside])
            named |= {f"{world.name}/{file.relative_to(root).as_posix()}": file for file in outside}
    named |= {f"{home.name}/{file.relative_to(home).as_posix()}": file for file in files}
    return dict(sorted(named.items()))


def digests(files: Mapping[str, Path]) -> dict[str, str]:
    """The digest of each file, by name; "gone" for one that does not exist."""
    return {
        name: hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "gone" for name, file in files.items()
    }


def of_first_try(state: Path, now: Mapping[str, str]) -> dict[str, str]:
    """The digests that the stage's first try wrote down, which are those of `now` if this is the first."""
    path = state / TRIED
    if not path.exists():
        store.write_json(path, now)
    first: dict[str, str] = json.loads(path.read_text())
    return first


def changed(first: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names of files of the first try that have another content now or are gone. A file of this package that the stage
    did not load in a later try is read again."""
    home = Path(store.__file__).parent
    unloaded = {name: home.parent / name for name in first if name not in now and name.startswith(f"{home.name}/")}
    known = {**now, **digests(unloaded)}
    return [name for name, digest in first.items() if known.get(name) != digest]
