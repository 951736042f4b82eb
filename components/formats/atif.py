"""ATIF 1.8, Harbor's Agent Trajectory Interchange Format, read and written: a `trajectory.json` with its images.

The records are in `atif_records`, what a trajectory of ours has beyond them in `atif_extension`. A secret that a
response contains is in its token ids, too: these and the log-probabilities of such a turn are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import ValidationError

from components.formats.atif_files import atif_files, read_documents, record_files
from components.formats.atif_reading import read_trajectory
from components.formats.atif_writing import document_of
from components.formats.building import published
from components.formats.files import problems, read_each, short_hash, waymark_version
from components.formats.interface import Damaged, Format, ReadTrajectory, Unreadable
from components.formats.json_writing import json_text
from components.formats.registry import register
from components.records import HAR, Reading, Trajectory, Verdict
from components.redaction import cleaned

FILE = "trajectory.json"
_FOLDER_NAME = re.compile(r"\w[\w.-]*")


@register
class Atif(Format):
    """A file, or a folder of them: Harbor's jobs, or what `waymark export --format atif` wrote."""

    name: ClassVar[str] = "atif"
    about: ClassVar[str] = f"ATIF, `{FILE}` with images beside it"
    writes: ClassVar[bool] = True

    def recognises(self, path: Path) -> bool:
        """Whether a file begins with ATIF's version."""
        return next(atif_files(path), None) is not None

    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """One trajectory per file that names ATIF's version or is called like a trajectory, with its continuations and
        without the trajectories of its subagents."""
        files = record_files(path)
        if not files:
            raise Unreadable(f"{path} has no file of ATIF: name a folder with {FILE}, or such a file")
        yield from read_each(files, path, _read)

    def write(
        self, trajectory: Trajectory, verdict: Verdict | None, folder: Path, clean: Callable[[str], str]
    ) -> list[str]:
        """Write `<trajectory_id>/trajectory.json`, and its images below `images`."""
        public, left_out = _without_secrets(trajectory, clean)
        judged = None if verdict is None else Verdict.model_validate(cleaned(verdict.model_dump(), clean))
        document, images = document_of(public, judged, waymark_version())
        text = json_text(document.model_dump(mode="json", exclude_none=True), indent=1)
        identity = trajectory.trajectory_id
        place = folder / (identity if _FOLDER_NAME.fullmatch(identity) else short_hash(identity))
        for path, image in images.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(image.data)
        place.mkdir(parents=True, exist_ok=True)
        (place / FILE).write_text(text + "\n", encoding="utf-8")
        return left_out


def _read(file: Path, root: Path) -> ReadTrajectory:
    documents = read_documents(file, root)
    try:
        return read_trajectory(documents, str(file.relative_to(root)), root.name)
    except ValidationError as error:
        raise Unreadable(f"{file}: what Waymark wrote was changed ({problems(error)}): export it again") from error


def _without_secrets(trajectory: Trajectory, clean: Callable[[str], str]) -> tuple[Trajectory, list[str]]:
    """The trajectory without secrets and diagnostics, and a sentence if tokens had to be left out."""
    public = published(trajectory, clean)
    turns, count = [], 0
    for original, turn in zip(trajectory.turns, public.turns, strict=True):
        is_same = original.response == turn.response
        turns.append(turn if is_same else turn.model_copy(update={"token_ids": [], "logprobs": []}))
        count += not is_same
    left_out = [f"{trajectory.trajectory_id}: the tokens of {count} turns, which contain a secret"] if count else []
    ending = public.ending
    if ending is not None and any(reading.url == HAR and reading.text for reading in ending.readings):
        readings = [_without_text(reading) if reading.url == HAR else reading for reading in ending.readings]
        ending = ending.model_copy(update={"readings": readings})
        left_out.append(f"{trajectory.trajectory_id}: the HAR, which has the cookies of its login")
    return public.model_copy(update={"turns": turns, "ending": ending}), left_out


def _without_text(reading: Reading) -> Reading:
    return reading.model_copy(update={"text": None, "error": "left out of the export: it has cookies"})
