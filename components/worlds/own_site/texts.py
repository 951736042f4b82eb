"""Texts of a task with the parameters filled in: as they are, in addresses and their patterns, and in commands."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, unquote

Facts = Mapping[str, Any]
"""The parameters of one task."""


def formatted(value: Any, facts: Facts) -> Any:
    """A value with its `{fields}` filled in, at any depth.

    Raises:
        ValueError: a text names a parameter that does not exist, or its braces do not match.
    """
    if isinstance(value, str):
        try:
            return value.format_map(facts)
        except (KeyError, IndexError, AttributeError, TypeError) as error:
            raise ValueError(f"{value!r} names {error}, which is no parameter; there are {', '.join(facts)}") from error
    if isinstance(value, dict):
        return {name: formatted(part, facts) for name, part in value.items()}
    if isinstance(value, list):
        return [formatted(part, facts) for part in value]
    return value


def by_field(facts: Facts) -> dict[str, Any]:
    """The values of the parameters by their fields in texts: `ticket[title]` for the column `title` of `ticket`."""
    return {
        field: part
        for name, fact in facts.items()
        for field, part in (
            [(f"{name}[{column}]", part) for column, part in fact.items()] if isinstance(fact, dict) else [(name, fact)]
        )
    }


_FIRST_FIELD = re.compile(r"\{[^{}]+\}")


def address(text: str, facts: Facts) -> str:
    """The path of an address with its parameters filled in. The characters of a parameter stand for themselves, so they
    are %-encoded, besides `/`. A parameter with which the text begins is a part of the address as it is."""
    head = match[0] if (match := _FIRST_FIELD.match(text)) else ""
    encoded = mapped(facts, lambda value: quote(value, safe="/"))
    return f"{formatted(head, facts)}{formatted(text.removeprefix(head), encoded)}"


def command(text: str, facts: Facts) -> str:
    """A shell command with its parameters filled in, each quoted as one word."""
    return str(formatted(text, mapped(facts, shlex.quote)))


def is_at(address: str, pattern: str, facts: Facts) -> bool:
    """Whether a page's address matches a pattern, as the browser writes it or with its %-codes decoded.

    The characters of parameters stand for themselves.
    """
    filled = str(formatted(pattern, mapped(facts, glob.escape)))
    return fnmatchcase(address, filled) or fnmatchcase(unquote(address), filled)


def mapped(facts: Facts, change: Callable[[str], str]) -> dict[str, Any]:
    """The parameters with their texts changed."""

    def changed(fact: Any) -> Any:
        if isinstance(fact, dict):
            return mapped(fact, change)
        return change(fact) if isinstance(fact, str) else fact

    return {name: changed(fact) for name, fact in facts.items()}
