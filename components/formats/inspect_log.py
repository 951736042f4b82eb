"""Logs of inspect_ai, written for `inspect view` and `inspect_ai.log.read_eval_log`: a file per world and policy.

The JSON form of a log is written without the library, because it is documented and the library brings 80 packages. The
samples of a log wait in a file of lines until the last one is there, so that one is in memory at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from components.formats.building import published
from components.formats.files import short_hash, waymark_version
from components.formats.inspect_records import Sample
from components.formats.inspect_writing import header_of, sample_of
from components.formats.interface import Damaged, Format, ReadTrajectory, Unreadable
from components.formats.json_writing import json_text
from components.formats.registry import register
from components.records import Trajectory, Verdict
from components.redaction import cleaned

SAMPLES = ".samples"
"""Suffix of the files of lines."""


@register
class InspectLog(Format):
    """A folder of logs."""

    name: ClassVar[str] = "inspect"
    about: ClassVar[str] = "logs of inspect_ai, which Waymark writes and cannot read"
    writes: ClassVar[bool] = True

    def recognises(self, path: Path) -> bool:
        """False, because logs are not read."""
        return False

    def read(self, path: Path) -> Iterator[ReadTrajectory | Damaged]:
        """Raises `Unreadable`, because a log has less information than the trajectory."""
        raise Unreadable(
            f"{path}: Waymark writes logs of inspect_ai and cannot read them: name the tables of the exported episodes"
        )

    def write(
        self, trajectory: Trajectory, verdict: Verdict | None, folder: Path, clean: Callable[[str], str]
    ) -> list[str]:
        """Add a sample to the log of its world and policy."""
        public = published(trajectory, clean)
        judged = None if verdict is None else Verdict.model_validate(cleaned(verdict.model_dump(), clean))
        line = _line(sample_of(public, judged))
        group = f"{public.task.source}\n{public.policy}"
        with (folder / f"{_slug(public.task.source)}_{short_hash(group)}{SAMPLES}").open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return []

    def finish(self, folder: Path) -> None:
        """Make a log of each file of samples. The names are those by which `inspect view` knows logs."""
        created = datetime.now(UTC).replace(microsecond=0).isoformat()
        for lines in sorted(folder.glob(f"*{SAMPLES}")):
            header = header_of(_samples(lines), created, waymark_version())
            name = f"{created.replace(':', '-')}_{lines.stem}.json"
            with (folder / name).open("w", encoding="utf-8") as file:
                file.write(header.model_dump_json(exclude_none=True).removesuffix("}") + ', "samples": [\n')
                for number, sample in enumerate(_samples(lines)):
                    file.write((",\n" if number else "") + _line(sample))
                file.write("\n]}\n")
            lines.unlink()


def _samples(lines: Path) -> Iterator[Sample]:
    """The samples of a file; the episodes of a task are its epochs, in their order."""
    episodes: Counter[str] = Counter()
    with lines.open(encoding="utf-8") as file:
        for line in file:
            sample = Sample.model_validate_json(line)
            episodes[sample.id] += 1
            yield sample.model_copy(update={"epoch": episodes[sample.id]})


def _line(sample: Sample) -> str:
    return json_text(sample.model_dump(mode="json", exclude_none=True))


def _slug(text: str) -> str:
    return re.sub(r"[^\w-]+", "-", text).strip("-") or "waymark"
