"""What is wrong in a site's files, a line for each place. pydantic itself names each kind that a value may be of."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_KEY = "[key]"
"""pydantic's place of a key, after the key."""
_QUOTED = (bool, int, float, datetime.date)
"""What YAML makes of texts without quotes."""


@dataclass(frozen=True)
class _Problem:
    """An error, of which a part of the place is known.

    Attributes:
        rest: the part of pydantic's place that is not known yet: keys, numbers, and names of kinds.
        value: what is at `place`.
    """

    detail: ErrorDetails
    place: tuple[str, ...]
    rest: tuple[int | str, ...]
    value: Any


def lines(error: ValidationError, content: Any) -> list[str]:
    """The places that are wrong, each with the remedy. Of a value that may be of several kinds, the lines are those of
    the kind that comes nearest to it.

    Args:
        content: what was validated.
    """
    problems = [_Problem(detail, (), detail["loc"], content) for detail in error.errors()]
    return [f"{'.'.join(place) or 'file'}: {text}" for place, text in _described(problems)]


def _described(problems: Sequence[_Problem]) -> list[tuple[tuple[str, ...], str]]:
    described: list[tuple[tuple[str, ...], str]] = []
    kinds: dict[tuple[str, ...], dict[int | str, list[_Problem]]] = {}
    for problem in map(_followed, problems):
        if problem.rest:
            kinds.setdefault(problem.place, {}).setdefault(problem.rest[0], []).append(problem)
        else:
            described.append((problem.place, _remedy(problem.detail)))
    for place, by_kind in kinds.items():
        followed = [[_followed(_without_kind(problem)) for problem in kind] for kind in by_kind.values()]
        nearest = max(followed, key=lambda kind: (max(len(problem.place) for problem in kind), -len(kind)))
        if all(problem.place == place and not problem.rest for kind in followed for problem in kind):
            described.append((place, _one_of([problem.detail for kind in followed for problem in kind])))
        else:
            described += _described(nearest)
    return described


def _followed(problem: _Problem) -> _Problem:
    """The problem with its place as far as the content leads, or to a key that is missing."""
    place, value = problem.place, problem.value
    for index, part in enumerate(problem.rest):
        is_last = index == len(problem.rest) - 1
        if problem.rest[-1] == _KEY and index == len(problem.rest) - 2:
            return _Problem(problem.detail, place, (), value)
        if _leads(value, part):
            value = value[part]
        elif not (is_last and problem.detail["type"] == "missing"):
            return _Problem(problem.detail, place, problem.rest[index:], value)
        place = (*place, str(part))
    return _Problem(problem.detail, place, (), value)


def _leads(value: Any, part: int | str) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


def _without_kind(problem: _Problem) -> _Problem:
    return _Problem(problem.detail, problem.place, problem.rest[1:], problem.value)


def _remedy(detail: ErrorDetails) -> str:
    if detail["type"] == "extra_forbidden":
        return "there is no such key; docs/reference/site-file.md has all"
    if detail["type"] == "string_type" and isinstance(detail["input"], _QUOTED):
        noun = "the key" if detail["loc"][-1] == _KEY else "this"
        return f"YAML reads {noun} as {detail['input']!r}, which is no text: put it in quotes"
    return detail["msg"].removeprefix("Value error, ")


def _one_of(details: Sequence[ErrorDetails]) -> str:
    """The remedy for a value that is of none of the kinds."""
    if len({_remedy(detail) for detail in details}) == 1:
        return _remedy(details[0])
    forms = [detail["msg"].removeprefix("Input should be ").partition(" or instance of ")[0] for detail in details]
    return f"Input should be {' or '.join(dict.fromkeys(forms))}"
