"""What readers of published files share: JSON with the line of an error, screenshots that may be missing or damaged."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import PIL.Image
from pydantic import BaseModel, ValidationError

from components.formats.interface import Damaged, ReadTrajectory, Unreadable
from components.records import NO_SCREENSHOT, Image
from components.tasks.files import parse_json

M = TypeVar("M", bound=BaseModel)
AGAIN = "copy the file again, or leave it out of the folder"
CORRECT = "correct it where the file is made, or leave the file out of the folder"
FIX = "fix the field, or leave the file out of the folder"
_TEXT_OR_NUMBER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?Infinity|NaN', re.DOTALL)
"""A JSON string, in which a name of a number is a text, or a number that JSON does not have."""
MAX_PROBLEMS = 3
"""Fields that an error names."""
MAX_NAME = 400
"""Characters of a screenshot's name that an error shows."""


def read_json_file(path: Path) -> Any:
    """The JSON value of a file, with or without a byte order mark.

    Raises:
        Unreadable: it is no JSON in UTF-8, a number is infinite or none, a key occurs twice, or it is nested too
            deeply.
    """
    text = ""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return parse_json(text)
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: byte {error.start} is not UTF-8: {AGAIN}") from error
    except json.JSONDecodeError as error:
        raise Unreadable(f"{path}:{error.lineno}: is not JSON ({error.msg}): {AGAIN}") from error
    except ValueError as error:
        raise Unreadable(_not_json(path, text, error)) from error
    except OSError as error:
        raise Unreadable(f"{path} cannot be read ({error.strerror}): {AGAIN}") from error


def _not_json(path: Path, text: str, error: ValueError) -> str:
    """An error of what Python's `json` writes and JSON forbids: the file was made with it, so a copy has it, too."""
    numbers = (match for match in _TEXT_OR_NUMBER.finditer(text) if str(error) == f"has {match[0]}, which is not JSON")
    number = next(numbers, None)
    if number is None:
        return f"{path}: {error}: {CORRECT}"
    before = text[: number.start()]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return f"{path}:{line}: {error}, at column {column}: {CORRECT}"


def read_each(
    files: Iterable[Path], path: Path, read: Callable[[Path, Path], ReadTrajectory]
) -> Iterator[ReadTrajectory | Damaged]:
    """One record per file; one that cannot be read is `Damaged`.

    Args:
        path: the file or folder that the user named.
        read: gets a file and the folder that was read (of a file, its own); its errors are those of `conversion_of`.
    """
    root = path if path.is_dir() else path.parent
    for file in files:
        try:
            with conversion_of(file):
                record = read(file, root)
        except Unreadable as error:
            yield Damaged(str(file), str(error))
        else:
            yield record


@contextmanager
def conversion_of(file: Path) -> Iterator[None]:
    """Raises Unreadable in place of an error of the block: some values of a file fail only when they are used."""
    try:
        yield
    except Unreadable:
        raise
    except (OSError, ValueError, TypeError, LookupError) as error:
        reason = problems(error) if isinstance(error, ValidationError) else str(error)
        raise Unreadable(f"{file}: is no trajectory that can be read ({reason}): {FIX}") from error


def parsed(model: type[M], value: Any, place: str, name: str) -> M:
    """A value as a record.

    Args:
        place: the file, with its line.
        what: the record's name, for errors.

    Raises:
        Unreadable: names the wrong fields.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Unreadable(f"{place}: is no {name}: {problems(error)}: {FIX}") from error


def problems(error: ValidationError) -> str:
    """The first wrong fields of a record and what is wrong with each, in one line."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        ": ".join(filter(None, [".".join(map(str, detail["loc"])), detail["msg"].removeprefix("Value error, ")]))
        for detail in details[:MAX_PROBLEMS]
    ]
    more = len(details) - MAX_PROBLEMS
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


class Screenshot(NamedTuple):
    """A screenshot, or `NO_SCREENSHOT` with the reason why there is none."""

    image: Image
    missing: str | None = None


def read_screenshot(name: str, folder: Path, root: Path | None = None) -> Screenshot:
    """A screenshot that a record names by its path.

    Args:
        name: relative to `folder`.
        root: the folder that the path must not leave, because a judge's endpoint gets what it leads to; default:
            `folder`.
    """
    path, shown = folder / name, folder / _printable(name)
    try:
        if "://" in name or not path.resolve().is_relative_to((root or folder).resolve()):
            reason = f"{_printable(name)} leads out of {root or folder}: copy the screenshot into the folder"
            return Screenshot(NO_SCREENSHOT, reason)
        if not path.is_file():
            return Screenshot(NO_SCREENSHOT, f"{shown} does not exist: copy the screenshots beside the record")
        image = Image.of(path.read_bytes())
    except (OSError, ValueError) as error:  # a name that no file can have: a data URI, a NUL
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        advice = "write the screenshot to a file, and its path in the record"
        return Screenshot(NO_SCREENSHOT, f"{shown} cannot be read ({reason}): {advice}")
    problem = damage(image)
    return Screenshot(NO_SCREENSHOT, f"{shown} {problem}: copy it again") if problem else Screenshot(image)


def _printable(name: str) -> str:
    """A name that can be printed: of a long one the beginning, lone surrogates and NUL as escapes."""
    text = name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…"
    return text.encode(errors="backslashreplace").decode().replace("\0", "\\x00")


def damage(image: Image) -> str | None:
    """What is wrong with an image that judges could not look at; None if nothing is."""
    if not image.data:
        return "is empty"
    try:
        with PIL.Image.open(io.BytesIO(image.data), formats=("PNG", "JPEG", "GIF", "WEBP")) as opened:
            if opened.format == "PNG":
                opened.verify()  # its checksums, which are faster than its pixels
            else:
                opened.load()
    except (OSError, SyntaxError, ValueError, PIL.Image.DecompressionBombError) as error:
        return f"is no image that can be read ({str(error) or type(error).__name__})"
    return None


def viewport_of(image: Image) -> tuple[int, int]:
    """Width and height in px; (0, 0) for `NO_SCREENSHOT`."""
    if image == NO_SCREENSHOT:
        return (0, 0)
    with PIL.Image.open(io.BytesIO(image.data)) as opened:
        return opened.size


def short_hash(text: str) -> str:
    """Twelve hexadecimal digits that name a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def waymark_version() -> str:
    """The version that writes a file; 0 for a checkout that is not installed."""
    try:
        return version("waymark")
    except PackageNotFoundError:
        return "0"
