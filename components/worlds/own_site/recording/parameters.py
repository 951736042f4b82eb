"""Puts a task's parameters into recorded steps: the title that the person typed becomes `{title}`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from components.worlds.own_site.steps import TEXT_KEYS
from components.worlds.own_site.texts import Facts, by_field

CLIPPED = 57
"""Characters of a name that an element list shows before `...`."""
LEAST_CLIPPED = 8
"""Characters that a clipped name must share with a parameter to be taken for it."""


def with_fields(steps: Sequence[Mapping[str, Any]], facts: Facts) -> list[dict[str, Any]]:
    """Steps with `{fields}` in place of the values of parameters. Other braces are doubled.

    A value counts where no letter or digit touches it. Of several parameters with the same value, the first is taken.
    Roles, directions, buttons and keys keep their words, even if a parameter has such a value.
    """
    fields = _fields(facts)
    return [{kind: _filled(kind, value, fields) for kind, value in step.items()} for step in steps]


def _filled(key: str, value: Any, fields: dict[str, str]) -> Any:
    """The value of a step, or of one of its keys."""
    if isinstance(value, dict):
        return {name: _filled(name, part, fields) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(key, part, fields) for part in value]
    if not isinstance(value, str):
        return value
    if key in ("click", "over"):
        role, space, name = value.partition(" ")
        return f"{_escaped(role)}{space}{_text(name, fields)}"
    return _text(value, fields) if key == "goto" or key in TEXT_KEYS - {"role"} else _escaped(value)


def _fields(facts: Facts) -> dict[str, str]:
    """The parameters as fields, by their values; longer values first, because shorter ones may be in them."""
    by_value: dict[str, str] = {}
    for field, value in by_field(facts).items():
        if value is not None and str(value):
            by_value.setdefault(str(value), field)
    return dict(sorted(by_value.items(), key=lambda item: -len(item[0])))


def _text(text: str, fields: dict[str, str]) -> str:
    if text.endswith("...") and len(text) == CLIPPED + 3:
        for fact, field in fields.items():
            begin = next((at for at in range(CLIPPED - LEAST_CLIPPED) if fact.startswith(text[at:CLIPPED])), None)
            if begin is not None and len(fact) > CLIPPED - begin:
                return f"{_text(text[:begin], fields)}{{{field}:.{CLIPPED - begin}}}*"
    if not fields:
        return _escaped(text)
    pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, fields)) + r")(?!\w)")
    parts, end = [], 0
    for match in pattern.finditer(text):
        parts += [_escaped(text[end : match.start()]), f"{{{fields[match.group()]}}}"]
        end = match.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
