"""The header of a `params.yaml`, and what it tells of changes by hand since `waymark use` wrote the file.

The header names the recipe and has a digest of the other lines. The digest tells changes by hand from a recipe or a
default that changed later: the former change the lines, and the latter leave the file as it was written.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

_WRITTEN = "# Written by `waymark use` from "
_DIGEST = "# By this digest of all other lines, `waymark use` notices changes made here: "
_DIGITS = 16


class State(StrEnum):
    """How a params.yaml came to be as it is."""

    AS_WRITTEN = "as written"
    """`waymark use` wrote every line."""
    CHANGED = "changed"
    """A person or a program changed it since then."""
    UNKNOWN = "unknown"
    """It has no digest: `waymark use` did not write it, or an earlier version of Waymark did."""


class Written(NamedTuple):
    """What the header of a params.yaml tells."""

    state: State
    source: str | None
    """The recipe that it names; None without such a header."""


def with_header(origin: str, keys: str) -> str:
    """The text of a params.yaml: the recipe that it comes from, the digest, and the YAML of all keys."""
    header = (
        f"{_WRITTEN}{origin}. It has every key, so that DVC sees each.\n"
        "# Change the recipe and use it again, or change values here: `dvc repro` runs what a change affects.\n"
    )
    return f"{header}{_DIGEST}{_digest(header + keys)}\n{keys}"


def with_header_of(path: Path, keys: str) -> str:
    """The text of a params.yaml with other keys that tells the same of its origin and of changes by hand.

    Raises:
        OSError: the file cannot be read.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    header, marker, after = text.partition(_DIGEST)
    if not marker:
        return "".join(itertools.takewhile(lambda line: line.startswith("#"), text.splitlines(keepends=True))) + keys
    as_written = read_written(path).state is State.AS_WRITTEN
    digest = _digest(header + keys) if as_written else after.partition("\n")[0].strip()
    return f"{header}{_DIGEST}{digest}\n{keys}"


def read_written(path: Path) -> Written:
    """What a params.yaml tells of its origin.

    Raises:
        OSError: the file cannot be read.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    source = re.match(re.escape(_WRITTEN) + r"(.+?\.ya?ml)[,.] ", text)
    before, marker, after = text.partition(_DIGEST)
    digest, _, keys = after.partition("\n")
    if not marker:
        state = State.UNKNOWN
    else:
        state = State.AS_WRITTEN if digest.strip() == _digest(before + keys) else State.CHANGED
    return Written(state, source.group(1) if source else None)


def _digest(lines: str) -> str:
    return hashlib.sha256(lines.encode()).hexdigest()[:_DIGITS]
