"""The files of a folder with ATIF: which are records of their own, and which belong to the record of another file.

An agent that summarises its context may go on in another file (`continued_trajectory_ref`): both are one record. A
trajectory of a subagent (`subagent_trajectory_ref`) is a part of its agent's work, and no attempt at the task.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from components.formats.atif_records import PREFIX, Document
from components.formats.files import parsed, read_json_file
from components.formats.interface import Unreadable

HEAD = 4096
"""Bytes of a file in which `schema_version` is looked for."""
_SUMMARY = re.compile(r"trajectory\.summarization-\d+-\w+\.json")
"""Of Harbor's agent Terminus, whose documents do not name a summary that failed."""
_REFERENCES = (b"continued_trajectory_ref", b"subagent_trajectory_ref")


def atif_files(path: Path) -> Iterator[Path]:
    """Files of JSON that name a version of ATIF at their beginning."""
    for file in path.rglob("*.json") if path.is_dir() else [path]:
        if file.suffix == ".json" and file.is_file():
            with file.open("rb") as opened:
                if PREFIX.encode() in opened.read(HEAD):
                    yield file


def record_files(path: Path) -> list[Path]:
    """The first file of each record, in order. They name ATIF's version or are called like a trajectory."""
    if not path.is_dir():
        return [path]
    files = sorted({*atif_files(path), *path.rglob("*trajectory*.json")})
    named = _named(files)
    return [file for file in files if _normal(file) not in named and not _SUMMARY.fullmatch(file.name)]


def read_documents(file: Path, root: Path) -> dict[Path, Document]:
    """The document of a record and its continuations, by their files.

    Args:
        root: the folder that a continuation must be in, because a judge's endpoint gets what it has.

    Raises:
        Unreadable: a file is no document of ATIF, or a continuation is not there.
    """
    documents = {file: _document(file)}
    last = file
    while (reference := documents[last].continued_trajectory_ref) is not None:
        following = _normal(last.parent / reference)
        goes_on = f"{last}: goes on in {reference!r}, which"
        if following in map(_normal, documents):
            raise Unreadable(f"{goes_on} it went through: correct the reference")
        if not following.resolve().is_relative_to(root.resolve()):
            raise Unreadable(f"{goes_on} leads out of {root}: copy it into the folder")
        if not following.is_file():
            raise Unreadable(f"{goes_on} does not exist: copy it into the folder")
        documents[following] = _document(following)
        last = following
    return documents


def _document(file: Path) -> Document:
    return parsed(Document, read_json_file(file), str(file), "trajectory of ATIF 1.x")


def _normal(file: Path) -> Path:
    """One spelling of a path; what it leads to is not looked up."""
    return Path(os.path.normpath(file))


def _named(files: Iterable[Path]) -> set[Path]:
    """The files that belong to the record of another one. Of files that name each other in a circle, none does."""
    references = {_normal(file): _references(file) for file in files}
    waiting = {*references}.difference(*references.values())
    reached: set[Path] = set()
    while waiting:
        waiting = set().union(*(references.get(file, ()) for file in waiting)) - reached
        reached |= waiting
    return reached


def _references(file: Path) -> set[Path]:
    """The continuation and the subagents of a document; empty if it cannot be read, which its record says."""
    try:
        content = file.read_bytes()
        document = _document(file) if any(key in content for key in _REFERENCES) else None
    except (OSError, Unreadable):
        return set()
    if document is None:
        return set()
    results = [result for step in document.steps if step.observation for result in step.observation.results]
    agents = [agent.trajectory_path for result in results for agent in result.subagent_trajectory_ref or []]
    return {_normal(file.parent / path) for path in [document.continued_trajectory_ref, *agents] if path is not None}
