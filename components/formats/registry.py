"""Finds formats by name and by path: each module of this package that decorates a class with `register` adds one."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import TypeVar

from components.formats.interface import Format

_FORMATS: dict[str, Format] = {}
FormatClass = TypeVar("FormatClass", bound=type[Format])


class UnknownFormat(ValueError):
    """No format has this name, or none recognises the path; the message lists the formats that there are."""


def register(kind: FormatClass) -> FormatClass:
    """Class decorator: make the format known by its `name`."""
    _FORMATS[kind.name] = kind()
    return kind


@cache
def formats() -> Mapping[str, Format]:
    """All formats by name, in alphabetical order."""
    for module in iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return dict(sorted(_FORMATS.items()))


def format_named(name: str) -> Format:
    """The format of a name.

    Raises:
        UnknownFormat: there is none.
    """
    if name not in formats():
        raise UnknownFormat(f"no format {name!r}: one of {', '.join(formats())}")
    return formats()[name]


def format_of(path: Path) -> Format:
    """The format that recognises a file or folder.

    Raises:
        UnknownFormat: the path does not exist, none recognises it, or several do.
    """
    if not path.exists():
        raise UnknownFormat(f"{path}: no such file or folder")
    fitting = [kind for kind in formats().values() if kind.recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(kind.name for kind in fitting)
        raise UnknownFormat(f"{path} may be of the formats {names}: name one with --format")
    known = "; ".join(f"{kind.name}: {kind.about}" for kind in formats().values())
    raise UnknownFormat(f"{path} is in no known format ({known}): name a part of it, or the format with --format")
